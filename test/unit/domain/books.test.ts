import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  type Books,
  booksOfMatch,
  booksOfMessage,
  EMPTY_BOOKS,
  isBalanced,
  NO_DELIVERIES,
  type StatusCounts,
  sumOfBooks,
  sumOfStatusCounts,
} from '../../../shared/domain/delivery/books.ts';
import type { Delivery } from '../../../shared/domain/delivery/delivery.ts';
import {
  addDuration,
  addTo,
  computePercentiles,
  noCounters,
} from '../../../shared/domain/delivery/statistics.ts';
import type { Status } from '../../../shared/domain/delivery/vocabulary.ts';
import { countOutcomes, sumOfOutcomes } from '../../../shared/domain/recovery/outcomes.ts';
import { aDelivery, aDeliveryKey, type DeliveryFields, SOME_TIME } from '../../support/delivery-builders.ts';

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
      const sending = booksOfMessage(
        { matched, filtered: 0, duplicates: 0, lastSubscriptionId: 's-5' },
        delivered,
      );
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

const histogramOf = (durations: readonly number[]) => {
  const histogram = new Map<number, number>();
  for (const duration of durations) addDuration(histogram, duration);
  return histogram;
};

/** From under a millisecond to ten years, evenly over the orders of magnitude. */
const durations = fc.array(
  fc.double({ min: -1, max: 11.5, noNaN: true }).map((power) => Math.floor(10 ** power)),
  { minLength: 1, maxLength: 300 },
);

describe('percentiles of durations', () => {
  it('are at most 12 % and half a millisecond from the exact ones', () => {
    fc.assert(
      fc.property(durations, (given) => {
        const sorted = given.map((duration) => Math.max(1, duration)).sort((one, other) => one - other);
        const found = computePercentiles(histogramOf(given));
        expect(found?.count).toBe(given.length);
        for (const [share, percentile] of [
          [0.5, found?.p50],
          [0.95, found?.p95],
          [0.99, found?.p99],
        ] as const) {
          const exact = sorted[Math.ceil(share * sorted.length) - 1] ?? Number.NaN;
          expect(Math.abs((percentile ?? Number.NaN) - exact)).toBeLessThanOrEqual(0.12 * exact + 0.5);
        }
      }),
    );
  });

  it('do not depend on the order of the durations', () => {
    const [slowFirst, slowLast] = [histogramOf([5000, 20, 20]), histogramOf([20, 20, 5000])];
    expect(computePercentiles(slowFirst)).toEqual(computePercentiles(slowLast));
    expect(computePercentiles(slowFirst)?.p50).toBeLessThan(23);
  });

  it('count a duration below zero, by clocks that differ, as one millisecond', () => {
    expect(computePercentiles(histogramOf([-40, 0, 1]))).toEqual({ count: 3, p50: 1, p95: 1, p99: 1 });
  });

  it('are undefined without durations', () => {
    expect(computePercentiles(new Map())).toBeUndefined();
  });

  it('need at most 60 buckets from a millisecond to ten minutes', () => {
    const all = Array.from({ length: 600_000 }, (_, duration) => duration + 1);
    expect(histogramOf(all).size).toBeLessThanOrEqual(60);
  });
});

describe('counters', () => {
  it('of statuses add up status by status', () => {
    const sum = sumOfStatusCounts(
      { ...NO_DELIVERIES, pending: 1, delivered: 2 },
      { ...NO_DELIVERIES, delivered: 3 },
    );
    expect(sum).toEqual({ ...NO_DELIVERIES, pending: 1, delivered: 5 });
  });

  it('add up as if everything had been counted at once', () => {
    fc.assert(
      fc.property(durations, durations, (some, others) => {
        const [total, more] = [noCounters(), noCounters()];
        for (const duration of some) addDuration(total.response, duration);
        for (const duration of others) addDuration(more.response, duration);
        total.counts.messages = some.length;
        more.counts.messages = others.length;
        more.counts.cancelled = 3;
        addTo(total, more);
        expect(total.response).toEqual(histogramOf([...some, ...others]));
        expect(total.counts).toEqual({
          ...noCounters().counts,
          messages: some.length + others.length,
          cancelled: 3,
        });
        expect(total.timeToDelivery.size).toBe(0);
      }),
    );
  });
});

const reopened = (status: Status, overrides: DeliveryFields = {}, subscriptionId = 's-1'): Delivery =>
  aDelivery({ key: aDeliveryKey({ subscriptionId }), status, recoveries: ['r-1'], ...overrides });

const retrying = (dueAt: number, overrides: DeliveryFields = {}) =>
  reopened('retrying', {
    next: { number: 2, phase: 'backoff', dueAt, by: 'sqs_delay' },
    ...overrides,
  });

const NONE = { total: 0, delivered: 0, failed: 0, open: 0 };

describe('the outcomes of a recovery', () => {
  it.each([
    ['delivered', { delivered: 1 }],
    ['exhausted', { failed: 1 }],
    ['rejected', { failed: 1 }],
    ['cancelled', { failed: 1 }],
    ['retrying', { open: 1, nextAttemptAt: SOME_TIME }],
    ['pending', { open: 1 }],
  ] as const)('count a reopened delivery that is %s as %j', (status, counted) => {
    expect(countOutcomes('r-1', [reopened(status)])).toEqual([
      { subscriptionId: 's-1', ...NONE, total: 1, ...counted },
    ]);
  });

  it('leave out deliveries that another recovery reopened, or none', () => {
    const skipped = reopened('exhausted', { recoveries: [] });
    const later = reopened('delivered', { recoveries: ['r-0', 'r-2'] });
    expect(countOutcomes('r-1', [skipped, later])).toEqual([]);
    expect(countOutcomes('r-0', [skipped, later])).toMatchObject([{ total: 1, delivered: 1 }]);
  });

  it('show the earliest next attempt of the open ones, when its request starts', () => {
    const all = [
      retrying(SOME_TIME + 9),
      retrying(SOME_TIME + 5),
      retrying(SOME_TIME, { slot: { at: SOME_TIME + 7 } }),
      // An ended delivery has no next attempt.
      reopened('cancelled'),
    ];
    expect(countOutcomes('r-1', all)).toEqual([
      { subscriptionId: 's-1', ...NONE, total: 4, failed: 1, open: 3, nextAttemptAt: SOME_TIME + 5 },
    ]);
    expect(countOutcomes('r-1', all.slice(2))).toMatchObject([{ nextAttemptAt: SOME_TIME + 7 }]);
  });

  it('are counted per subscription, and add up over pages', () => {
    const page = countOutcomes('r-1', [
      reopened('delivered'),
      reopened('delivered', {}, 's-2'),
      reopened('exhausted'),
    ]);
    const next = countOutcomes('r-1', [retrying(SOME_TIME), reopened('delivered')]);
    expect(sumOfOutcomes([...page, ...next])).toEqual([
      { subscriptionId: 's-1', total: 4, delivered: 2, failed: 1, open: 1, nextAttemptAt: SOME_TIME },
      { subscriptionId: 's-2', ...NONE, total: 1, delivered: 1 },
    ]);
  });
});
