import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { limitConcurrency } from '../../../console/src/api/page-client.ts';
import { type Freshness, stalenessOf } from '../../../console/src/live/console-context.tsx';
import { startPoller } from '../../../console/src/live/use-live.ts';
import { pollInterval } from '../../../shared/domain/retry/poll-interval.ts';

describe('startPoller', () => {
  beforeEach(() => {
    vi.useFakeTimers();
  });

  afterEach(() => {
    vi.useRealTimers();
  });

  const polling = (answers: (boolean | Error)[]) => {
    const polls: number[] = [];
    const failures: unknown[] = [];
    const due: number[] = [];
    let hidden = false;
    const begun = Date.now();
    const poller = startPoller({
      interval: pollInterval({ floor: 1, ceiling: 8, exponent: 2 }),
      poll: () => {
        polls.push((Date.now() - begun) / 1000);
        const answer = answers.shift() ?? false;
        return answer instanceof Error ? Promise.reject(answer) : Promise.resolve(answer);
      },
      onFailure: (failure) => failures.push(failure),
      isTransient: (failure) => failure instanceof RangeError,
      isHidden: () => hidden,
      onSchedule: (dueAt) => due.push((dueAt - begun) / 1000),
    });
    return {
      ...poller,
      polls,
      failures,
      due,
      hide: (next: boolean) => {
        hidden = next;
      },
    };
  };

  it('polls less and less often without changes, and often again after a change', async () => {
    const { polls } = polling([true, false, false, false, true]);
    await vi.advanceTimersByTimeAsync(20_000);
    expect(polls).toEqual([0, 1, 3, 7, 15, 16, 18]);
  });

  it('polls at once when it is woken, and never twice at the same time', async () => {
    const { polls, wake } = polling([]);
    await vi.advanceTimersByTimeAsync(4000);
    wake();
    wake();
    await vi.advanceTimersByTimeAsync(2000);
    expect(polls).toEqual([0, 2, 4, 6]);
  });

  it('reports a failure and continues, unless the failure is permanent', async () => {
    const passing = new RangeError('busy');
    const lasting = new Error('not the page');
    const { polls, failures, due } = polling([passing, lasting]);
    await vi.advanceTimersByTimeAsync(60_000);
    expect(failures).toEqual([passing, lasting]);
    expect(polls).toEqual([0, 2]);
    expect(due).toEqual([2]);
  });

  it('does not poll while the page is hidden, nor after it was stopped', async () => {
    const { polls, hide, wake, stop } = polling([]);
    hide(true);
    await vi.advanceTimersByTimeAsync(30_000);
    expect(polls).toEqual([0]);
    hide(false);
    wake();
    stop();
    await vi.advanceTimersByTimeAsync(30_000);
    expect(polls).toEqual([0, 30]);
  });
});

const NOW = Date.UTC(2026, 10, 21, 12);

const polled = (more: Partial<Freshness> = {}): Freshness => ({
  readAt: NOW - 2_000,
  failed: false,
  dueAt: NOW + 6_000,
  ...more,
});

describe('stalenessOf', () => {
  it('is undefined while every value is polled in time', () => {
    expect(stalenessOf([polled(), polled({ dueAt: NOW - 10_000 })], NOW)).toBeUndefined();
    expect(stalenessOf([], NOW)).toBeUndefined();
  });

  it('tells the oldest value that fails, and the first retry', () => {
    const failing = [
      polled({ failed: true, readAt: NOW - 60_000, dueAt: NOW + 8_000 }),
      polled({ failed: true, readAt: NOW - 90_000, dueAt: NOW + 9_000 }),
      polled({ readAt: NOW - 120_000 }),
    ];
    expect(stalenessOf(failing, NOW)).toEqual({ readAt: NOW - 90_000, dueAt: NOW + 8_000 });
  });

  it('counts a poll that is long overdue, as after the sleep of the machine', () => {
    const overdue = polled({ readAt: NOW - 3_600_000, dueAt: NOW - 3_590_000 });
    expect(stalenessOf([overdue], NOW)).toEqual({ readAt: NOW - 3_600_000, dueAt: NOW - 3_590_000 });
  });

  it('names no retry after a failure that none follows', () => {
    expect(stalenessOf([polled({ failed: true, dueAt: undefined })], NOW)).toEqual({
      readAt: NOW - 2_000,
      dueAt: undefined,
    });
  });

  it('leaves out what was never read: its failure says it all', () => {
    expect(stalenessOf([polled({ readAt: undefined, failed: true })], NOW)).toBeUndefined();
  });
});

describe('limitConcurrency', () => {
  it('runs no more than the given number of tasks at once, and starts them in order', async () => {
    const slots = limitConcurrency(2);
    const begun: number[] = [];
    const ends: (() => void)[] = [];
    let most = 0;
    let running = 0;
    const all = Array.from({ length: 5 }, (_, index) =>
      slots(async () => {
        begun.push(index);
        running += 1;
        most = Math.max(most, running);
        await new Promise<void>((resolve) => void ends.push(resolve));
        running -= 1;
        return index;
      }),
    );
    for (let ended = 0; ended < 5; ended += 1) {
      await new Promise((resolve) => setImmediate(resolve));
      ends.shift()?.();
    }
    expect(await Promise.all(all)).toEqual([0, 1, 2, 3, 4]);
    expect(begun).toEqual([0, 1, 2, 3, 4]);
    expect(most).toBe(2);
  });

  it('frees the slot of a failed task, and does not start an aborted one', async () => {
    const slots = limitConcurrency(1);
    const given = new AbortController();
    given.abort();
    const failing = slots(() => Promise.reject(new Error('no')));
    const givenUp = slots(() => Promise.resolve('begun'), given.signal);
    const next = slots(() => Promise.resolve('done'));
    await expect(failing).rejects.toThrow('no');
    await expect(givenUp).rejects.toThrow(/abort/i);
    expect(await next).toBe('done');
  });
});
