import { brokenIn, drainOf, firstDueAt, mostWithin, retriedOf, type Broken, type Drain } from './figures.ts';
import { ANSWER_MS, messageIds, playStorm, timeline, type StormPlan } from './play.ts';
import { CONCURRENCY, type Sabotage, type StormWorld } from './world.ts';

/** infra/constructs/functions/node-function.ts. */
const BATCH = 10;

/** CreateSchedule and the invocations of targets, in requests; the most are those of the fullest second. */
type ScheduleFigures = {
  /** Repeats of what was throttled among them. */
  asked: number;
  made: number;
  mostAsked: number;
  mostMade: number;
  mostInvoked: number;
};

/** What a storm came to, in virtual time. */
export type VirtualStorm = StormPlan & {
  name: string;
  schedules: ScheduleFigures;
  /** Wake-ups sent by SQS: the rest of the way after a schedule, and hops in place of one. */
  hops: number;
  /** Deliveries that reconcile woke meanwhile, because their retry was late. */
  reconciled: number;
  /** Milliseconds that an invocation takes whose retries wait for nothing, our own calls among them. */
  attemptMs: number;
  drain: Drain;
  broken: Broken;
};

/** @throws Error when it does not come to an end */
export async function measureStorm(
  name: string,
  plan: StormPlan,
  sabotage?: Sabotage,
): Promise<VirtualStorm> {
  const world = await playStorm(plan, sabotage);
  const retried = retriedOf(
    messageIds(plan),
    world.requests,
    ({ answeredAt }) => answeredAt + timeline.retryDelayMs,
  );
  const attemptMs = attemptMsOf(world, firstDueAt(retried));
  const allowed = (CONCURRENCY.retry * BATCH * 1000) / attemptMs;
  const drain = drainOf(retried, Math.min(allowed, plan.maxPerSecond ?? Infinity));
  const { lost, early } = brokenIn(retried);
  const { asked, granted, invoked } = world.scheduler;
  return {
    name,
    ...plan,
    schedules: {
      asked: asked.length,
      made: granted.length,
      mostAsked: mostWithin(asked),
      mostMade: mostWithin(granted),
      mostInvoked: mostWithin(invoked),
    },
    hops: world.hops(),
    reconciled: world.journal.facts.filter(({ fact }) => fact === 'reconciled').length,
    attemptMs,
    drain,
    broken: { lost: Math.max(lost, undelivered(world, plan)), early },
  };
}

/** By the records. */
function undelivered({ deliveries }: StormWorld, { retries }: StormPlan): number {
  const delivered = [...deliveries.records.values()].filter(({ status }) => status === 'delivered');
  return retries - delivered.length;
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
export function faultsIn({ virtual }: { virtual: readonly VirtualStorm[] }): string[] {
  return virtual.flatMap(({ name, broken: { lost, early }, drain, maxPerSecond = Infinity }) => [
    ...(lost === 0 ? [] : [`${name}: ${lost} messages were lost.`]),
    ...(early === 0 ? [] : [`${name}: ${early} retries came before they were due.`]),
    ...(drain.mostInTenSeconds <= TOLERATED * maxPerSecond
      ? []
      : [`${name}: ${drain.mostInTenSeconds} requests a second, where ${maxPerSecond} are allowed.`]),
  ]);
}
