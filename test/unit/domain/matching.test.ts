import fc from 'fast-check';
import { describe, expect, it, vi } from 'vitest';
import { bucketsFor, chunksFor, hashToBucket, hashToChunk } from '../../../shared/domain/delivery/fan-out.ts';
import {
  listedAt,
  matchSubscriptions,
  toMatchContent,
  UnreadableFilterError,
  withOptions,
} from '../../../shared/domain/message/matching.ts';
import { parseContentFilter } from '../../../shared/domain/subscription/content-filter-schema.ts';
import { evaluateFilter, type FilterResult } from '../../../shared/domain/subscription/content-filter.ts';
import type { Subscription, SubscriptionOptions } from '../../../shared/domain/subscription/subscription.ts';
import { aSubscription } from '../../support/builders.ts';

const content = toMatchContent({ type: 'order.created', data: '{"total": 5}' });
const acceptance = { acceptedAt: 1000, listedAt: 990 };

const isAddressed = (more: Partial<Subscription>, of = content): boolean =>
  matchSubscriptions([aSubscription(more)], of, acceptance).matching.length === 1;

const isWanted = (options: SubscriptionOptions, of = content): boolean => isAddressed({ options }, of);

describe('matching subscriptions', () => {
  it('includes all subscriptions without options', () => {
    const all = [aSubscription({ id: 'a' }), aSubscription({ id: 'b' })];
    expect(matchSubscriptions(all, content, acceptance)).toEqual({
      matching: all,
      filtered: 0,
      undecided: [],
    });
  });

  it.each<[string, SubscriptionOptions, boolean]>([
    ['of its type', { event_types: ['order.deleted', 'order.created'] }, true],
    ['of another type', { event_types: ['order.deleted'] }, false],
    ['of a longer type', { event_types: ['order.created.late'] }, false],
    ['of the beginning of its type', { event_types: ['order'] }, false],
    ['of its type in capitals', { event_types: ['Order.Created'] }, false],
    ['with its content', { filter: { total: [5] } }, true],
    ['with other content', { filter: { total: [6] } }, false],
    ['of its type with its content', { event_types: ['order.created'], filter: { total: [5] } }, true],
    ['of its type with other content', { event_types: ['order.created'], filter: { total: [6] } }, false],
    ['of another type with its content', { event_types: ['x'], filter: { total: [5] } }, false],
  ])('for messages %s: %j gives %s', (_what, options, expected) => {
    expect(isWanted(options)).toBe(expected);
  });

  it('excludes subscriptions with event types from a message without a type', () => {
    const untyped = toMatchContent({ data: '{"total": 5}' });
    expect(isWanted({ event_types: ['order.created'] }, untyped)).toBe(false);
    expect(isWanted({ filter: { total: [5] } }, untyped)).toBe(true);
  });

  it.each<[string, Partial<Subscription>, boolean]>([
    ['was created just before', { createdAt: 990 }, true],
    ['was created later', { createdAt: 991 }, false],
    ['had expired', { expiresAt: 1000 }, false],
    ['expired later', { expiresAt: 1001 }, true],
    ['is disabled', { disabled: { reason: 'manual', at: 5 } }, true],
    ['was deleted before', { deletedAt: 990 }, false],
    ['was deleted later', { deletedAt: 991 }, true],
    ['had not confirmed', { unconfirmed: { tokenHash: 'x', at: 5 } }, false],
    ['was asked to confirm again later', { unconfirmed: { tokenHash: 'x', at: 991 } }, true],
    ['had confirmed', { confirmedAt: 990 }, true],
    ['confirmed later', { confirmedAt: 991 }, false],
    ['was deleted, and restored later', { restored: { deletedAt: 990, at: 991 } }, false],
    ['was deleted and restored before', { restored: { deletedAt: 989, at: 990 } }, true],
    ['was deleted and restored later', { restored: { deletedAt: 991, at: 992 } }, true],
  ])('of a subscription that %s gives %s', (_what, more, expected) => {
    expect(isAddressed(more)).toBe(expected);
  });

  it('counts as filtered only active subscriptions that select other messages', () => {
    const list = [
      aSubscription({ id: 'wants' }),
      aSubscription({ id: 'other-type', options: { event_types: ['x'] } }),
      aSubscription({ id: 'other-content', options: { filter: { total: [6] } } }),
      aSubscription({ id: 'gone', deletedAt: 5, options: { event_types: ['x'] } }),
      aSubscription({ id: 'expired', expiresAt: 5, options: { event_types: ['x'] } }),
      aSubscription({
        id: 'silent',
        unconfirmed: { tokenHash: 'x', at: 5 },
        options: { event_types: ['x'] },
      }),
    ];
    const { matching, filtered } = matchSubscriptions(list, content, acceptance);
    expect(matching.map(({ id }) => id)).toEqual(['wants']);
    expect(filtered).toBe(2);
  });

  it('parses the data once, and only for content filters', () => {
    const parse = vi.spyOn(JSON, 'parse');
    try {
      const data = '{"total": 7}';
      const message = toMatchContent({ data });
      const timesParsed = () => parse.mock.calls.filter(([text]) => text === data).length;
      matchSubscriptions(
        [aSubscription(), aSubscription({ options: { event_types: ['x'] } })],
        message,
        acceptance,
      );
      expect(timesParsed()).toBe(0);
      const filtering = aSubscription({ options: { filter: { total: [7] } } });
      matchSubscriptions([filtering, filtering, filtering], message, acceptance);
      matchSubscriptions([filtering], message, acceptance);
      expect(timesParsed()).toBe(1);
    } finally {
      parse.mockRestore();
    }
  });

  it('fails on an unreadable filter, so that the message is retried', () => {
    for (const filter of [{ total: [{ wildcard: '5*' }] }, null, 'text']) {
      expect(() => isWanted({ filter })).toThrow(UnreadableFilterError);
    }
  });
});

