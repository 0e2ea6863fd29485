import { withLimitDated } from '../../../shared/domain/subscription/rate-limit.ts';
import { aBarePolicy, aMessage, aQueue, aSubscription } from '../../../test/support/builders.ts';
import type { SchedulerQuotas } from './simulated-scheduler.ts';
import { START, stormWorld, type Sabotage, type StormWorld } from './storm-world.ts';
import { addresses, manners, othersSentAt, timeline } from './timeline.ts';

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
