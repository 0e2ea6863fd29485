import { withLimitDated } from '../../shared/domain/subscription/rate-limit.ts';
import { addSubscription } from '../../test/support/add-subscription.ts';
import { aBarePolicy, aMessage, aQueue, aSubscription } from '../../test/support/builders.ts';
import type { SchedulerQuotas } from '../../test/support/modelled-scheduler.ts';
import { CONCURRENCY, type Request, type Sabotage, START, stormWorld, type StormWorld } from './world.ts';

const SECOND = 1_000;
const MINUTE = 60 * SECOND;

/** All messages of the outage are published within this time. */
const PUBLISHED_WITHIN = 2 * SECOND;

/** More than two hops by SQS. */
const RETRY_DELAY = 40 * MINUTE;

const BACK_AT = START + 20 * MINUTE;
const OVER_AT = START + 120 * MINUTE;

/** The second of every minute: a storm that begins with the minute is overdue by then. */
const RECONCILE_AT = 45 * SECOND;
const RECONCILE_UNTIL = START + 60 * MINUTE;

/** The subscriber's answer once it is back takes so long that the concurrency limits the rate. */
const ANSWER_MS = SECOND;

/** infra/constructs/functions/node-function.ts. */
const BATCH = 10;

export type StormPlan = {
  name: string;
  /** Messages whose first attempt fails. */
  retries: number;
  quotas: SchedulerQuotas;
  /** Set when the subscriber is back. @default no limit */
  maxPerSecond?: number;
};

/** The retries of a storm. Seconds since the first of them was due, in virtual time. */
export type Drain = {
  name: string;
  maxPerSecond?: number;
  retries: number;
  /** When the last was due. */
  dueWithin: number;
  /** When the last was answered, and when it would be at exactly `perSecond`. */
  seconds: number;
  idealSeconds: number;
  perSecond: number;
  /** Requests within the fullest second, and a second within the fullest ten. */
  mostInOneSecond: number;
  mostInTenSeconds: number;
  /** Messages without a success, and requests before they were due. */
  lost: number;
  early: number;
};

/** Requests of CreateSchedule and invocations of targets; the most are those of the fullest second. */
export type Schedules = {
  name: string;
  /** Including repeats of throttled requests. */
  asked: number;
  mostAsked: number;
  made: number;
  mostMade: number;
  mostInvoked: number;
  /** Wake-ups sent by SQS. */
  hops: number;
  /** Late deliveries that reconcile woke. */
  reconciled: number;
};

/**
 * Plays an outage of one subscriber and the storm of its retries when it is back.
 * @throws Error when it does not end
 */
export async function measureStorm(
  plan: StormPlan,
  sabotage?: Sabotage,
): Promise<{ drain: Drain; schedules: Schedules }> {
  const { name, retries, quotas, maxPerSecond = Infinity } = plan;
  const world = stormWorld({
    quotas,
    manner: (now) =>
      now < BACK_AT ? { statusCode: 500, takesMs: 5 } : { statusCode: 200, takesMs: ANSWER_MS },
    ...(sabotage === undefined ? {} : { sabotage }),
  });
  const ids = Array.from({ length: retries }, (_, index) => `m-${index}`);
  await play(world, ids, maxPerSecond);
  const retried = retriedOf(ids, world.requests);
  const allowed = (CONCURRENCY.retry * BATCH * SECOND) / attemptMsOf(world, firstDueAt(retried));
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
      mostAsked: mostWithin(asked, SECOND),
      made: granted.length,
      mostMade: mostWithin(granted, SECOND),
      mostInvoked: mostWithin(invoked, SECOND),
      hops: world.hops(),
      reconciled: world.journal.facts.filter(({ fact }) => fact === 'reconciled').length,
    },
  };
}

async function play(world: StormWorld, ids: readonly string[], maxPerSecond: number): Promise<void> {
  const { subscriptions, time } = world;
  const delay = { minimum_delay: RETRY_DELAY / SECOND, maximum_delay: RETRY_DELAY / SECOND };
  await subscriptions.putQueue(aQueue({ retryPolicy: aBarePolicy({ minimum_delay_retries: 1, ...delay }) }));
  await addSubscription(subscriptions, aSubscription());
  for (const [index, id] of ids.entries())
    time.at(START + (index * PUBLISHED_WITHIN) / ids.length, () => {
      world.publish(aMessage({ id }));
    });
  if (maxPerSecond < Infinity) time.at(BACK_AT, () => void limit(world, maxPerSecond));
  for (let at = START + RECONCILE_AT; at < RECONCILE_UNTIL; at += MINUTE) time.at(at, world.reconcile);
  if ((await time.runOut(OVER_AT)) === 'endless')
    throw new Error(`The storm was not over at ${new Date(OVER_AT).toISOString()}.`);
}