describe('changed options', () => {
  const before = aSubscription({ options: { filter: { total: [5] } } });

  it('apply to messages accepted later; earlier messages use the previous options', () => {
    const after = withOptions(before, { filter: { total: [6] } }, 991);
    expect(matchSubscriptions([after], content, { ...acceptance, listedAt: 990 }).matching).toEqual([after]);
    expect(matchSubscriptions([after], content, { ...acceptance, listedAt: 991 }).matching).toEqual([]);
  });

  it('keep an empty previous selection, which matches all messages', () => {
    const after = withOptions(aSubscription(), { event_types: ['x'] }, 991);
    expect(after.previousSelection).toEqual({ until: 991 });
    const all = { matching: [after], filtered: 0 };
    expect(matchSubscriptions([after], content, acceptance)).toMatchObject(all);
  });

  it('with the same selection keep the previous one', () => {
    const once = withOptions(before, { filter: { total: [6] } }, 991);
    const twice = withOptions(once, { filter: { total: [6] }, raw_delivery: true }, 2000);
    expect(twice.options).toEqual({ filter: { total: [6] }, raw_delivery: true });
    expect(twice.previousSelection).toEqual({ filter: { total: [5] }, until: 991 });
  });
});

describe('the time of a subscription list', () => {
  it('is the time of the read', () => {
    expect(listedAt(500, [aSubscription({ createdAt: 100, deletedAt: 400 })])).toBe(500);
  });

  it.each<Partial<Subscription>>([
    { createdAt: 600 },
    { confirmedAt: 600 },
    { deletedAt: 600 },
    { previousSelection: { until: 600 } },
  ])('is not before any change on the list, whose clock may run ahead: %j', (more) => {
    expect(listedAt(500, [aSubscription(), aSubscription(more)])).toBe(600);
  });
});

const LIMIT = 200_000;
const SHARED_LIMIT = 2_000_000;
const OWN = 1000;

/** A filter for nested objects that no element has, with about as many alternatives as a filter may contain. */
const alternatives = { a: { $or: Array.from({ length: 95 }, (_, index) => ({ [`k${index}`]: [0] })) } };
const prefixes = { a: Array.from({ length: 99 }, (_, index) => ({ prefix: `never-${index}` })) };

const listOf = (count: number, element: (index: number) => unknown) => ({
  a: Array.from({ length: count }, (_, index) => element(index)),
});

const judged = (filter: unknown, data: unknown, steps = LIMIT): FilterResult => {
  const parsed = parseContentFilter(filter);
  if (!parsed.ok) throw new Error(`refused: ${JSON.stringify(parsed.faults)}`);
  return evaluateFilter(parsed.filter, data, { steps, listsRead: new WeakMap() });
};

