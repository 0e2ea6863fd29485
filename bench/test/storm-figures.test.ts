import { describe, expect, it } from 'vitest';
import {
  brokenIn,
  drainOf,
  firstDueAt,
  mostWithin,
  retriedOf,
  waitsOf,
  type Request,
} from '../storm/figures.ts';

const request = (id: string, at: number, statusCode = 200): Request => ({
  id,
  at,
  answeredAt: at + 500,
  statusCode,
});

/** Due ten seconds after the first answer. */
const retried = (ids: string[], ...requests: Request[]) =>
  retriedOf(ids, requests, ({ answeredAt }) => answeredAt + 9_500);

describe('the most times within a window', () => {
  it.each([
    [[], 0],
    [[5], 1],
    [[0, 999, 1_000, 1_001], 3],
    [[0, 1_000, 2_000], 1],
    [[1_500, 0, 700, 900, 1_400], 4],
  ])('of %j in a second is %d', (times, most) => {
    expect(mostWithin(times, 1_000)).toBe(most);
  });
});

describe('messages that were to be tried again', () => {
  it('are kept when each got its answer, and none before it was due', () => {
    const all = retried(['a', 'b'], request('a', 0, 503), request('b', 3, 503), request('a', 10_000));
    expect(brokenIn(all)).toEqual({ lost: 1, early: 0 });
    expect(brokenIn(all.slice(0, 1))).toEqual({ lost: 0, early: 0 });
    expect(firstDueAt(all)).toBe(10_000);
  });

  it('are lost when nothing but failures came back, or nobody was ever asked', () => {
    const all = retried(['a', 'b'], request('a', 0, 503), request('a', 10_000, 500));
    expect(brokenIn(all)).toEqual({ lost: 2, early: 0 });
  });

  it('were early when they came a moment before', () => {
    expect(brokenIn(retried(['a'], request('a', 0, 503), request('a', 9_999)))).toEqual({
      lost: 0,
      early: 1,
    });
  });
});

describe('a drain', () => {
  it('is timed from when the first was due until the last was answered', () => {
    const all = retried(
      ['a', 'b', 'c'],
      ...[request('a', 0, 503), request('b', 1_000, 503), request('c', 1_000, 503)],
      ...[request('a', 10_000), request('b', 11_400), request('c', 12_300), request('c', 13_000)],
    );
    expect(drainOf(all, 2)).toEqual({
      retries: 4,
      repeated: 1,
      dueWithin: 1,
      seconds: 3.5,
      idealSeconds: 2,
      perSecond: 2,
      mostInOneSecond: 2,
      mostInTenSeconds: 0.4,
    });
  });

  it('cannot be faster than retries become due, nor than they may be made', () => {
    const due = (...times: number[]) => times.map((dueAt) => ({ dueAt, retries: [request('a', dueAt)] }));
    expect(drainOf(due(0, 0, 0, 0), 4).idealSeconds).toBe(1);
    expect(drainOf(due(0, 0, 0, 10_000), 4).idealSeconds).toBe(10.25);
    expect(drainOf(due(0, 9_900, 9_900, 10_000), 4).idealSeconds).toBe(10.65);
  });

  it('is nothing to speak of where nothing was tried again', () => {
    expect(() => drainOf(retried(['a'], request('a', 0, 503)), 1)).toThrow(RangeError);
  });
});

describe('waits', () => {
  it('are told by what half and nearly all of them did not exceed', () => {
    const hundred = Array.from({ length: 100 }, (_, index) => 100 - index);
    expect(waitsOf(hundred)).toEqual({ messages: 100, p50: 50, p99: 99 });
    expect(waitsOf([1, Infinity])).toEqual({ messages: 2, p50: 1, p99: Infinity });
  });
});
