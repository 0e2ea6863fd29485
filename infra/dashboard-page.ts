import type { Widget } from './dashboard-body.ts';

/** Pixels; CloudWatch's own cells are about as high. */
const ROW_HEIGHT = 50;

const STYLE = `
body { font: 13px/1.4 sans-serif; background: #f2f3f3; margin: 1rem; color: #16191f; }
main { display: grid; grid-template-columns: repeat(24, 1fr); grid-auto-rows: ${ROW_HEIGHT}px; gap: 4px; }
section { padding: 4px 10px; overflow: hidden; }
.metric, .log, .alarm { background: #fff; border: 1px solid #d5dbdb; border-radius: 4px; }
h2, h3 { margin: 2px 0; } h3 { font-size: 13px; }
.plot { height: 55%; border-left: 1px solid #aab7b8; border-bottom: 1px solid #aab7b8; color: #687078; font-size: 11px; padding-left: 4px; }
ul { margin: 4px 0; padding: 0; list-style: none; columns: 2; font-size: 11px; }
pre { font-size: 11px; white-space: pre-wrap; margin: 0; }
.alarm ul { columns: 4; }
.alarm li::before { content: '○ '; color: #687078; }
.preview { margin: 0 0 1rem; padding: 8px 12px; background: #fff; border: 1px solid #aab7b8; border-left-width: 4px; }
.namespace { margin: 4px 0 0; color: #545b64; font-size: 11px; }
@media (max-width: 700px) {
  main { display: block; }
  section { margin-bottom: 6px; overflow-wrap: anywhere; }
  .plot { height: 80px; }
  ul, .alarm ul { columns: 1; }
}`;

/** The dashboard as CloudWatch lays it out, with what each widget shows in place of its data. */
export function dashboardPage(title: string, widgets: readonly Widget[]): string {
  return `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>${escaped(title)}</title><style>${STYLE}</style></head>
<body>
<p class="preview"><b>Preview: the layout, without data.</b> It says nothing about the state of any alarm. The dashboard with data is in CloudWatch.</p>
<main>
${widgets.map(sectionOf).join('\n')}
</main></body></html>
`;
}

function sectionOf(widget: Widget): string {
  const { x, y, width, height } = widget;
  const area = `grid-area: ${y + 1} / ${x + 1} / span ${height} / span ${width}`;
  return `<section class="${widget.type}" style="${area}">${contentOf(widget)}</section>`;
}

function contentOf(widget: Widget): string {
  switch (widget.type) {
    case 'text':
      return marked(widget.properties.markdown);
    case 'alarm':
      return headed(widget.properties.title, listOf(widget.properties.alarms));
    case 'log':
      return headed(widget.properties.title, `<pre>${escaped(widget.properties.query)}</pre>`);
    case 'metric': {
      const { title, yAxis, metrics } = widget.properties;
      return headed(title, `<div class="plot">${escaped(yAxis.left.label)}</div>${legendOf(metrics)}`);
    }
  }
}

type Metrics = Extract<Widget, { type: 'metric' }>['properties']['metrics'];

function legendOf(metrics: Metrics): string {
  return [...Map.groupBy(metrics, ({ namespace }) => namespace)]
    .map(([namespace, rows]) => {
      const shown = rows.map(({ label, metricName }) =>
        label === metricName ? label : `${label}: ${metricName}`,
      );
      return `<p class="namespace">${escaped(namespace)}</p>${listOf(shown)}`;
    })
    .join('');
}

function headed(title: string, content: string): string {
  return `<h3>${escaped(title)}</h3>${content}`;
}

function listOf(items: readonly string[]): string {
  return `<ul>${items.map((item) => `<li>${escaped(item)}</li>`).join('')}</ul>`;
}

/** As much of Markdown as our widgets use: headings, bold, italics, code, lines. */
function marked(markdown: string): string {
  return escaped(markdown)
    .replaceAll(/^#+ (.*)$/gm, '<h2>$1</h2>')
    .replaceAll(/\*\*(.+?)\*\*/g, '<b>$1</b>')
    .replaceAll(/\*(.+?)\*/g, '<i>$1</i>')
    .replaceAll(/`(.+?)`/g, '<code>$1</code>');
}

function escaped(text: string): string {
  return text
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;');
}
