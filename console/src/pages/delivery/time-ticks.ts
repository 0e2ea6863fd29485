export type Tick = { at: number; text: string };

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
