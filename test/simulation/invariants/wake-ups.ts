import type { Actor, SentWakeUp } from '../history.ts';
import { isOpen, type Delivery } from '../../../shared/domain/delivery/delivery.ts';
import { MINUTE } from '../scenario.ts';
import { violation, type DeliveryCase, type Finding, type Invariant } from './delivery-case.ts';

/** A copy of an old job or wake-up makes no request and keeps none alive: only its own number, and what follows from it. */
export const oldCopiesDoNothing: Invariant = (one) => [
  ...one.wakeUps.flatMap((wakeUp) => strayWakeUp(one, wakeUp)),
  ...[...Map.groupBy(one.requests, ({ actor }) => actor)].flatMap(([actor, [first]]) =>
    first?.grant !== undefined && actor.work !== undefined && first.grant.number !== actor.work.attempt
      ? [violation('old_copies_do_nothing', one, `${actor.name} made attempt ${first.grant.number}`)]
      : [],
  ),
];

const strayWakeUp = (one: DeliveryCase, { actor, attempt }: SentWakeUp): Finding[] => {
  const { work } = actor;
  // reconcile and operators send what the record says.
  if (work === undefined || work.attempt === attempt || work.hasComeBefore) return [];
  return wrote(one, actor, attempt - 1)
    ? []
    : [violation('old_copies_do_nothing', one, `${actor.name} set a wake-up for attempt ${attempt}`)];
};

const wrote = ({ writes }: DeliveryCase, actor: Actor, attempt: number): boolean =>
  writes.some(
    (write) =>
      write.actor === actor && write.transition.name === 'record' && write.after.attempts.length === attempt,
  );

/** Less than the 15 minutes of docs/design.md#6-wake-ups, because the call that sends a wake-up may be slow. */
const LEAST_BETWEEN_MS = 14 * MINUTE;

/** reconcile wakes a delivery once in a quarter of an hour, however long the queue stands still. */
export const reconcileDoesNotMultiply: Invariant = (one) => {
  const woken = one.wakeUps.filter(({ actor }) => actor.name.startsWith('reconcile'));
  const alike = Map.groupBy(woken, (wakeUp) => causeOf(stateWhenFound(one, wakeUp), wakeUp));
  return [...alike.values()].flatMap((wakeUps) =>
    wakeUps
      .filter(({ at }, index) => at - (wakeUps[index - 1]?.at ?? -Infinity) < LEAST_BETWEEN_MS)
      .map(({ at }) => violation('reconcile_does_not_multiply', one, `woken again at ${at}`)),
  );
};

/** What a delivery was woken for. An attempt whose due time was moved by hand is woken for another one. */
const causeOf = (found: Delivery | undefined, { attempt, dueAt }: SentWakeUp): string =>
  found === undefined || isOpen(found.status) ? `${attempt} due at ${dueAt}` : `round ${found.round} is over`;

/** The call that sends a wake-up may be slow, and the delivery be over by then: what counts is what was postponed. */
const stateWhenFound = ({ writes }: DeliveryCase, { actor, recorded }: SentWakeUp): Delivery | undefined =>
  writes.find((write) => write.actor === actor && write.transition.name === 'postpone')?.after ?? recorded;

/** Who is told that a schedule is set can rely on it: the one that is set is for the same due time. */
export const schedulesAreTheirOwn: Invariant = (one) =>
  one.wakeUps
    .filter(({ takenFor, dueAt }) => takenFor !== undefined && takenFor !== dueAt)
    .map(({ takenFor, dueAt }) =>
      violation('schedules_are_their_own', one, `one due at ${takenFor} stands for one due at ${dueAt}`),
    );
