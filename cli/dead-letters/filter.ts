import type { DeadLetter } from '../../shared/domain/delivery/dead-letter.ts';
import type { RedrivenQueue } from '../../shared/domain/work-queues.ts';
import type { DeadLetterView } from '../../shared/wire/views/console.ts';
import { describeDeadLetter } from './describe.ts';

/** Which dead letters to show or to change. Ids and subscriptions may be given by the beginning of their id. */
export type DeadLetterFilter = {
  queue?: string | undefined;
  subscription?: string | undefined;
  /** `none`: SQS moved the message. A reason without its detail includes all of its details. */
  reason?: string | undefined;
  id?: readonly string[] | undefined;
};

/** Shown and given in place of a missing reason. */
export const NO_REASON = 'none';

/** Length of an SQS message id, a UUID. */
export const WHOLE_ID = 36;

/** Whether a dead letter passes; undefined if all do. */
export function matcherOf(
  which: RedrivenQueue,
  filter: DeadLetterFilter,
): ((deadLetter: DeadLetter) => boolean) | undefined {
  const { id, ...others } = filter;
  const isChosen = id === undefined ? undefined : idMatcher(id);
  const saysMore = Object.values(others).some((value) => value !== undefined);
  if (!saysMore && isChosen === undefined) return undefined;
  return (deadLetter) =>
    isChosen?.(deadLetter.id) !== false &&
    (!saysMore || passes(describeDeadLetter(which, deadLetter), others));
}

/** There may be many whole ids. */
function idMatcher(given: readonly string[]): (id: string) => boolean {
  const whole = new Set(given);
  const starts = given.filter(({ length }) => length < WHOLE_ID);
  return (id) => whole.has(id) || starts.some((start) => id.startsWith(start));
}

function passes(
  view: DeadLetterView,
  { queue, subscription, reason }: Omit<DeadLetterFilter, 'id'>,
): boolean {
  return (
    (queue === undefined || view.queue === queue) &&
    (reason === undefined || isReason(view.reason ?? NO_REASON, reason)) &&
    (subscription === undefined || view.subscriptionIds.some((one) => one.startsWith(subscription)))
  );
}

function isReason(actual: string, given: string): boolean {
  return actual === given || actual.startsWith(`${given}:`);
}
