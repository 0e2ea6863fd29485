import type { DeliveryDetail } from '../../../../api-client/operations.ts';
import { PHASES } from '../../../../shared/domain/retry/vocabulary.ts';

type Tick = { at: number; text: string };

const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

/** Round steps of a time axis, in milliseconds. */
const STEPS = [
  ...[1, 2, 5, 10, 20, 50, 100, 200, 500],
  ...[1, 2, 5, 10, 15, 30].map((count) => count * SECOND),
  ...[1, 2, 5, 10, 15, 30].map((count) => count * MINUTE),
  ...[1, 2, 3, 6, 12].map((count) => count * HOUR),
  ...[1, 2, 5, 10].map((count) => count * DAY),
];

/** About `most` ticks at round local times. `offsetMs`: how far local time is ahead of UTC. */
export function timeTicks(
  { from, to }: { from: number; to: number },
  most: number,
  offsetMs: number,
): Tick[] {
  const step = STEPS.find((length) => (to - from) / length <= most) ?? 30 * DAY;
  const first = Math.ceil((from + offsetMs) / step) * step - offsetMs;
  const ticks: Tick[] = [];
  for (let at = first; at <= to; at += step) ticks.push({ at, text: tickText(at + offsetMs, step) });
  return ticks;
}

const MONTHS = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec'];

/** The label of a tick, as precise as the step. `local`: the time shifted into UTC. */
function tickText(local: number, step: number): string {
  const text = new Date(local).toISOString();
  if (step >= DAY || local % DAY === 0)
    return `${Number(text.slice(8, 10))} ${MONTHS[Number(text.slice(5, 7)) - 1] ?? ''}`;
  if (step >= MINUTE) return text.slice(11, 16);
  if (step >= SECOND) return text.slice(11, 19);
  return text.slice(14, 23);
}

type Attempt = DeliveryDetail['attempts'][number];
type Phase = Attempt['phase'];

/** Milliseconds since the epoch. */
export type Span = { from: number; to: number };

/** An attempt on the time axis. `x` and widths are CSS pixels within the axis; `lane` counts from the top. */
export type Mark = {
  key: string;
  number: number;
  lane: number;
  kind: Attempt['outcome'] | 'planned';
  x: number;
  width: number;
  /** Position of the due time, for an attempt that started late. */
  dueX?: number;
};

type Timeline = { lanes: readonly Phase[]; marks: readonly Mark[] };

/** Keeps an attempt of a few milliseconds visible on an axis of days. */
const MIN_MARK_WIDTH = 7;

export type Times = Pick<DeliveryDetail, 'attempts' | 'planned'>;

/**
 * Places attempts on the time axis, in a lane for each phase that occurs. Attempts outside of the span are left out,
 * so that a closer view of hundreds of attempts renders fewer marks.
 */
export function timelineLayout({ attempts, planned }: Times, span: Span, width: number): Timeline {
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

/** The span of all attempts, or of those `made` so far. */
export function spanOf({ attempts, planned }: Times, part: 'all' | 'made', now: number): Span {
  const made = attempts.flatMap(({ startedAt, durationMs, dueAt = startedAt }) => [
    Date.parse(dueAt),
    Date.parse(startedAt),
    Date.parse(startedAt) + durationMs,
  ]);
  const times = part === 'made' ? made : [...made, ...planned.map(({ dueAt }) => Date.parse(dueAt))];
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
