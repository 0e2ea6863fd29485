import { withLimitDated } from '../../shared/domain/subscription/rate-limit.ts';
import { aBarePolicy, aMessage, aQueue, aSubscription } from '../../test/support/builders.ts';
import type { SchedulerQuotas } from './scheduler.ts';
import { type Sabotage, START, stormWorld, type StormWorld } from './world.ts';

const SECOND = 1_000;
const MINUTE = 60 * SECOND;

/** What happens when, and how long it takes. Times are milliseconds since the epoch. */
export const timeline = {
  /** All messages of the outage are published from the start on, within so many milliseconds. */
  publishedWithinMs: 2 * SECOND,
  /** How long a retry waits: more than two hops by SQS. */
  retryDelayMs: 40 * MINUTE,
  backAt: START + 20 * MINUTE,
  /** Others publish one message after another, from a moment before the first retry is due. */
  othersFrom: START + 40 * MINUTE - 5 * SECOND,
  othersApartMs: 50,
  /** Of every minute: when a storm that begins with the minute has been going on for longer than anything may be overdue. */
  reconcileAtMs: 45 * SECOND,
  reconcileUntil: START + 60 * MINUTE,
  overAt: START + 120 * MINUTE,
} as const;

export const othersSentAt = (index: number): number => timeline.othersFrom + index * timeline.othersApartMs;

export const addresses = { stricken: 'https://stricken.test/hook', others: 'https://others.test/hook' };

/** How long the stricken subscriber takes to answer when it is back. It is why concurrency is what bounds the rate. */
export const ANSWER_MS = SECOND;

const manners = {
  [addresses.stricken]: (now: number) =>
    now < timeline.backAt ? { statusCode: 503, takesMs: 5 } : { statusCode: 200, takesMs: ANSWER_MS },
  [addresses.others]: () => ({ statusCode: 200, takesMs: 100 }),
};

export type StormPlan = {
  /** Messages whose first attempt fails. */
  retries: number;
  /** Messages of others; they should last for longer than the storm. */
  others: number;
  quotas: SchedulerQuotas;
  /** What the stricken subscriber takes once it is back. Default: whatever comes. */
  maxPerSecond?: number;
};

const namesOf = (prefix: string, count: number): string[] =>
  Array.from({ length: count }, (_, index) => `${prefix}-${index}`);

export const strickenIds = ({ retries }: Pick<StormPlan, 'retries'>): string[] => namesOf('m', retries);
export const othersIds = ({ others }: Pick<StormPlan, 'others'>): string[] => namesOf('other', others);

/**
 * An outage of one subscriber, the storm of its retries when it is back, and others who publish meanwhile: played to its end.
 * @throws EndlessStormError when it has none
 */
export const playStorm = async (plan: StormPlan, sabotage?: Sabotage): Promise<StormWorld> => {
  const world = stormWorld({ quotas: plan.quotas, manners, ...(sabotage === undefined ? {} : { sabotage }) });
  const { time } = world;
  await subscribeBoth(world);
  for (const [index, id] of strickenIds(plan).entries())
    time.at(START + (index * timeline.publishedWithinMs) / plan.retries, () => {
      world.publish(aMessage({ queue: 'stricken', id }));
    });
  for (const [index, id] of othersIds(plan).entries())
    time.at(othersSentAt(index), () => {
      world.publish(aMessage({ queue: 'others', id }));
    });
  const { maxPerSecond } = plan;
  if (maxPerSecond !== undefined) time.at(timeline.backAt, () => void limit(world, maxPerSecond));
  for (let at = START + timeline.reconcileAtMs; at < timeline.reconcileUntil; at += 60_000)
    time.at(at, world.reconcile);
  await world.clock.run(timeline.overAt);
  return world;
};

const subscribeBoth = async ({ subscriptions }: StormWorld): Promise<void> => {
  const seconds = timeline.retryDelayMs / 1000;
  const retryPolicy = aBarePolicy({
    minimum_delay_retries: 1,
    minimum_delay: seconds,
    maximum_delay: seconds,
  });
  for (const queue of ['stricken', 'others'] as const) {
    await subscriptions.putQueue(aQueue({ name: queue, retryPolicy }));
    await subscriptions.addSubscription(aSubscription({ queue, subscriber: addresses[queue] }));
  }
};

const limit = async ({ subscriptions, time }: StormWorld, max_per_second: number): Promise<void> => {
  const now = time.now();
  const place = { queue: 'stricken', subscriptionId: aSubscription().id, now };
  await subscriptions.changeSubscription(place, (before) =>
    withLimitDated(before, { ...before, options: { ...before.options, max_per_second } }, now),
  );
};
