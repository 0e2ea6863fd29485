import { beforeEach, describe, expect, it } from 'vitest';
import { ANY_INVOCATION_MS } from '../../../shared/domain/delivery/lease.ts';
import type { HealthNotes } from '../../../functions/deliver/context.ts';
import { healthNotes } from '../../../functions/deliver/health.ts';

let now: number;
let made: string[];
let notes: HealthNotes;

beforeEach(() => {
  now = 1_000_000;
  made = [];
  notes = healthNotes({ now: () => now });
});

/** A change that is settled, or not, by an attempt that began so many milliseconds ago. */
const note = (name: string, ago: number, isSettled = true): Promise<void> =>
  notes.once(name, now - ago, () => {
    made.push(name);
    return Promise.resolve(isSettled);
  });

describe('a change', () => {
  it('is made once for attempts that began before it was settled', async () => {
    await note('begin', 100);
    now += 1;
    await note('begin', 50);
    await note('begin', 2);
    expect(made).toEqual(['begin']);
  });

  it('is made again for an attempt that began after: it had another reading to go by', async () => {
    await note('begin', 100);
    now += 10;
    await note('begin', 5);
    expect(made).toEqual(['begin', 'begin']);
  });

  it('stands in the way of no other', async () => {
    await note('begin', 100);
    now += 1;
    await note('recover', 100);
    expect(made).toEqual(['begin', 'recover']);
  });

  it('that is under way is not made a second time, whenever the attempt began', async () => {
    const { promise, resolve } = Promise.withResolvers<boolean>();
    const first = notes.once('recover', now - 100, () => promise);
    now += 10;
    await note('recover', 0);
    expect(made).toEqual([]);
    resolve(true);
    await first;
    await note('recover', 50);
    expect(made).toEqual([]);
  });

  it('that was not settled is made by the next who asks for it', async () => {
    await note('recover', 100, false);
    now += 1;
    await note('recover', 100);
    expect(made).toEqual(['recover', 'recover']);
  });

  it('that failed is made by the next who asks for it, and whoever made it is told', async () => {
    const failing = notes.once('recover', now - 100, () => Promise.reject(new Error('DynamoDB is down')));
    await expect(failing).rejects.toThrow('DynamoDB is down');
    await note('recover', 100);
    expect(made).toEqual(['recover']);
  });

  it('is forgotten when no attempt from before it can be under way', async () => {
    await note('begin', 100);
    now += ANY_INVOCATION_MS;
    await note('count', 0);
    await note('begin', ANY_INVOCATION_MS + 1);
    expect(made).toEqual(['begin', 'count']);
    now += 1;
    await note('recover', 0);
    await note('begin', ANY_INVOCATION_MS + 2);
    expect(made).toEqual(['begin', 'count', 'recover', 'begin']);
  });
});
