import { setTimeout as pause } from 'node:timers/promises';

/** What brings retries about. */
export type By = 'sqs_delay' | 'scheduler';

/** Retries by one mechanism after one delay. */
export type Cell = { by: By; delaySeconds: number };

/**
 * Seconds, of `schedulerThreshold`: nearly everything goes by SQS with the greatest that it takes, by Scheduler with the
 * least.
 */
export const thresholds: Readonly<Record<By, number>> = { sqs_delay: 900, scheduler: 0 };

/** Seconds. Nothing nearer than this goes by Scheduler, whatever the threshold (docs/retry-policy.md#from-delay-to-wake-up). */
const NEAREST_BY_SCHEDULER = 5;

/** One for each delay that can go so. */
export function cellsOf(by: By, delays: readonly number[]): readonly Cell[] {
  return delays
    .filter((delaySeconds) => by === 'sqs_delay' || delaySeconds > NEAREST_BY_SCHEDULER)
    .map((delaySeconds) => ({ by, delaySeconds }));
}

/** Its queue, its path at the subscriber, and what its messages' ids begin with. */
export function nameOf({ by, delaySeconds }: Cell): string {
  return `${by}-${delaySeconds}`;
}

/** A message of a cell, numbered from 0, and when it is sent, in ms after the start. */
export type Release = { afterMs: number; cell: Cell; number: number };

/** `seconds`: from the first message to the last retry. */
type Spread = { count: number; seconds: number };

/**
 * As many of each cell, spread evenly over the time that leaves the last of them its delay, and the cells in turns: so there
 * is about as much to do at any moment.
 */
export function releasesOf(cells: readonly Cell[], { count, seconds }: Spread): readonly Release[] {
  return cells
    .flatMap((cell, turn) =>
      Array.from({ length: count }, (_, number) => {
        const part = (number + turn / cells.length) / count;
        return { afterMs: part * (seconds - cell.delaySeconds) * 1000, cell, number };
      }),
    )
    .toSorted((one, other) => one.afterMs - other.afterMs);
}

/** Sends each when its time has come; what has come meanwhile goes along. */
export async function playOut(
  releases: readonly Release[],
  send: (due: readonly Release[]) => Promise<void>,
  signal: AbortSignal,
): Promise<void> {
  const start = performance.now();
  const since = (): number => performance.now() - start;
  let sent = 0;
  for (let next = releases[sent]; next !== undefined; next = releases[sent]) {
    await pause(Math.max(0, next.afterMs - since()), undefined, { signal });
    const now = since();
    let until = sent + 1;
    while ((releases[until]?.afterMs ?? Infinity) <= now) until += 1;
    await send(releases.slice(sent, until));
    sent = until;
  }
}
