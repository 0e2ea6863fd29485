import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  booksOfMatch,
  booksOfMessage,
  EMPTY_BOOKS,
  isBalanced,
  NO_DELIVERIES,
  type Books,
  type StatusCounts,
  sumOfBooks,
} from '../../../shared/domain/delivery/books.ts';

const count = fc.nat({ max: 1000 });
const counts: fc.Arbitrary<StatusCounts> = fc.record({
  pending: count,
  retrying: count,
  delivered: count,
  rejected: count,
  exhausted: count,
  cancelled: count,
});
const message = fc.record({ matched: count, filtered: count, duplicates: count });
const books = fc.tuple(message, counts).map(([one, standing]) => booksOfMessage(one, standing));

const sumOf = (all: readonly Books[]): Books => all.reduce(sumOfBooks, EMPTY_BOOKS);

describe('the reconciliation report', () => {
  it('of a message counts its matches and the statuses of its deliveries', () => {
    expect(
      booksOfMessage(
        { matched: 9, filtered: 2, duplicates: 1 },
        { pending: 1, retrying: 2, delivered: 3, rejected: 1, exhausted: 1, cancelled: 1 },
      ),
    ).toEqual({
      accepted: 1,
      duplicates: 1,
      matched: 9,
      unmatched: 0,
      unfinished: 0,
      filtered: 2,
      delivered: 3,
      rejected: 1,
      exhausted: 1,
      cancelled: 1,
      pending: 3,
    });
  });

  it('counts a message that no subscription matched', () => {
    const none = booksOfMessage({ matched: 0, filtered: 4, duplicates: 0 }, NO_DELIVERIES);
    expect(none).toEqual({ ...EMPTY_BOOKS, accepted: 1, unmatched: 1, filtered: 4 });
    expect(isBalanced(none)).toBe(true);
  });

  it.each([
    ['delivered', { matched: 1, delivered: 1 }],
    ['rejected', { matched: 1, rejected: 1 }],
    ['exhausted', { matched: 1, exhausted: 1 }],
    ['cancelled', { matched: 1, cancelled: 1 }],
    ['pending', { matched: 1, pending: 1 }],
    ['retrying', { matched: 1, pending: 1 }],
    ['filtered', { unmatched: 1, filtered: 1 }],
    ['unmatched', { unmatched: 1 }],
  ] as const)('of one subscription counts a message that is %s, and balances', (match, counted) => {
    const one = booksOfMatch({ duplicates: 2 }, match);
    expect(one).toEqual({ ...EMPTY_BOOKS, accepted: 1, duplicates: 2, ...counted });
    expect(isBalanced(one)).toBe(true);
  });

  it('of one subscription does not balance while a delivery may be missing', () => {
    const one = booksOfMatch({ duplicates: 0 }, 'unfinished');
    expect(one).toEqual({ ...EMPTY_BOOKS, accepted: 1, unfinished: 1 });
    expect(isBalanced(one)).toBe(false);
  });

  it('does not balance until a message was sent to all subscriptions', () => {
    for (const matched of [0, 3]) {
      const delivered = { ...NO_DELIVERIES, delivered: matched };
      const sending = booksOfMessage({ matched, filtered: 0, duplicates: 0, until: 's-5' }, delivered);
      expect(sending).toEqual({ ...EMPTY_BOOKS, accepted: 1, matched, delivered: matched, unfinished: 1 });
      expect(isBalanced(sending)).toBe(false);
    }
  });

  it('of a whole is the sum of its parts for any split', () => {
    fc.assert(
      fc.property(fc.array(books, { maxLength: 30 }), fc.nat({ max: 30 }), (all, at) => {
        expect(sumOfBooks(sumOf(all.slice(0, at)), sumOf(all.slice(at)))).toEqual(sumOf(all));
        expect(sumOf(all.toReversed())).toEqual(sumOf(all));
      }),
    );
  });

  it('balances if every matched delivery is recorded, with any status', () => {
    fc.assert(
      fc.property(counts, count, (standing, filtered) => {
        const matched = Object.values(standing).reduce((sum, one) => sum + one, 0);
        const balanced = booksOfMessage({ matched, filtered, duplicates: 0 }, standing);
        expect(isBalanced(balanced)).toBe(true);
        expect(isBalanced({ ...balanced, matched: matched + 1 })).toBe(false);
      }),
    );
  });
});
