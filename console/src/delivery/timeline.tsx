import { useState } from 'preact/hooks';
import type { DeliveryDetail } from '../../../api-client/operations.ts';
import { PHASES } from '../../../shared/domain/retry/vocabulary.ts';
import { DAY_MS } from '../../../shared/domain/duration.ts';
import { useNow, useWidth } from '../live/hooks.ts';
import { MILLISECOND_STEPS } from '../parts/chart.tsx';
import { SmallButton } from '../parts/form.tsx';
import { allWaitsText, WaitBand, waitBands, WaitLegend, type Waited } from './wait-bands.tsx';

/** Height of a lane. On narrow screens the name of a lane is above its marks. */
const LANE = { wide: 30, narrow: 40 };
const AXIS = 26;
/** Width of the lane names. */
const NAMES = 96;
/** Width of a tick label. */
const TICK_WIDTH = 84;

type View = { part: 'all' | 'made' } | { span: Span };

const PARTS = [
  ['All', 'all'],
  ['Past attempts', 'made'],
] as const;

const MOVES: readonly (readonly [label: string, sign: string, next: (span: Span) => Span])[] = [
  ['Earlier', '←', (span) => moved(span, -0.5)],
  ['Later', '→', (span) => moved(span, 0.5)],
  ['Zoom in', '+', (span) => zoomed(span, 0.5)],
  ['Zoom out', '−', (span) => zoomed(span, 2)],
];

/** Acceptance, waits and attempts on a time axis; planned attempts are hollow. The tables below contain the same data. */
export function Timeline({ delivery }: { delivery: DeliveryDetail }) {
  const { ref, width } = useWidth<HTMLDivElement>();
  const now = useNow();
  const [view, setView] = useState<View>({ part: 'all' });
  const span = 'span' in view ? view.span : computeSpan(delivery, view.part, now);
  const isNarrow = width < 560;
  const [names, laneHeight] = isNarrow ? [0, LANE.narrow] : [NAMES, LANE.wide];
  const room = Math.max(1, width - names - 12);
  const { lanes, marks } = timelineLayout(delivery, span, room);
  const place = (time: number): number => ((time - span.from) / (span.to - span.from)) * room;
  const accepted = delivery.acceptedAt === undefined ? undefined : Date.parse(delivery.acceptedAt);
  const bands = waitBands(delivery, now).filter(({ from, to }) => to > from);
  const yOf = (lane: number): number => lane * laneHeight + laneHeight / 2 + (isNarrow ? 8 : 0);
  const height = lanes.length * laneHeight + AXIS;
  const ticks = timeTicks(
    span,
    Math.max(2, Math.floor(room / TICK_WIDTH)),
    -new Date(span.from).getTimezoneOffset() * 60_000,
  );

  return (
    <div class="timeline">
      <div class="actions" role="group" aria-label="Time range">
        {PARTS.map(([text, part]) => (
          <SmallButton
            key={part}
            aria-pressed={'part' in view && view.part === part}
            onClick={() => setView({ part })}
          >
            {text}
          </SmallButton>
        ))}
        {MOVES.map(([label, sign, next]) => (
          <SmallButton key={label} aria-label={label} onClick={() => setView({ span: next(span) })}>
            {sign}
          </SmallButton>
        ))}
      </div>
      <div ref={ref} class="timeline-room">
        <svg width={width} height={height} role="img" aria-label={describeTimeline(delivery, now)}>
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
            {accepted === undefined ? null : (
              <line class="accepted" x1={place(accepted)} x2={place(accepted)} y2={height - AXIS} />
            )}
            {bands.map((band) => (
              <WaitBand
                key={`${band.number} ${band.from}`}
                band={band}
                x={place(band.from)}
                width={place(band.to) - place(band.from)}
                y={yOf(lanes.indexOf(band.phase))}
              />
            ))}
            {marks.map((mark) => (
              <TimelineMark key={mark.key} mark={mark} y={yOf(mark.lane)} />
            ))}
          </svg>
        </svg>
      </div>
      <ul class="legend">
        {['delivered', 'failed', 'rejected'].map((outcome) => (
          <li key={outcome} class={`tone-${outcome}`}>
            <span class="swatch" /> {outcome}
          </li>
        ))}
        <li class="tone-planned">
          <span class="swatch swatch-hollow" /> planned
        </li>
        <WaitLegend bands={bands} />
        {accepted === undefined ? null : (
          <li>
            <svg class="key-accepted" width={4} height={14} aria-hidden="true">
              <line class="accepted" x1={2} x2={2} y2={14} />
            </svg>{' '}
            accepted
          </li>
        )}
        <li class="muted">A line to the left of an attempt starts at its due time.</li>
      </ul>
    </div>
  );
}

function describeTimeline(delivery: DeliveryDetail, now: number): string {
  const { attempts, planned } = delivery;
  const waits = allWaitsText(delivery, now);
  const waited = waits === undefined ? '' : ` Waited ${waits}.`;
  return `${attempts.length} attempts, ${planned.length} planned.${waited} The tables below list them.`;
}

const HEIGHT = 14;

