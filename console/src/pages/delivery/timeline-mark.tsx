import type { JSX } from 'preact';
import type { Mark } from './timeline-layout.ts';

const HEIGHT = 14;

/** An attempt, as wide as it was long. Each outcome has a different shape as well as a colour. */
export function TimelineMark({ mark, y }: { mark: Mark; y: number }): JSX.Element {
  const { number, kind, x, width, dueX } = mark;
  return (
    <g class={`mark tone-${kind}`} data-attempt={number}>
      <title>{`Attempt ${number}: ${kind}`}</title>
      {dueX === undefined ? null : (
        <>
          <line class="mark-due" x1={dueX} x2={dueX} y1={y - 6} y2={y + 6} />
          <line class="mark-late" x1={dueX} x2={x} y1={y} y2={y} />
        </>
      )}
      {kind === 'planned' ? (
        <circle class="mark-hollow" cx={x} cy={y} r={4.5} />
      ) : (
        <rect
          x={x}
          y={y - HEIGHT / 2}
          width={width}
          height={HEIGHT}
          rx={kind === 'delivered' ? HEIGHT / 2 : 2}
        />
      )}
      {kind === 'rejected' ? (
        <path class="mark-cut" d={`M${x} ${y - HEIGHT / 2}l${width} ${HEIGHT}`} />
      ) : null}
    </g>
  );
}
