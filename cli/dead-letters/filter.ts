import type { DeadLetter } from '../../shared/domain/delivery/dead-letter.ts';
import type { RedrivenQueue } from '../../shared/domain/vocabulary.ts';
import { describeDeadLetter } from './describe.ts';

/** Which dead letters to show or to change. Ids and subscriptions may be given by the beginning of their id. */
export type DeadLetterFilter = {
  queue?: string;
  subscription?: string;
  /** `none`: SQS moved the message. A reason without its detail includes all of its details. */
  reason?: string;
  id?: readonly string[];
};

/** Shown and given in place of a missing reason. */
export const NO_REASON = 'none';

/** Length of an SQS message id, a UUID. */
export const WHOLE_ID = 36;

/** Whether a dead letter passes; undefined if all do. */
export function matcherOf(
  which: RedrivenQueue,
  { queue, subscription, reason, id }: DeadLetterFilter,
): ((deadLetter: DeadLetter) => boolean) | undefined {
  if ([queue, subscription, reason, id].every((given) => given === undefined)) return undefined;
  const [ids, starts] = [new Set(id), (id ?? []).filter(({ length }) => length < WHOLE_ID)];
  const isChosen = (given: string): boolean =>
    id === undefined || ids.has(given) || starts.some((start) => given.startsWith(start));
  return (deadLetter) => {
    if (!isChosen(deadLetter.id)) return false;
    if ([queue, subscription, reason].every((given) => given === undefined)) return true;
    const view = describeDeadLetter(which, deadLetter);
    return (
      (queue === undefined || view.queue === queue) &&
      (reason === undefined || isReason(view.reason ?? NO_REASON, reason)) &&
      (subscription === undefined || view.subscriptionIds.some((one) => one.startsWith(subscription)))
    );
  };
}

function isReason(actual: string, given: string): boolean {
  return actual === given || actual.startsWith(`${given}:`);
}
