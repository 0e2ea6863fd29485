import type { Actor, SentWakeUp } from '../history.ts';
import { isOpen, type Delivery } from '../../../shared/domain/delivery/delivery.ts';
import type { Mechanism } from '../../../shared/domain/delivery/vocabulary.ts';
import { MINUTE } from '../scenario.ts';
import { violation, type DeliveryCase, type Finding, type Invariant } from './delivery-case.ts';

/** An old copy of a job or wake-up makes no request and sends no wake-up; only the current attempt number does. */
export const oldCopiesAreIgnored: Invariant = (one) => [
  ...one.wakeUps.flatMap((wakeUp) => checkWakeUp(one, wakeUp)),
  ...[...Map.groupBy(one.requests, ({ actor }) => actor)].flatMap(([actor, [first]]) => {
    const attempt = first?.grant?.number;
    if (attempt === undefined || actor.work === undefined || attempt === actor.work.attempt) return [];
    // An immediate retry, after an attempt that made no request.
    if (hasRecorded(one, actor, attempt - 1)) return [];
    return [violation('old_copies_are_ignored', one, `${actor.name} made attempt ${attempt}`)];
  }),
];

const checkWakeUp = (one: DeliveryCase, { actor, attempt }: SentWakeUp): Finding[] => {
  const { work } = actor;
  // Reconcile and operators send the recorded next attempt.
  if (work === undefined || work.attempt === attempt || work.isRepeated) return [];
  return hasRecorded(one, actor, attempt - 1)
    ? []
    : [violation('old_copies_are_ignored', one, `${actor.name} set a wake-up for attempt ${attempt}`)];
};

const hasRecorded = ({ writes }: DeliveryCase, actor: Actor, attempt: number): boolean =>
  writes.some(
    (write) =>
      write.actor === actor && write.transition.name === 'record' && write.after.attempts.length === attempt,
  );

/** Below the 15 minutes of docs/retry-policy.md#from-delay-to-wake-up, because sending a wake-up may be slow. */
const LEAST_BETWEEN_MS = 14 * MINUTE;

/** The same after a wake-up of which SQS reported a failure, though it was sent: it is postponed twice. */
const LEAST_AFTER_FAILURE_MS = 3 * MINUTE;

/** Reconcile wakes a delivery at most once in 15 minutes, however long the queue stalls. */
export const reconcileDoesNotMultiply: Invariant = (one) => {
  const woken = one.wakeUps.filter(({ actor }) => actor.name.startsWith('reconcile'));
  const alike = Map.groupBy(woken, (wakeUp) => causeOf(stateWhenFound(one, wakeUp), wakeUp));
  return [...alike.values()].flatMap((wakeUps) =>
    wakeUps
      .filter(({ at }, index) => {
        const before = wakeUps[index - 1];
        return before !== undefined && at - before.at < leastAfter(one, before);
      })
      .map(({ at }) => violation('reconcile_does_not_multiply', one, `woken again at ${at}`)),
  );
};

const leastAfter = ({ writes }: DeliveryCase, { actor }: SentWakeUp): number =>
  writes.filter((write) => write.actor === actor && write.transition.name === 'postpone').length > 1
    ? LEAST_AFTER_FAILURE_MS
    : LEAST_BETWEEN_MS;

/** The cause of a wake-up. A manually changed due time is a different cause, and so is the lapse of another receive. */
const causeOf = (found: Delivery | undefined, { attempt, dueAt }: SentWakeUp): string => {
  if (found !== undefined && !isOpen(found)) return `round ${found.round} is over`;
  const receivedAt = found?.lease?.receivedAt;
  return receivedAt === undefined ? `${attempt} due at ${dueAt}` : `received at ${receivedAt} and lapsed`;
};

/**
 * The delivery's state when it was postponed. Sending the wake-up may be slow, and the delivery may have ended by
 * then.
 */
const stateWhenFound = ({ writes }: DeliveryCase, { actor, recorded }: SentWakeUp): Delivery | undefined =>
  writes.find((write) => write.actor === actor && write.transition.name === 'postpone')?.after ?? recorded;

/** Less time than this can be left when a schedule is to be set, so that it may fire too late. */
const NEAR_MS = 70_000;

/** The writer of a next attempt sends its wake-up as recorded, unless Scheduler refuses it or the time has become short. */
export const sentAsRecorded: Invariant = (one) =>
  one.wakeUps.flatMap((wakeUp) => {
    const { at, by, dueAt, actor } = wakeUp;
    const planned = one.writes.findLast((write) => write.actor === actor && write.at <= at)?.after.next;
    if (planned?.dueAt !== dueAt || planned.by === by || !BY_WAKE_UP.has(planned.by)) return [];
    if (by === 'sqs_delay' && cannotBeScheduled(wakeUp)) return [];
    return [violation('sent_as_recorded', one, `${planned.by} by ${by}, ${dueAt - at} ms ahead`)];
  });

const BY_WAKE_UP: ReadonlySet<Mechanism> = new Set(['sqs_delay', 'scheduler']);

const cannotBeScheduled = ({ at, dueAt, actor }: SentWakeUp): boolean =>
  dueAt - at < NEAR_MS || actor.invocation.faults.some(({ name }) => name.endsWith('wakeUps.schedule'));

/** An existing schedule that is reported as set has the same due time. */
export const schedulesAreDistinct: Invariant = (one) =>
  one.wakeUps
    .filter(({ existingDueAt, dueAt }) => existingDueAt !== undefined && existingDueAt !== dueAt)
    .map(({ existingDueAt, dueAt }) =>
      violation(
        'schedules_are_distinct',
        one,
        `a schedule due at ${existingDueAt} replaced one due at ${dueAt}`,
      ),
    );
