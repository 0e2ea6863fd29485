import { beforeEach, describe, expect, it } from 'vitest';
import { MAX_INVOCATION_MS } from '../../../shared/domain/retry/attempt-duration.ts';
import type { HealthWrites } from '../../../functions/deliver/context.ts';
import { healthWrites } from '../../../functions/deliver/health.ts';

let now: number;
let made: string[];
let writes: HealthWrites;

beforeEach(() => {
  now = 1_000_000;
  made = [];
  writes = healthWrites({ now: () => now });
});

/** Requests a change for an attempt that began `ago` milliseconds ago. */
const request = (name: string, ago: number, isSettled = true): Promise<void> =>
  writes.once(name, now - ago, () => {
    made.push(name);
    return Promise.resolve(isSettled);
  });

describe('a health change', () => {
  it('is made once for attempts that began before it was settled', async () => {
    await request('begin', 100);
    now += 1;
    await request('begin', 50);
    await request('begin', 2);
    expect(made).toEqual(['begin']);
  });

  it('is made again for an attempt that began afterwards, because it read a newer subscription', async () => {
    await request('begin', 100);
    now += 10;
    await request('begin', 5);
    expect(made).toEqual(['begin', 'begin']);
  });

  it('does not block a different change', async () => {
    await request('begin', 100);
    now += 1;
    await request('recover', 100);
    expect(made).toEqual(['begin', 'recover']);
  });

  it('that is in progress is not made a second time, whenever the attempt began', async () => {
    const { promise, resolve } = Promise.withResolvers<boolean>();
    const first = writes.once('recover', now - 100, () => promise);
    now += 10;
    await request('recover', 0);
    expect(made).toEqual([]);
    resolve(true);
    await first;
    await request('recover', 50);
    expect(made).toEqual([]);
  });

  it('that was not settled is made for the next attempt that requests it', async () => {
    await request('recover', 100, false);
    now += 1;
    await request('recover', 100);
    expect(made).toEqual(['recover', 'recover']);
  });

  it('that failed throws, and is made for the next attempt that requests it', async () => {
    const failing = writes.once('recover', now - 100, () => Promise.reject(new Error('DynamoDB is down')));
    await expect(failing).rejects.toThrow('DynamoDB is down');
    await request('recover', 100);
    expect(made).toEqual(['recover']);
  });

  it('is forgotten when no attempt from before it can be in flight', async () => {
    await request('begin', 100);
    now += MAX_INVOCATION_MS;
    await request('count', 0);
    await request('begin', MAX_INVOCATION_MS + 1);
    expect(made).toEqual(['begin', 'count']);
    now += 1;
    await request('recover', 0);
    await request('begin', MAX_INVOCATION_MS + 2);
    expect(made).toEqual(['begin', 'count', 'recover', 'begin']);
  });
});
