import { useState } from 'preact/hooks';
import type { DeliveryDetail } from '../../../../api-client/operations.ts';
import { useNow, useWidth } from '../../live/hooks.ts';
import { timeTicks, moved, spanOf, timelineLayout, zoomed, type Span, type Mark } from './timeline-layout.ts';

/** Height of a lane. On narrow screens the name of a lane is above its marks. */
const LANE = { wide: 30, narrow: 40 };
const AXIS = 26;
/** Width of the lane names. */
const NAMES = 96;
/** Width of a tick label. */
const TICK_WIDTH = 84;

type View = { part: 'all' | 'made' } | { span: Span };

const STEPS: readonly (readonly [label: string, sign: string, next: (span: Span) => Span])[] = [
  ['Earlier', '←', (span) => moved(span, -0.5)],
  ['Later', '→', (span) => moved(span, 0.5)],
  ['Zoom in', '+', (span) => zoomed(span, 0.5)],
  ['Zoom out', '−', (span) => zoomed(span, 2)],
];

/** Attempts on a time axis; planned ones are hollow. The tables below contain the same data. */
export function Timeline({ delivery }: { delivery: DeliveryDetail }) {
  const { ref, width } = useWidth<HTMLDivElement>();
  const now = useNow();
  const [view, setView] = useState<View>({ part: 'all' });
  const span = 'span' in view ? view.span : spanOf(delivery, view.part, now);
  const isNarrow = width < 560;
  const [names, laneHeight] = isNarrow ? [0, LANE.narrow] : [NAMES, LANE.wide];
  const room = Math.max(1, width - names - 12);
  const { lanes, marks } = timelineLayout(delivery, span, room);
  const place = (time: number): number => ((time - span.from) / (span.to - span.from)) * room;
  const height = lanes.length * laneHeight + AXIS;
  const ticks = timeTicks(
    span,
    Math.max(2, Math.floor(room / TICK_WIDTH)),
    -new Date(span.from).getTimezoneOffset() * 60_000,
  );

  return (
    <div class="timeline">
      <div class="actions" role="group" aria-label="Time range">
        <PartButton text="All" part="all" view={view} onView={setView} />
        <PartButton text="Past attempts" part="made" view={view} onView={setView} />
        {STEPS.map(([label, sign, next]) => (
          <button
            key={label}
            type="button"
            class="button button-small"
            aria-label={label}
            onClick={() => {
              setView({ span: next(span) });
            }}
          >
            {sign}
          </button>
        ))}
      </div>
      <div ref={ref} class="timeline-room">
        <svg
          width={width}
          height={height}
          role="img"
          aria-label={`${delivery.attempts.length} attempts, ${delivery.planned.length} planned. The tables below list them.`}
        >
          <g transform={`translate(${names + 6} 0)`}>
            {ticks.map(({ at, text }) => (
              <g key={at} transform={`translate(${place(at)} 0)`} class="tick">
                <line y2={height - AXIS} />
                <text y={height - 8}>{text}</text>
              </g>
            ))}
            {now >= span.from && now <= span.to ? (
              <g transform={`translate(${place(now)} 0)`} class="now">
                <line y2={height - AXIS} />
              </g>
            ) : null}
          </g>
          {lanes.map((phase, lane) => (
            <g key={phase} transform={`translate(0 ${lane * laneHeight})`} class="lane">
              <line x1={0} x2={width} y1={laneHeight - 0.5} y2={laneHeight - 0.5} />
              <text y={isNarrow ? 13 : laneHeight / 2 + 4}>{phase.replace('_', ' ')}</text>
            </g>
          ))}
          <svg x={names + 6} width={room} height={height} overflow="hidden">
            {marks.map((mark) => (
              <TimelineMark
                key={mark.key}
                mark={mark}
                y={mark.lane * laneHeight + laneHeight / 2 + (isNarrow ? 8 : 0)}
              />
            ))}
          </svg>
        </svg>
      </div>
      <ul class="legend">
        <li class="tone-delivered">
          <span class="swatch" /> delivered
        </li>
        <li class="tone-failed">
          <span class="swatch" /> failed
        </li>
        <li class="tone-rejected">
          <span class="swatch" /> rejected
        </li>
        <li class="tone-planned">
          <span class="swatch swatch-hollow" /> planned
        </li>
        <li class="muted">A line to the left of an attempt starts at its due time.</li>
      </ul>
    </div>
  );
}

function PartButton({
  text,
  part,
  view,
  onView,
}: {
  text: string;
  part: 'all' | 'made';
  view: View;
  onView: (view: View) => void;
}) {
  return (
    <button
      type="button"
      class="button button-small"
      aria-pressed={'part' in view && view.part === part}
      onClick={() => {
        onView({ part });
      }}
    >
      {text}
    </button>
  );
}

const HEIGHT = 14;

/** An attempt, as wide as it was long. Each outcome has a different shape as well as a colour. */
export function TimelineMark({ mark, y }: { mark: Mark; y: number }) {
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