async function limit({ subscriptions, time }: StormWorld, max_per_second: number): Promise<void> {
  const now = time.now();
  const { queue, id: subscriptionId } = aSubscription();
  await subscriptions.changeSubscription({ queue, subscriptionId, now }, (before) =>
    withLimitDated(before, { ...before, options: { ...before.options, max_per_second } }, now),
  );
}

/** The shortest invocation with a retry from then on: it waited for nothing but the answer and its calls. */
function attemptMsOf({ retryInvocations }: StormWorld, from: number): number {
  return retryInvocations
    .filter(({ startedAt }) => startedAt >= from)
    .map(({ startedAt, endedAt }) => endedAt - startedAt)
    .filter((ms) => ms >= ANSWER_MS)
    .reduce((one, other) => Math.min(one, other), Infinity);
}

/** When a message is due again after its failure, and the requests after the first. */
type Retried = { dueAt: number; retries: readonly Request[] };

/** A message without any request is due from the beginning, so that it counts as lost. */
function retriedOf(ids: readonly string[], requests: readonly Request[]): readonly Retried[] {
  const byMessage = Map.groupBy(requests, ({ id }) => id);
  return ids.map((id) => {
    const [first, ...retries] = byMessage.get(id) ?? [];
    return { dueAt: first === undefined ? -Infinity : first.answeredAt + RETRY_DELAY, retries };
  });
}

function firstDueAt(all: readonly Retried[]): number {
  return all.reduce((first, { dueAt }) => Math.min(first, dueAt), Infinity);
}

function drainOf(all: readonly Retried[], perSecond: number): Omit<Drain, 'name'> {
  const retries = all.flatMap((message) => message.retries);
  const due = all.map(({ dueAt }) => dueAt).toSorted((one, other) => one - other);
  const times = retries.map(({ at }) => at);
  const since = (at: number): number => (at - firstDueAt(all)) / SECOND;
  return {
    retries: retries.length,
    dueWithin: since(due.at(-1) ?? Number.NaN),
    seconds: since(retries.reduce((latest, { answeredAt }) => Math.max(latest, answeredAt), -Infinity)),
    idealSeconds: since(due.reduce((done, dueAt) => Math.max(done, dueAt) + SECOND / perSecond, -Infinity)),
    perSecond,
    mostInOneSecond: mostWithin(times, SECOND),
    mostInTenSeconds: mostWithin(times, 10 * SECOND) / 10,
    lost: all.filter((message) => !message.retries.some(({ statusCode }) => statusCode === 200)).length,
    early: all.flatMap(({ dueAt, retries: made }) => made.filter(({ at }) => at < dueAt)).length,
  };
}

/** The most times in any window of that length. */
function mostWithin(times: readonly number[], windowMs: number): number {
  const sorted = times.toSorted((one, other) => one - other);
  let [most, first] = [0, 0];
  for (const [index, time] of sorted.entries()) {
    while (time - (sorted[first] ?? time) >= windowMs) first += 1;
    most = Math.max(most, index - first + 1);
  }
  return most;
}

/** A limit holds in any ten seconds (docs/api.md), and a slot may be used a little late. */
const TOLERATED = 1.05;

/** Lost and early retries, and requests over the limit. */
export function faultsIn(drains: readonly Drain[]): string[] {
  return drains.flatMap(({ name, lost, early, mostInTenSeconds, maxPerSecond = Infinity }) => [
    ...(lost === 0 ? [] : [`${name}: ${lost} messages were lost.`]),
    ...(early === 0 ? [] : [`${name}: ${early} retries came before they were due.`]),
    ...(mostInTenSeconds <= TOLERATED * maxPerSecond
      ? []
      : [`${name}: ${mostInTenSeconds} requests a second, where ${maxPerSecond} are allowed.`]),
  ]);
}