describe('the steps of a filter', () => {
  it.each<[string, unknown, unknown, number]>([
    ['a field and a value', { a: ['x'] }, { a: 'y' }, 2],
    ['an absent field', { a: ['x'] }, {}, 1],
    ['the fields up to the first that fails', { a: ['x'], b: ['x'] }, { a: 'y', b: 'x' }, 2],
    ['every nested field', { a: { b: { c: [1] } } }, { a: { b: { c: 1 } } }, 4],
    ['every distinct value of a list', { a: [{ prefix: 'x' }] }, { a: ['y', 'z', 'y', 'y', ['z']] }, 3],
    ['every text of a comparison', { a: [{ 'anything-but': { suffix: ['x', 'y'] } }] }, { a: 'x' }, 3],
    ['only the listed values if the data has more', { a: [1, 2] }, listOf(1000, (index) => -index), 3],
    ['values until one is not excluded', { a: [{ 'anything-but': [0, 1] }] }, listOf(1000, (i) => i), 4],
    ['every object of a list', { a: { b: [1] } }, listOf(7, () => ({ b: 2 })), 15],
    ['all elements without fields as one', { a: { b: [1] } }, { a: [1, 'x', null, {}, {}, [{}], 2] }, 2],
    ['every alternative', { $or: [{ a: [1] }, { b: [1] }] }, { b: 2 }, 3],
  ])('count %s', (_what, filter, data, steps) => {
    expect(judged(filter, data)).toMatchObject({ steps, isUndecided: false });
  });

  it('are the same for half a million elements without fields as for one', () => {
    const one = judged(alternatives, { a: [1] });
    expect(one).toEqual({ mismatch: 'a.$or', steps: 96, isUndecided: false });
    const texts = JSON.parse(`{"a":[${'{},'.repeat(340_000)}{}]}`) as unknown;
    const others = [listOf(500_000, () => 1), listOf(150_000, (index) => index), texts];
    for (const data of others) expect(judged(alternatives, data)).toEqual(one);
  });

  it.each<[string, unknown, unknown]>([
    ['alternatives on objects', alternatives, listOf(120_000, () => ({ b: 1 }))],
    ['prefixes on texts', prefixes, listOf(100_000, (index) => `${index}`)],
    [
      'alternatives on lists in lists of objects',
      { a: alternatives },
      listOf(300, () => listOf(8, () => ({ b: 1 }))),
    ],
  ])('end at their limit, and an undecided filter matches: %s', (_what, filter, data) => {
    expect(judged(filter, data)).toEqual({ mismatch: undefined, steps: LIMIT, isUndecided: true });
  });

  it('may all be used: a decision with the last step counts', () => {
    const data = listOf(7, () => ({ b: 2 }));
    expect(judged({ a: { b: [1] } }, data, 15)).toEqual({ mismatch: 'a.b', steps: 15, isUndecided: false });
    const undecided = { mismatch: undefined, steps: 14, isUndecided: true };
    expect(judged({ a: { b: [1] } }, data, 14)).toEqual(undecided);
  });

  it('do not change a mismatch found before they run out', () => {
    const data = listOf(7, () => ({ b: 2 }));
    const result = judged({ never: [1], a: { b: [1] } }, data, 1);
    expect(result).toMatchObject({ mismatch: 'never', isUndecided: false });
  });

  it('stay under a thousand on data without lists, even for the most expensive filter', () => {
    const chain = (inner: unknown): unknown =>
      Array.from({ length: 8 }).reduce<unknown>((nested) => ({ '': nested }), inner);
    const names = Array.from({ length: 70 }, (_, index) => index.toString(36));
    const filter = Object.fromEntries(names.map((name) => [name, chain({ '': [0] })]));
    const data = Object.fromEntries(names.map((name) => [name, chain({ '': 0 })]));
    const { mismatch, steps, isUndecided } = judged(filter, data);
    expect({ mismatch, isUndecided }).toEqual({ mismatch: undefined, isUndecided: false });
    expect(steps).toBeGreaterThan(700);
    expect(steps).toBeLessThan(OWN);
  });
});

describe('the subscriptions of a message', () => {
  const acceptance = { acceptedAt: 1000, listedAt: 990 };
  const heavy = JSON.stringify({ total: 5, ...listOf(120_000, () => ({ b: 1 })) });
  const asking = (id: string, filter: unknown): Subscription => aSubscription({ id, options: { filter } });
  const matched = (list: readonly Subscription[], data = heavy) =>
    matchSubscriptions(list, toMatchContent({ data }), acceptance);
  const idsOf = (list: readonly { id: string }[]): string[] => list.map(({ id }) => id);

  it('match and are reported if their filter is too expensive to evaluate', () => {
    const list = [
      asking('costly', alternatives),
      asking('no', { total: [6] }),
      asking('yes', { total: [5] }),
    ];
    const { matching, filtered, undecided } = matched(list);
    expect(idsOf(matching)).toEqual(['costly', 'yes']);
    expect(idsOf(undecided)).toEqual(['costly']);
    expect(filtered).toBe(1);
  });

  it('are the same on every repeat', () => {
    const list = Array.from({ length: 12 }, (_, index) => asking(`s-${index}`, alternatives));
    expect(matched(list)).toEqual(matched(list));
  });

  it('share a step budget, and cheap filters are decided even when it is used up', () => {
    // 180,001 steps each: the budget suffices for the first eleven.
    const data = JSON.stringify({ total: 5, ...listOf(90_000, () => ({ b: 1 })) });
    const filter = { a: { b: [2] } };
    const costly = Array.from({ length: 40 }, (_, index) => asking(`costly-${index}`, filter));
    const list = [...costly, asking('no', { total: [6] })];
    const { undecided, filtered } = matched(list, data);
    const decided = Math.floor(SHARED_LIMIT / (180_001 - OWN));
    expect(idsOf(undecided)).toEqual(idsOf(costly.slice(decided)));
    expect(filtered).toBe(decided + 1);
  });
});

