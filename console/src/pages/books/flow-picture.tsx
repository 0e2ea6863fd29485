import type { Books } from '../../../../shared/domain/delivery/books.ts';
import { useWidth } from '../../live/hooks.ts';
import { flowLayout, type FlowBand, type FlowName, type FlowNode } from './flow-layout.ts';

const BAR = 10;
const ROOM = 220;
/** Width of the labels to the right of the last bars. */
const LABEL = 112;

export type FlowLinks = Readonly<Record<FlowName, string>>;

/** The flow from accepted messages to outcomes. Each figure links to its list. */
export function FlowPicture({ books, links }: { books: Books; links: FlowLinks }) {
  const { ref, width } = useWidth<HTMLDivElement>();
  const flow = flowLayout(books, ROOM);
  const step = Math.max(100, (width - LABEL - BAR) / 2);
  const placeOf = (name: FlowName): number =>
    (flow.nodes.find((node) => node.name === name)?.column ?? 0) * step;
  return (
    <div ref={ref} class="flow">
      <svg
        width={width}
        height={flow.height + 4}
        role="group"
        aria-label="Flow of accepted messages to their outcomes"
      >
        {flow.bands.map((band) => (
          <path
            key={`${band.from} ${band.to}`}
            class={`band tone-${band.to}`}
            d={bandPath(band, placeOf(band.from) + BAR, placeOf(band.to))}
          />
        ))}
        {flow.nodes.map((node) => (
          <Bar key={node.name} node={node} x={node.column * step} href={links[node.name]} />
        ))}
      </svg>
    </div>
  );
}

function bandPath({ fromY, toY, thick }: FlowBand, fromX: number, toX: number): string {
  const middle = (fromX + toX) / 2;
  return [
    `M${fromX} ${fromY}`,
    `C${middle} ${fromY} ${middle} ${toY} ${toX} ${toY}`,
    `V${toY + thick}`,
    `C${middle} ${toY + thick} ${middle} ${fromY + thick} ${fromX} ${fromY + thick}Z`,
  ].join('');
}

function Bar({ node, x, href }: { node: FlowNode; x: number; href: string }) {
  const { name, count, y, height } = node;
  return (
    <a href={href}>
      <g class={`flow-node tone-${name}`}>
        <rect class="flow-room" x={x} y={y} width={LABEL} height={Math.max(34, height)} />
        <rect x={x} y={y} width={BAR} height={Math.max(1, height)} rx="2" />
        <text x={x + BAR + 6} y={y + 14} class="flow-count">
          {count.toLocaleString('en')}
        </text>
        <text x={x + BAR + 6} y={y + 29}>
          {name === 'missing' ? 'not recorded' : name}
        </text>
      </g>
    </a>
  );
}
