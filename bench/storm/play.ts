import { withLimitDated } from '../../shared/domain/subscription/rate-limit.ts';
import { aBarePolicy, aMessage, aQueue, aSubscription } from '../../test/support/builders.ts';
import type { SchedulerQuotas } from '../../test/support/modelled-scheduler.ts';
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
  /** Of every minute: when a storm that begins with the minute has been going on for longer than anything may be overdue. */
  reconcileAtMs: 45 * SECOND,
  reconcileUntil: START + 60 * MINUTE,
  overAt: START + 120 * MINUTE,
} as const;

/** How long the stricken subscriber takes to answer when it is back. It is why concurrency is what bounds the rate. */
export const ANSWER_MS = SECOND;

function manner(now: number) {
  return now < timeline.backAt ? { statusCode: 503, takesMs: 5 } : { statusCode: 200, takesMs: ANSWER_MS };
}

export type StormPlan = {
  /** Messages whose first attempt fails. */
  retries: number;
  quotas: SchedulerQuotas;
  /** What the stricken subscriber takes once it is back. Default: whatever comes. */
  maxPerSecond?: number;
};

export function messageIds({ retries }: StormPlan): string[] {
  return Array.from({ length: retries }, (_, index) => `m-${index}`);
}

/**
 * An outage of one subscriber and the storm of its retries when it is back: played to its end.
 * @throws Error when it has none
 */
export async function playStorm(plan: StormPlan, sabotage?: Sabotage): Promise<StormWorld> {
  const world = stormWorld({
    quotas: plan.quotas,
    manner,
    ...(sabotage === undefined ? {} : { sabotage }),
  });
  const { time } = world;
  await subscribe(world);
  for (const [index, id] of messageIds(plan).entries())
    time.at(START + (index * timeline.publishedWithinMs) / plan.retries, () => {
      world.publish(aMessage({ id }));
    });
  const { maxPerSecond } = plan;
  if (maxPerSecond !== undefined) time.at(timeline.backAt, () => void limit(world, maxPerSecond));
  for (let at = START + timeline.reconcileAtMs; at < timeline.reconcileUntil; at += MINUTE)
    time.at(at, world.reconcile);
  if ((await time.runOut(timeline.overAt)) === 'endless')
    throw new Error(
      `Something still happened after ${new Date(timeline.overAt).toISOString()}, or too much.`,
    );
  return world;
}

async function subscribe({ subscriptions }: StormWorld): Promise<void> {
  const seconds = timeline.retryDelayMs / 1000;
  const retryPolicy = aBarePolicy({
    minimum_delay_retries: 1,
    minimum_delay: seconds,
    maximum_delay: seconds,
  });
  await subscriptions.putQueue(aQueue({ retryPolicy }));
  await subscriptions.addSubscription(aSubscription());
}

async function limit({ subscriptions, time }: StormWorld, max_per_second: number): Promise<void> {
  const now = time.now();
  const { queue, id: subscriptionId } = aSubscription();
  const place = { queue, subscriptionId, now };
  await subscriptions.changeSubscription(place, (before) =>
    withLimitDated(before, { ...before, options: { ...before.options, max_per_second } }, now),
  );
}
