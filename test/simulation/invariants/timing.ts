import { isOpen } from '../../../shared/domain/delivery/delivery.ts';
import { invocationMs } from '../../../shared/domain/retry/attempt-duration.ts';
import type { RetryPolicy } from '../../../shared/domain/retry/policy.ts';
import { expectedDelayMs, hintMs, needsRequest } from './attempts.ts';
import type { SeenRequest, Write } from '../history.ts';
import { SLOWEST_MS } from '../faulty-ports.ts';
import { DAY, MINUTE, SECOND } from '../scenario.ts';
import {
  acceptanceOf,
  isDisturbed,
  recordOf,
  violation,
  type DeliveryCase,
  type Finding,
  type Invariant,
} from './delivery-case.ts';

/** After its recorded end a delivery gets no request, until an operator opens another round. */
export const nothingAfterItsEnd: Invariant = (one) => {
  const ended = one.writes.flatMap((write, index) => {
    if (isOpen(write.after)) return [];
    const reopened = one.writes.slice(index).find(({ transition }) => transition.name === 'reopen');
    return [{ from: write.at, until: reopened?.at ?? Infinity }];
  });
  return one.requests
    .filter(({ at, grant }) =>
      ended.some(
        ({ from, until }) => at > from && (grant?.at ?? Infinity) > from && (grant?.at ?? 0) < until,
      ),
    )
    .map(({ at }) => violation('nothing_after_its_end', one, `a request at ${at}`));
};

type Retry = { request: SeenRequest; failed: Write; due: { least: number; most: number } };

/** Rounding of milliseconds and of roots. */
const ROUNDING_MS = 2;

/** The requests of each retry with their due times, converted from the clock of the failed attempt. */
const retriesOf = (one: DeliveryCase): Retry[] =>
  one.requests.flatMap((request) => {
    const number = request.grant?.number ?? 1;
    const failed = one.writes.find(
      ({ transition, after }) => transition.name === 'record' && after.attempts.length === number - 1,
    );
    if (failed === undefined) return [];
    const before = one.requests.find((other) => recordOf(one, other) === failed);
    if (before === undefined || isByHand(one, number) || isWithoutReply(failed)) return [];
    const { policy, attempts, round } = failed.after;
    const retry = attempts.filter((attempt) => attempt.round === round).length;
    const due = dueAfter(before, policy, retry, request.actor.clockOffset);
    return due === undefined ? [] : [{ request, failed, due }];
  });

const isWithoutReply = ({ after }: Write): boolean =>
  after.attempts.slice(-1).some((attempt) => !needsRequest(attempt));

/** A manually requested attempt is due at once, regardless of the policy. */
const isByHand = ({ writes }: DeliveryCase, number: number): boolean =>
  writes.some(
    ({ transition, after }) =>
      (transition.name === 'retry_now' || transition.name === 'reopen') &&
      after.attempts.length === number - 1,
  );

/** Undefined: the response was not received, or the policy has no such retry, which other invariants check. */
const dueAfter = (
  { answeredAt, reply, actor }: SeenRequest,
  policy: RetryPolicy | undefined,
  retry: number,
  clockOffset: number,
): Retry['due'] | undefined => {
  const delay = policy && expectedDelayMs(policy, retry);
  if (answeredAt === undefined || delay === undefined) return undefined;
  const retryAfter = reply.kind === 'answered' ? reply.retryAfter : undefined;
  const hint = hintMs(retryAfter, actor.settings.retryAfterCapMs);
  const ended = answeredAt + actor.clockOffset - clockOffset;
  return { least: ended + Math.max(delay.least, hint), most: ended + Math.max(delay.most, hint) };
};

/** No attempt starts before its due time: the end of the failed attempt plus the policy's delay or Retry-After. */
export const nothingEarly: Invariant = (one) => [
  ...retriesOf(one)
    .filter(({ request, due }) => request.at < due.least - ROUNDING_MS)
    .map(({ request, due }) =>
      violation(
        'nothing_early',
        one,
        `attempt ${request.grant?.number} came ${due.least - request.at} ms early`,
      ),
    ),
  ...delayedFirst(one),
];

