import { describe, expect, it } from 'vitest';
import { matchSubscriptions, matchContentOf } from '../../../shared/domain/message/matching.ts';
import { parseContentFilter } from '../../../shared/domain/subscription/content-filter-schema.ts';
import { evaluateFilter, type FilterResult } from '../../../shared/domain/subscription/content-filter.ts';
import type { Subscription } from '../../../shared/domain/subscription/subscription.ts';
import { aSubscription } from '../../support/builders.ts';

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
    expect(
      judged(
        alternatives,
        listOf(500_000, () => 1),
      ),
    ).toEqual(one);
    expect(judged(alternatives, JSON.parse(`{"a":[${'{},'.repeat(340_000)}{}]}`))).toEqual(one);
    expect(
      judged(
        alternatives,
        listOf(150_000, (index) => index),
      ),
    ).toEqual(one);
  });

  it.each<[string, unknown, unknown]>([
    ['alternatives on objects', alternatives, listOf(120_000, () => ({ b: 1 }))],
    ['prefixes on texts', prefixes, listOf(100_000, (index) => `${index}`)],
    [
      'alternatives on lists in lists of objects',
      { a: alternatives },
      listOf(300, () => ({
        a: [{ b: 1 }, { b: 1 }, { b: 1 }, { b: 1 }, { b: 1 }, { b: 1 }, { b: 1 }, { b: 1 }],
      })),
    ],
  ])('end at their limit, and an undecided filter matches: %s', (_what, filter, data) => {
    expect(judged(filter, data)).toEqual({ mismatch: undefined, steps: LIMIT, isUndecided: true });
  });

  it('may all be used: a decision with the last step counts', () => {
    const data = listOf(7, () => ({ b: 2 }));
    expect(judged({ a: { b: [1] } }, data, 15)).toEqual({ mismatch: 'a.b', steps: 15, isUndecided: false });
    expect(judged({ a: { b: [1] } }, data, 14)).toEqual({
      mismatch: undefined,
      steps: 14,
      isUndecided: true,
    });
  });

  it('do not change a mismatch found before they run out', () => {
    const filter = { never: [1], a: { b: [1] } };
    expect(
      judged(
        filter,
        listOf(7, () => ({ b: 2 })),
        1,
      ),
    ).toMatchObject({ mismatch: 'never', isUndecided: false });
  });

  it('stay under a thousand on data without lists, even for the most expensive filter', () => {
    let filter: unknown = { a: [0] };
    const chain = (inner: unknown): unknown =>
      Array.from({ length: 8 }).reduce<unknown>((nested) => ({ '': nested }), inner);
    const names = Array.from({ length: 70 }, (_, index) => index.toString(36));
    filter = Object.fromEntries(names.map((name) => [name, chain({ '': [0] })]));
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
  const idsOf = (list: readonly { id: string }[]): string[] => list.map(({ id }) => id);

  it('match and are reported if their filter is too expensive to evaluate', () => {
    const list = [
      asking('costly', alternatives),
      asking('no', { total: [6] }),
      asking('yes', { total: [5] }),
    ];
    const { matching, filtered, undecided } = matchSubscriptions(
      list,
      matchContentOf({ data: heavy }),
      acceptance,
    );
    expect(idsOf(matching)).toEqual(['costly', 'yes']);
    expect(idsOf(undecided)).toEqual(['costly']);
    expect(filtered).toBe(1);
  });

  it('are the same on every repeat', () => {
    const list = Array.from({ length: 12 }, (_, index) => asking(`s-${index}`, alternatives));
    const judge = () => matchSubscriptions(list, matchContentOf({ data: heavy }), acceptance);
    expect(judge()).toEqual(judge());
  });

  it('share a step budget, and cheap filters are decided even when it is used up', () => {
    // 180,001 steps each: the budget suffices for the first eleven.
    const data = JSON.stringify({ total: 5, ...listOf(90_000, () => ({ b: 1 })) });
    const filter = { a: { b: [2] } };
    const costly = Array.from({ length: 40 }, (_, index) => asking(`costly-${index}`, filter));
    const list = [...costly, asking('no', { total: [6] })];
    const { undecided, filtered } = matchSubscriptions(list, matchContentOf({ data }), acceptance);
    const decided = Math.floor(SHARED_LIMIT / (180_001 - OWN));
    expect(idsOf(undecided)).toEqual(idsOf(costly.slice(decided)));
    expect(filtered).toBe(decided + 1);
  });
});
