import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import type { Widget } from './dashboard-body.ts';
import { FAILING_ROWS, samplesOf } from './sample-data.ts';

/** CloudWatch's colours of lines, in order. */
const COLOURS = ['#1f77b4', '#ff7f0e', '#2ca02c', '#d62728', '#9467bd', '#8c564b', '#e377c2', '#7f7f7f'];

/** Pixels of a dashboard unit's height. */
const ROW_PX = 44;

type MetricWidget = Extract<Widget, { type: 'metric' }>;

/** A page that draws the widgets with sample data, without loading anything. */
export function dashboardPage(widgets: readonly Widget[]): string {
  const graphs = widgets.filter((widget) => widget.type === 'metric');
  const drawn = graphs.map((graph) => ({
    stacked: graph.properties.stacked === true,
    lines: linesOf(graph),
  }));
  return `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>Dashboard with sample data</title>
<style>${uplotFile('uPlot.min.css')}${STYLE}</style>
<p class="note">Sample data. This page draws the CloudWatch dashboard of the stack PosthasteMonitoring.</p>
<main>${widgets.map((widget) => placed(widget, contentOf(widget, graphs))).join('')}</main>
<script>${uplotFile('uPlot.iife.min.js')}</script>
<script>const graphs = ${JSON.stringify(drawn).replaceAll('<', String.raw`\u003c`)}; const colours = ${JSON.stringify(COLOURS)};
${DRAW}</script>
</html>
`;
}

function uplotFile(name: string): string {
  const folder = dirname(createRequire(import.meta.url).resolve('uplot'));
  return readFileSync(join(folder, name), 'utf8');
}

/** @throws Error if a metric has no sample data: add it to sample-data.ts */
function linesOf({ properties }: MetricWidget): { label: string; values: number[] }[] {
  return properties.metrics
    .filter(({ visible }) => visible)
    .map((metric) => {
      const values = samplesOf(metric);
      if (values === undefined)
        throw new Error(
          `No sample data for ${metric.metricName} “${metric.label}” of “${properties.title}”.`,
        );
      return { label: metric.label, values };
    });
}

function placed({ type, x, y, width, height }: Widget, content: string): string {
  const area = `${y + 1} / ${x + 1} / span ${height} / span ${width}`;
  return `<section class="${type}" style="grid-area: ${area}">${content}</section>`;
}

function contentOf(widget: Widget, graphs: readonly MetricWidget[]): string {
  switch (widget.type) {
    case 'text':
      return htmlOf(widget.properties.markdown);
    case 'alarm':
      return titled(
        widget.properties,
        widget.properties.alarms.map((alarm) => `<span class="ok">✓ ${escaped(alarm)}</span>`).join(''),
      );
    case 'log':
      return titled(widget.properties, `<table>${FAILING_ROWS.map(rowOf).join('')}</table>`);
    case 'metric':
      return titled(
        widget.properties,
        widget.properties.view === 'singleValue'
          ? `<b class="value">${lastValueOf(widget)}</b>`
          : `<div class="plot" data-graph="${graphs.indexOf(widget)}"></div>`,
      );
  }
}

/** The little Markdown that the dashboard uses: headings, bold, emphasis, code. */
function htmlOf(markdown: string): string {
  return escaped(markdown)
    .replaceAll(
      /^(#+) (.+)$/gm,
      (_, marks: string, text: string) => `<h${marks.length}>${text}</h${marks.length}>`,
    )
    .replaceAll(/\*\*(.+?)\*\*/g, '<b>$1</b>')
    .replaceAll(/\*(.+?)\*/g, '<i>$1</i>')
    .replaceAll(/`(.+?)`/g, '<code>$1</code>');
}

function titled({ title }: { title: string }, content: string): string {
  return `<h3>${escaped(title)}</h3>${content}`;
}

function rowOf(cells: readonly string[]): string {
  return `<tr>${cells.map((cell) => `<td>${escaped(cell)}</td>`).join('')}</tr>`;
}

function lastValueOf(widget: MetricWidget): string {
  const last = linesOf(widget)[0]?.values.at(-1) ?? 0;
  return last.toLocaleString('en', { maximumFractionDigits: last < 100 ? 1 : 0 });
}

function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('"', '&quot;');
}

const STYLE = `
body { margin: 12px; font: 13px/1.35 system-ui, sans-serif; background: #f2f3f3; color: #16191f }
main { display: grid; grid-template-columns: repeat(24, 1fr); grid-auto-rows: ${ROW_PX}px; gap: 6px; min-width: 1150px }
section { background: #fff; border: 1px solid #d5dbdb; padding: 6px 10px; overflow: hidden }
section.text { background: none; border: 0 }
.note { margin: 0 0 8px } h1, h2, h3, p { margin: 0 } h3 { font-size: 13px }
.value { display: block; font-size: 38px; font-weight: 500; text-align: center; padding-top: 12px }
.ok { display: inline-block; margin: 3px; padding: 1px 8px; background: #e5f5e5; color: #14601a; border-radius: 3px; font-size: 12px }
td { padding: 2px 10px 2px 0 } tr:first-child { font-weight: 600 }`;

/** Runs in the page. The last point is the time at which the page was opened. */
const DRAW = `
for (const place of document.querySelectorAll('.plot')) {
  const { stacked, lines } = graphs[place.dataset.graph];
  const now = Math.floor(Date.now() / 60000) * 60;
  const times = lines[0].values.map((_, at, all) => now - (all.length - 1 - at) * 60);
  const sums = lines.map((line, at) => line.values.map((_, minute) =>
    (stacked ? lines.slice(0, at + 1) : [line]).reduce((sum, { values }) => sum + values[minute], 0)));
  const order = lines.map((_, at) => at); if (stacked) order.reverse();
  new uPlot({
    width: place.clientWidth, height: place.parentElement.clientHeight - 62, cursor: { show: false },
    scales: { y: { range: (_plot, _least, most) => [0, Math.max(1, most * 1.1)] } },
    axes: [{ size: 28 }, { size: 62 }],
    series: [{}, ...order.map((at) => ({ label: lines[at].label, stroke: colours[at % colours.length], width: 1.5,
      ...(stacked ? { fill: colours[at % colours.length] + '55' } : {}) }))],
    legend: { live: false },
  }, [times, ...order.map((at) => sums[at])], place);
}`;