/** A message's delay counts from its acceptance. */
const delayedFirst = (one: DeliveryCase): Finding[] => {
  const acceptance = acceptanceOf(one);
  const delaySeconds = acceptance?.actor.copy?.delaySeconds;
  if (acceptance === undefined || delaySeconds === undefined) return [];
  const dueAt = acceptance.record.acceptedAt + delaySeconds * SECOND;
  // Another round is due at once, regardless of the message's delay.
  const reopenedAt = one.writes.find(({ transition }) => BY_HAND.has(transition.name))?.at ?? Infinity;
  return one.requests
    .filter(({ at, actor }) => at < reopenedAt && at + actor.clockOffset < dueAt)
    .map(({ at }) => violation('nothing_early', one, `a delayed message was sent at ${at}`));
};

const BY_HAND: ReadonlySet<Write['transition']['name']> = new Set(['reopen', 'send']);

/** SQS delays by whole seconds; the rest is for calls. */
const USUAL_LATENESS_MS = 2 * SECOND;
/** A nearer schedule may fire too late; operators choose that by the threshold (docs/retry-policy.md#from-delay-to-wake-up). */
const NEAR_SECONDS = 70;

/**
 * Without faults the wake-up starts the attempt; reconcile is only a fallback. Where concurrency is bounded, a quiet
 * subscriber waits for one invocation: the first that is over serves it (docs/concepts.md#isolation).
 */
export const nothingLate: Invariant = (one) =>
  retriesOf(one).flatMap(({ request, failed, due }) => {
    const { settings } = failed.actor;
    const slack =
      USUAL_LATENESS_MS +
      (settings.schedulerThresholdSeconds < NEAR_SECONDS ? MINUTE : 0) +
      (one.world.scenario.concurrency === undefined ? 0 : invocationMs(settings.attemptTimeoutMs));
    const lateMs = request.at - due.most - 2 * one.world.scenario.skewMs;
    // A paced delivery is as late as its line is long, one of a noisy subscriber as its backlog.
    if (mayWait(one)) return [];
    if (lateMs <= slack || isDisturbed(one.world, failed.actor.startedAt, request.at, one)) return [];
    return [violation('nothing_late', one, `attempt ${request.grant?.number} came ${lateMs} ms late`)];
  });

const mayWait = (one: DeliveryCase): boolean => isPaced(one) || isNoisy(one) || wasPaused(one);

const isPaced = ({ world, subscriptionId }: DeliveryCase): boolean =>
  world.subscriptions
    .versionsOf(subscriptionId)
    .some(({ value }) => value?.options.max_per_second !== undefined || value?.pressure !== undefined);

/** What waited is due when it is sent. */
const wasPaused = ({ world, subscriptionId }: DeliveryCase): boolean =>
  [...world.subscriptions.versionsOf(subscriptionId), ...world.subscriptions.queueVersions].some(
    ({ value }) => value?.pauses !== undefined,
  );

const isNoisy = ({ world, subscriptionId }: DeliveryCase): boolean =>
  world.scenario.subscriptions.some(({ id, isNoisy }) => id === subscriptionId && isNoisy === true);

/**
 * A record outlives the schedule that needs it (docs/architecture.md#deliveries-table, `expiresAt`). A claim leaves its
 * expiry to the attempt, which renews it within the lease.
 */
export const recordsOutliveSchedules: Invariant = (one) =>
  one.writes
    .filter(({ at, after, transition: { name } }) => {
      const event = name === 'claim' ? 0 : at;
      return after.expiresAt < Math.max(event, after.next?.dueAt ?? 0) + LEAST_RETENTION_MS;
    })
    .map(({ transition }) => violation('records_outlive_schedules', one, `after ${transition.name}`));

/**
 * The minimum retention, minus clock differences and the longest time between a decision and its write: 45 s of
 * invocation plus the slowest call.
 */
const LEAST_RETENTION_MS = 15 * DAY - 45 * SECOND - SLOWEST_MS - 4 * SECOND;
