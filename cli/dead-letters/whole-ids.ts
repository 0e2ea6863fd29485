import type { RedrivenQueue } from '../../shared/domain/work-queues.ts';
import type { DeadLetterDetail } from '../../shared/wire/views/console.ts';
import { Problem } from '../../local/install/problem.mjs';
import { DEAD_LETTERS_OF } from './dead-letter-access.ts';
import { detailOf } from './describe.ts';
import { type DeadLetterFilter, WHOLE_ID, lookThrough } from './look.ts';
import type { DeadLetterPorts } from './process-dead-letters.ts';
import { hiddenFields, hiddenSentence } from './run-text.ts';

/** No visible dead letter, or several, have the given id. */
export class NoSuchDeadLetter extends Problem {}

/**
 * The filter with whole ids in place of their beginnings.
 * @throws NoSuchDeadLetter for a beginning that no dead letter has, or several
 */
export async function withWholeIds(
  ports: DeadLetterPorts,
  which: RedrivenQueue,
  filter: DeadLetterFilter,
  signal: AbortSignal,
): Promise<DeadLetterFilter> {
  const { id: starts } = filter;
  if (starts === undefined || starts.every(({ length }) => length >= WHOLE_ID)) return filter;
  const { items, result } = await lookThrough(
    ports,
    { which, filter: { id: starts }, signal },
    (deadLetters) => Promise.resolve(deadLetters.map(({ id }) => id)),
  );
  return { ...filter, id: starts.map((start) => onlyOne(items, which, start, result.hidden)) };
}

/**
 * A whole dead letter by the beginning of its id.
 * @throws NoSuchDeadLetter if there is none, or several
 */
export async function findDeadLetter(
  ports: DeadLetterPorts,
  which: RedrivenQueue,
  start: string,
  signal: AbortSignal,
): Promise<DeadLetterDetail> {
  const request = { which, filter: { id: [start] }, limit: start.length >= WHOLE_ID ? 1 : 2, signal };
  const { items, result } = await lookThrough(ports, request, (deadLetters) =>
    Promise.resolve(deadLetters.map((deadLetter) => detailOf(which, deadLetter))),
  );
  signal.throwIfAborted();
  const ids = items.map(({ id }) => id);
  const id = onlyOne(ids, which, start, result.hidden);
  const found = items.find((one) => one.id === id);
  if (found === undefined) throw new TypeError(`no dead letter ${id}`);
  return found;
}

function onlyOne(ids: readonly string[], which: RedrivenQueue, start: string, hidden: number): string {
  const [first, second] = ids.filter((id) => id.startsWith(start));
  if (first === undefined) {
    const unseen = hiddenSentence(hiddenFields(hidden, Date.now()));
    throw new NoSuchDeadLetter(
      `None of the ${DEAD_LETTERS_OF[which]} has an id that starts with ${start}.${unseen === undefined ? '' : ` ${unseen}`}`,
    );
  }
  if (second !== undefined)
    throw new NoSuchDeadLetter(
      `Several ${DEAD_LETTERS_OF[which]} have ids that start with ${start}, such as ${first} and ${second}. Give more of the id.`,
    );
  return first;
}
