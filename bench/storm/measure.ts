import { withLimitDated } from '../../shared/domain/subscription/rate-limit.ts';
import { aBarePolicy, aMessage, aQueue, aSubscription } from '../../test/support/builders.ts';
import type { SchedulerQuotas } from '../../test/support/modelled-scheduler.ts';
import { type Drain, drainOf, firstDueAt, mostWithin, retriedOf } from './figures.ts';
import { CONCURRENCY, type Sabotage, START, stormWorld, type StormWorld } from './world.ts';

const SECOND = 1_000;
const MINUTE = 60 * SECOND;

/** All messages of the outage are published from the start on, within so long. */
const PUBLISHED_WITHIN = 2 * SECOND;

/** How long a retry waits: more than two hops by SQS. */
const RETRY_DELAY = 40 * MINUTE;

const BACK_AT = START + 20 * MINUTE;
const OVER_AT = START + 120 * MINUTE;

/** Of every minute: when a storm that begins with the minute has been going on for longer than anything may be overdue. */
const RECONCILE_AT = 45 * SECOND;
const RECONCILE_UNTIL = START + 60 * MINUTE;

/** How long the stricken subscriber takes to answer when it is back. It is why concurrency is what bounds the rate. */
const ANSWER_MS = SECOND;

/** infra/constructs/functions/node-function.ts. */
const BATCH = 10;

export type StormPlan = {
  name: string;
  /** Messages whose first attempt fails. */
  retries: number;
  quotas: SchedulerQuotas;
  /** What the stricken subscriber takes once it is back. Default: whatever comes. */
  maxPerSecond?: number;
};

/** What a storm came to, in virtual time. */
export type Storm = {
  drain: Drain & { name: string; maxPerSecond?: number };
  /** CreateSchedule and the invocations of targets, in requests; the most are those of the fullest second. */
  schedules: {
    name: string;
    /** Repeats of what was throttled among them. */
    asked: number;
    mostAsked: number;
    made: number;
    mostMade: number;
    mostInvoked: number;
    /** Wake-ups sent by SQS: the rest of the way after a schedule, and hops in place of one. */
    hops: number;
    /** Deliveries that reconcile woke meanwhile, because their retry was late. */
    reconciled: number;
  };
};

/**
 * An outage of one subscriber and the storm of its retries when it is back: played to its end.
 * @throws Error when it has none
 */
export async function measureStorm(plan: StormPlan, sabotage?: Sabotage): Promise<Storm> {
  const { name, retries, quotas, maxPerSecond = Infinity } = plan;
  const world = stormWorld({
    quotas,
    manner: (now) =>
      now < BACK_AT ? { statusCode: 503, takesMs: 5 } : { statusCode: 200, takesMs: ANSWER_MS },
    ...(sabotage === undefined ? {} : { sabotage }),
  });
  const ids = Array.from({ length: retries }, (_, index) => `m-${index}`);
  await play(world, ids, maxPerSecond);
  const retried = retriedOf(ids, world.requests, RETRY_DELAY);
  const allowed = (CONCURRENCY.retry * BATCH * 1000) / attemptMsOf(world, firstDueAt(retried));
  const drain = drainOf(retried, Math.min(allowed, maxPerSecond));
  const delivered = [...world.deliveries.records.values()].filter(({ status }) => status === 'delivered');
  const { asked, granted, invoked } = world.scheduler;
  return {
    drain: {
      name,
      ...(plan.maxPerSecond === undefined ? {} : { maxPerSecond }),
      ...drain,
      lost: Math.max(drain.lost, retries - delivered.length),
    },
    schedules: {
      name,
      asked: asked.length,
      mostAsked: mostWithin(asked),
      made: granted.length,
      mostMade: mostWithin(granted),
      mostInvoked: mostWithin(invoked),
      hops: world.hops(),
      reconciled: world.journal.facts.filter(({ fact }) => fact === 'reconciled').length,
    },
  };
}

async function play(world: StormWorld, ids: readonly string[], maxPerSecond: number): Promise<void> {
  const { subscriptions, time } = world;
  const delay = { minimum_delay: RETRY_DELAY / SECOND, maximum_delay: RETRY_DELAY / SECOND };
  const retryPolicy = aBarePolicy({ minimum_delay_retries: 1, ...delay });
  await subscriptions.putQueue(aQueue({ retryPolicy }));
  await subscriptions.addSubscription(aSubscription());
  for (const [index, id] of ids.entries())
    time.at(START + (index * PUBLISHED_WITHIN) / ids.length, () => {
      world.publish(aMessage({ id }));
    });
  if (maxPerSecond < Infinity) time.at(BACK_AT, () => void limit(world, maxPerSecond));
  for (let at = START + RECONCILE_AT; at < RECONCILE_UNTIL; at += MINUTE) time.at(at, world.reconcile);
  if ((await time.runOut(OVER_AT)) === 'endless')
    throw new Error(`Something still happened after ${new Date(OVER_AT).toISOString()}, or too much.`);
}

async function limit({ subscriptions, time }: StormWorld, max_per_second: number): Promise<void> {
  const now = time.now();
  const { queue, id: subscriptionId } = aSubscription();
  const place = { queue, subscriptionId, now };
  await subscriptions.changeSubscription(place, (before) =>
    withLimitDated(before, { ...before, options: { ...before.options, max_per_second } }, now),
  );
}

/** An invocation in which a retry is made lasts longer than its answer; the shortest of them has waited for nothing else. */
function attemptMsOf({ retryInvocations }: StormWorld, from: number): number {
  return retryInvocations
    .filter(({ startedAt }) => startedAt >= from)
    .map(({ startedAt, endedAt }) => endedAt - startedAt)
    .filter((ms) => ms >= ANSWER_MS)
    .reduce((one, other) => Math.min(one, other), Infinity);
}

/** In any ten seconds (docs/api.md): a slot may be used a little late. */
const TOLERATED = 1.05;

/** What no storm may do, whatever its figures. */
export function faultsIn(drains: readonly Storm['drain'][]): string[] {
  return drains.flatMap(({ name, lost, early, mostInTenSeconds, maxPerSecond = Infinity }) => [
    ...(lost === 0 ? [] : [`${name}: ${lost} messages were lost.`]),
    ...(early === 0 ? [] : [`${name}: ${early} retries came before they were due.`]),
    ...(mostInTenSeconds <= TOLERATED * maxPerSecond
      ? []
      : [`${name}: ${mostInTenSeconds} requests a second, where ${maxPerSecond} are allowed.`]),
  ]);
}
