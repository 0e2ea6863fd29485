import {
  brokenIn,
  drainOf,
  firstDueAt,
  mostWithin,
  retriedOf,
  waitsOf,
  type Broken,
  type Drain,
  type Waits,
} from './figures.ts';
import { BATCH } from './queue.ts';
import {
  addresses,
  ANSWER_MS,
  othersIds,
  othersSentAt,
  playStorm,
  type StormPlan,
  strickenIds,
  timeline,
} from './play.ts';
import { CONCURRENCY, type Sabotage, type StormWorld } from './world.ts';

/** CreateSchedule and the invocations of targets, in requests; the most are those of the fullest second. */
export type ScheduleFigures = {
  /** Repeats of what was throttled among them. */
  asked: number;
  throttled: number;
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
  /** First attempts of others, of the times of the storm, in it and without it. */
  waits: { storm: Waits; calm: Waits };
};

/** @throws EndlessStormError when it does not come to an end */
export const measureStorm = async (
  name: string,
  plan: StormPlan,
  sabotage?: Sabotage,
): Promise<VirtualStorm> => {
  const world = await playStorm(plan, sabotage);
  const calm = await playStorm({ ...plan, retries: 0 }, sabotage);
  const requests = world.subscribers.requestsAt(addresses.stricken);
  const retried = retriedOf(
    strickenIds(plan),
    requests,
    ({ answeredAt }) => answeredAt + timeline.retryDelayMs,
  );
  const attemptMs = attemptMsOf(world, firstDueAt(retried));
  const allowed = (CONCURRENCY.retry * BATCH * 1000) / attemptMs;
  const drain = drainOf(retried, Math.min(allowed, plan.maxPerSecond ?? Infinity));
  const { lost, early } = brokenIn(retried);
  const from = firstDueAt(retried);
  const meanwhile = { from, to: from + drain.seconds * 1000 };
  return {
    name,
    ...plan,
    schedules: scheduleFigures(world),
    hops: world.hops(),
    reconciled: world.journal.facts.filter(({ fact }) => fact === 'reconciled').length,
    attemptMs,
    drain,
    broken: { lost: Math.max(lost, undelivered(world, plan)), early },
    waits: { storm: othersWaits(plan, world, meanwhile), calm: othersWaits(plan, calm, meanwhile) },
  };
};

/** By the records. */
const undelivered = ({ deliveries }: StormWorld, { retries }: StormPlan): number =>
  retries -
  [...deliveries.records.values()].filter(
    ({ key, status }) => key.queue === 'stricken' && status === 'delivered',
  ).length;

/** An invocation in which a retry is made lasts longer than its answer; the shortest of them has waited for nothing else. */
const attemptMsOf = ({ queues }: StormWorld, from: number): number =>
  queues.retries.invocations
    .filter(({ startedAt }) => startedAt >= from)
    .map(({ startedAt, endedAt }) => endedAt - startedAt)
    .filter((ms) => ms >= ANSWER_MS)
    .reduce((one, other) => Math.min(one, other), Infinity);

const SECOND = 1_000;

const scheduleFigures = ({ scheduler: { asked, granted, invoked } }: StormWorld): ScheduleFigures => ({
  asked: asked.length,
  throttled: asked.length - granted.length,
  made: granted.length,
  mostAsked: mostWithin(asked, SECOND),
  mostMade: mostWithin(granted, SECOND),
  mostInvoked: mostWithin(invoked, SECOND),
});

type Window = { from: number; to: number };

const othersWaits = (plan: StormPlan, { subscribers }: StormWorld, { from, to }: Window): Waits => {
  const requests = subscribers.requestsAt(addresses.others);
  // Of two requests for one message the first counts, which a Map keeps when it is put in last.
  const firstAt = new Map(requests.toReversed().map(({ id, at }) => [id, at]));
  const meanwhile = [...othersIds(plan).entries()]
    .map(([index, id]) => ({ id, sentAt: othersSentAt(index) }))
    .filter(({ sentAt }) => sentAt >= from && sentAt < to);
  // One that never came has waited for ever.
  return waitsOf(meanwhile.map(({ id, sentAt }) => (firstAt.get(id) ?? Infinity) - sentAt));
};