/** An attempt, as wide as it was long. Each outcome has a different shape as well as a colour. */
function TimelineMark({ mark, y }: { mark: Mark; y: number }) {
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

type Tick = { at: number; text: string };

const SECOND = 1000;
const MINUTE = 60 * SECOND;

/** About `most` ticks at round local times. `offsetMs`: how far local time is ahead of UTC. */
export function timeTicks({ from, to }: Span, most: number, offsetMs: number): Tick[] {
  const step = MILLISECOND_STEPS.find((length) => (to - from) / length <= most) ?? 30 * DAY_MS;
  const first = Math.ceil((from + offsetMs) / step) * step - offsetMs;
  const ticks: Tick[] = [];
  for (let at = first; at <= to; at += step) ticks.push({ at, text: tickText(at + offsetMs, step) });
  return ticks;
}

const MONTHS = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec'];

/** The label of a tick, as precise as the step. `local`: the time shifted into UTC. */
function tickText(local: number, step: number): string {
  const text = new Date(local).toISOString();
  if (step >= DAY_MS || local % DAY_MS === 0)
    return `${Number(text.slice(8, 10))} ${MONTHS[Number(text.slice(5, 7)) - 1] ?? ''}`;
  if (step >= MINUTE) return text.slice(11, 16);
  if (step >= SECOND) return text.slice(11, 19);
  return text.slice(14, 23);
}

type Attempt = DeliveryDetail['attempts'][number];
type Phase = Attempt['phase'];

/** Milliseconds since the epoch. */
type Span = { from: number; to: number };

/** An attempt on the time axis. `x` and widths are CSS pixels within the axis; `lane` counts from the top. */
type Mark = {
  key: string;
  number: number;
  lane: number;
  kind: Attempt['outcome'] | 'planned';
  x: number;
  width: number;
  /** Position of the due time, for an attempt that started late. */
  dueX?: number;
};

/** Keeps an attempt of a few milliseconds visible on an axis of days. */
const MIN_MARK_WIDTH = 7;

export type Times = Waited & Pick<DeliveryDetail, 'planned'> & Partial<Pick<DeliveryDetail, 'acceptedAt'>>;

/**
 * Places attempts on the time axis, in a lane for each phase that occurs. Attempts outside of the span are left out,
 * so that a closer view of hundreds of attempts renders fewer marks.
 */
export function timelineLayout({ attempts, planned }: Times, span: Span, width: number) {
  const lanes = PHASES.filter(
    (phase) =>
      attempts.some((attempt) => attempt.phase === phase) ||
      planned.some((attempt) => attempt.phase === phase),
  );
  const scale = width / Math.max(1, span.to - span.from);
  const place = (time: number): number => (time - span.from) * scale;
  const marks = [
    ...attempts.map((attempt) => attemptMark(attempt, { place, scale, lanes })),
    ...planned.map(({ number, phase, dueAt }): Mark => ({
      key: `planned-${number}`,
      number,
      lane: lanes.indexOf(phase),
      kind: 'planned',
      x: place(Date.parse(dueAt)),
      width: MIN_MARK_WIDTH,
    })),
  ];
  return {
    lanes,
    marks: marks.filter(({ x, width: wide, dueX = x }) => x + wide >= 0 && Math.min(x, dueX) <= width),
  };
}

function attemptMark(
  { number, round, phase, startedAt, dueAt, durationMs, outcome }: Attempt,
  { place, scale, lanes }: { place: (time: number) => number; scale: number; lanes: readonly Phase[] },
): Mark {
  const x = place(Date.parse(startedAt));
  const dueX = dueAt === undefined ? undefined : place(Date.parse(dueAt));
  return {
    key: `${round}-${number}`,
    number,
    lane: lanes.indexOf(phase),
    kind: outcome,
    x,
    width: Math.max(MIN_MARK_WIDTH, durationMs * scale),
    ...(dueX !== undefined && x - dueX > 2 && { dueX }),
  };
}

/** The span of the acceptance and all attempts, or of the attempts `made` so far; with their waits. */
export function computeSpan(delivery: Times, part: 'all' | 'made', now: number): Span {
  const { attempts, planned, acceptedAt } = delivery;
  const made = attempts.flatMap(({ startedAt, durationMs, dueAt = startedAt }) => [
    Date.parse(dueAt),
    Date.parse(startedAt),
    Date.parse(startedAt) + durationMs,
  ]);
  const known = [...planned.map(({ dueAt }) => dueAt), ...(acceptedAt === undefined ? [] : [acceptedAt])];
  const waits = waitBands(part === 'made' ? { attempts } : delivery, now).map(({ from }) => from);
  const times = [...made, ...waits, ...(part === 'made' ? [] : known.map((time) => Date.parse(time)))];
  if (times.length === 0) return withMargin({ from: now, to: now });
  return withMargin({ from: Math.min(...times), to: Math.max(...times) });
}

/** Adds a margin of 4%, at least 50 ms, on both sides. */
function withMargin({ from, to }: Span): Span {
  const room = Math.max(50, (to - from) * 0.04);
  return { from: from - room, to: to + room };
}

/** Scales a span around its middle; a `factor` below 1 zooms in. */
export function zoomed({ from, to }: Span, factor: number): Span {
  const half = Math.max(5, ((to - from) / 2) * factor);
  const middle = (from + to) / 2;
  return { from: middle - half, to: middle + half };
}

/** Moves a span later by `share` of its length; a negative share moves it earlier. */
export function moved({ from, to }: Span, share: number): Span {
  const by = (to - from) * share;
  return { from: from + by, to: to + by };
}
