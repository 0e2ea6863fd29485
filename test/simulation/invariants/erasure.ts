import type { SimulatedWorld } from '../simulated-world.ts';
import { acceptanceOf, violation, type DeliveryCase, type Finding, type Invariant } from './delivery-case.ts';

/** No body of an erased message remains, neither in the bucket nor in its record. */
export const erasedIsGone = ({ scenario, messages }: SimulatedWorld): Finding[] =>
  scenario.messages.flatMap(({ id }) => {
    const record = messages.find(id);
    if (record?.erasedAt === undefined) return [];
    const objects = [...messages.objects.keys()].filter((key) => key.includes(`/${id}/`));
    const kept = record.body === undefined ? objects : [...objects, 'a body in its record'];
    return kept.map((detail) => violation('erased_is_gone', { name: id }, detail));
  });

/** A wake-up carries no message, so an erased message is not retried. */
export const erasedIsNotRetried: Invariant = (one) => {
  const erasedAt = erasureOf(one);
  return one.requests
    .filter(({ actor }) => actor.work?.carriesMessage === false && actor.startedAt > erasedAt)
    .map(({ at }) => violation('erased_is_not_retried', one, `at ${at}, after ${erasedAt}`));
};

/** The time of the erasure; Infinity if never. */
export const erasureOf = (one: DeliveryCase): number => {
  const acceptedAt = acceptanceOf(one)?.record.acceptedAt;
  const erasure = one.world.history.erasures.find(
    (erased) => erased.messageId === one.messageId && erased.acceptedAt === acceptedAt,
  );
  return erasure?.at ?? Infinity;
};
