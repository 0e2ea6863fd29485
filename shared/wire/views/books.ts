import * as z from 'zod';
import { type Books, BOOKS_FIGURES, isBalanced } from '../../domain/delivery/books.ts';
import { toRecord } from '../../domain/delivery/vocabulary.ts';
import { timeText, timeView } from '../fields.ts';

const count = z.int().min(0);

/** The reconciliation report of a time window or a part of it. */
export const booksViewSchema = z.object({
  queue: z.string(),
  since: timeView,
  until: timeView,
  books: z.object(toRecord(BOOKS_FIGURES, () => count)),
  /** Whether every expected delivery is recorded. */
  balances: z.boolean(),
  /** Of one page of several: the acceptance time of the last message that it counted. */
  countedUntil: timeView.exactOptional(),
});

export function booksView(
  { queue, since, until }: { queue: string; since: number; until: number },
  books: Books,
  countedUntil?: number,
): z.infer<typeof booksViewSchema> {
  return {
    queue,
    since: timeText(since),
    until: timeText(until),
    books,
    balances: isBalanced(books),
    ...(countedUntil !== undefined && { countedUntil: timeText(countedUntil) }),
  };
}
