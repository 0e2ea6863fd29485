/** What brings retries about. */
export type By = 'sqs_delay' | 'scheduler';

/** Retries by one mechanism after one delay. */
export type Cell = { by: By; delaySeconds: number };

/**
 * Seconds, of `schedulerThreshold`: nearly everything goes by SQS with the greatest that it takes, by Scheduler with the
 * least.
 */
export const thresholds: Readonly<Record<By, number>> = { sqs_delay: 900, scheduler: 0 };

/** Seconds. Nothing nearer than this goes by Scheduler, whatever the threshold (design §6). */
const NEAREST_BY_SCHEDULER = 5;

/** One for each delay that can go so. */
export const cellsOf = (by: By, delays: readonly number[]): readonly Cell[] =>
  delays
    .filter((delaySeconds) => by === 'sqs_delay' || delaySeconds > NEAREST_BY_SCHEDULER)
    .map((delaySeconds) => ({ by, delaySeconds }));

/** Its queue, its path at the subscriber, and what its messages' ids begin with. */
export const nameOf = ({ by, delaySeconds }: Cell): string => `${by}-${delaySeconds}`;

export const isBy =
  (wanted: By) =>
  ({ by }: Cell): boolean =>
    by === wanted;
