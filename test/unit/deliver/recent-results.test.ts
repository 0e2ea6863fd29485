import { beforeEach, describe, expect, it } from 'vitest';
import { recentResults, type RecentResults } from '../../../functions/deliver/recent-results.ts';

const BOUNDS = { windowMs: 30_000, most: 20 };

let now: number;
let results: RecentResults;

beforeEach(() => {
  now = 1_000_000;
  results = recentResults({ now: () => now });
});

const add = (
  isFailure: boolean,
  messageId: string,
  more: { version?: number; subscriptionId?: string } = {},
) =>
  results.add(
    { queue: 'orders', subscriptionId: more.subscriptionId ?? 's-1', messageId, bucket: 0 },
    { isFailure, startedAt: now, version: more.version },
    BOUNDS,
  );

describe('the latest results of a subscription', () => {
  it('count each delivery once, by its last result', () => {
    add(true, 'm-1');
    add(true, 'm-1');
    expect(add(true, 'm-2')).toEqual({ requests: 2, failures: 2 });
    expect(add(false, 'm-1')).toEqual({ requests: 2, failures: 1 });
  });

  it('are forgotten after the window', () => {
    add(true, 'm-1');
    now += 29_999;
    expect(add(true, 'm-2')).toEqual({ requests: 2, failures: 2 });
    now += 1;
    expect(add(true, 'm-3')).toEqual({ requests: 2, failures: 2 });
  });

  it('begin with a failure, unless the subscription is under pressure', () => {
    expect(add(false, 'm-1')).toEqual({ requests: 0, failures: 0 });
    expect(add(true, 'm-2')).toEqual({ requests: 1, failures: 1 });
    expect(add(false, 'm-1', { version: 7 })).toEqual({ requests: 1, failures: 0 });
    expect(add(true, 'm-2', { version: 7 })).toEqual({ requests: 2, failures: 1 });
  });

  it('begin anew with a version of the pressure, and ignore late ones of the version before', () => {
    add(true, 'm-1');
    now += 10;
    expect(add(true, 'm-2', { version: 7 })).toEqual({ requests: 1, failures: 1 });
    now -= 5;
    expect(add(true, 'm-3')).toEqual({ requests: 0, failures: 0 });
    now += 5;
    expect(add(true, 'm-4', { version: 7 })).toEqual({ requests: 2, failures: 2 });
  });

  it('are those of the last deliveries only', () => {
    for (let index = 0; index < 30; index += 1) add(true, `m-${index}`);
    expect(add(false, 'last')).toEqual({ requests: 20, failures: 19 });
  });

  it('are apart for each subscription, of ten thousand at most', () => {
    for (let index = 0; index <= 10_000; index += 1) add(true, 'm-1', { subscriptionId: `s-${index}` });
    expect(add(true, 'm-2', { subscriptionId: 's-1' })).toEqual({ requests: 2, failures: 2 });
    expect(add(true, 'm-2', { subscriptionId: 's-0' })).toEqual({ requests: 1, failures: 1 });
  });
});