const ids = (count: number): string[] => Array.from({ length: count }, (_, index) => `subscription-${index}`);
const id = fc.stringMatching(/^[A-Za-z0-9_-]{1,64}$/);

describe('the bucket count of a fan-out', () => {
  it.each([
    [0, 1],
    [1, 1],
    [250, 1],
    [251, 2],
    [500, 2],
    [501, 3],
    [10_000, 40],
  ])('for %i subscriptions is %i', (matched, buckets) => {
    expect(bucketsFor(matched)).toBe(buckets);
  });
});

describe('the chunk count of a bucket', () => {
  it.each([
    { deliveries: 2, buckets: 1, perChunk: 10, chunks: 1 },
    { deliveries: 10, buckets: 1, perChunk: 10, chunks: 1 },
    { deliveries: 11, buckets: 1, perChunk: 10, chunks: 2 },
    { deliveries: 250, buckets: 1, perChunk: 25, chunks: 10 },
    { deliveries: 251, buckets: 2, perChunk: 10, chunks: 13 },
    { deliveries: 3, buckets: 1, perChunk: 2, chunks: 2 },
  ])('is $chunks for $deliveries deliveries in $buckets buckets with $perChunk per chunk', (one) => {
    expect(chunksFor(one.deliveries, one.buckets, one.perChunk)).toBe(one.chunks);
  });

  it.each([
    ['no subscriptions', 0, 10],
    ['one subscription', 1, 10],
    ['a setting of one delivery per chunk', 100, 1],
  ])('is undefined for %s', (_, deliveries, perChunk) => {
    expect(chunksFor(deliveries, bucketsFor(deliveries), perChunk)).toBeUndefined();
  });

  it('is the smallest that keeps the average chunk within the limit', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 2, max: 20_000 }),
        fc.integer({ min: 2, max: 25 }),
        (deliveries, most) => {
          const buckets = bucketsFor(deliveries);
          const chunks = chunksFor(deliveries, buckets, most) ?? Number.NaN;
          expect(Number.isInteger(chunks)).toBe(true);
          expect(deliveries / buckets / chunks).toBeLessThanOrEqual(most);
          if (chunks > 1) expect(deliveries / buckets / (chunks - 1)).toBeGreaterThan(most);
        },
      ),
    );
  });
});

describe('the bucket and chunk of a subscription', () => {
  it.each([
    ['buckets', 40, (one: string) => hashToBucket(one, 40)],
    ['chunks', 25, (one: string) => hashToChunk(one, 25)],
    ...[2, 4, 6].map(
      (count) =>
        [
          `${count} buckets with as many chunks`,
          count * count,
          (one: string) => hashToBucket(one, count) * count + hashToChunk(one, count),
        ] as const,
    ),
  ] as const)('spread deliveries about evenly over %s', (_what, among, placeOf) => {
    const shares = Array.from({ length: among }, () => 0);
    for (const place of ids(among * 100).map(placeOf)) shares[place] = (shares[place] ?? 0) + 1;
    expect(shares).toHaveLength(among);
    expect(Math.min(...shares)).toBeGreaterThan(60);
    expect(Math.max(...shares)).toBeLessThan(150);
  });

  it('are within range and always the same', () => {
    fc.assert(
      fc.property(
        id,
        fc.integer({ min: 1, max: 400 }),
        fc.integer({ min: 1, max: 125 }),
        (one, buckets, chunks) => {
          const place = [hashToBucket(one, buckets), hashToChunk(one, chunks)];
          expect(place.every(Number.isInteger)).toBe(true);
          expect(place[0]).toBeGreaterThanOrEqual(0);
          expect(place[0]).toBeLessThan(buckets);
          expect(place[1]).toBeGreaterThanOrEqual(0);
          expect(place[1]).toBeLessThan(chunks);
          expect([hashToBucket(one, buckets), hashToChunk(one, chunks)]).toEqual(place);
        },
      ),
    );
  });

  it('are the same as in earlier releases, because stored records depend on them', () => {
    const known = ['0c', 'b6e1e5b2-3b66-4a43-9f2b-0a8c9a1d7e55', '_x-'];
    expect(known.map((one) => [hashToBucket(one, 40), hashToChunk(one, 25)])).toEqual([
      [11, 16],
      [37, 2],
      [27, 13],
    ]);
  });
});
