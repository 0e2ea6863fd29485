import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { findStaleness, type Freshness } from '../../../console/src/live/page-context.tsx';
import { startPoller, toComparable } from '../../../console/src/live/use-live.ts';
import { pollInterval } from '../../../shared/domain/retry/poll-interval.ts';

describe('startPoller', () => {
  beforeEach(() => {
    vi.useFakeTimers();
  });

  afterEach(() => {
    vi.useRealTimers();
  });

  const polling = (answers: (boolean | Error)[], { once = false } = {}) => {
    const polls: number[] = [];
    const failures: unknown[] = [];
    const due: number[] = [];
    let hidden = false;
    const begun = Date.now();
    const poller = startPoller({
      interval: pollInterval({ floor: 1, ceiling: 8, exponent: 2 }),
      once,
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
    const hide = (next: boolean) => (hidden = next);
    return { ...poller, polls, failures, due, hide };
  };

  it('polls less and less often without changes, and often again after a change', async () => {
    const { polls } = polling([true, false, false, false, true]);
    await vi.advanceTimersByTimeAsync(20_000);
    expect(polls).toEqual([0, 1, 3, 7, 15, 16, 18]);
  });

  it('polls at once when it is woken, and once more if a poll that may be outdated is under way', async () => {
    const { polls, wake } = polling([]);
    await vi.advanceTimersByTimeAsync(4000);
    wake();
    wake();
    wake();
    expect(polls).toEqual([0, 2, 4]);
    await vi.advanceTimersByTimeAsync(2000);
    expect(polls).toEqual([0, 2, 4, 4, 6]);
  });

  it('takes no age for a change', () => {
    expect(toComparable([{ id: 'a', age: 2 }])).toBe(toComparable([{ id: 'a', age: 1 }]));
    expect(toComparable([{ id: 'a' }])).not.toBe(toComparable([{ id: 'b' }]));
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

  it('loads what hardly changes once, after failures again, and when it is woken', async () => {
    const { polls, wake } = polling([new RangeError('busy'), true, true], { once: true });
    await vi.advanceTimersByTimeAsync(60_000);
    expect(polls).toEqual([0, 2]);
    wake();
    await vi.advanceTimersByTimeAsync(60_000);
    expect(polls).toEqual([0, 2, 60]);
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

describe('findStaleness', () => {
  const milliseconds = (seconds: number | undefined) => seconds && seconds * 1_000;
  /** Times of a value, in seconds from now. */
  const times = (readAt: number | undefined, dueAt: number | undefined) => ({
    readAt: milliseconds(readAt),
    dueAt: milliseconds(dueAt),
  });
  const polled = (...at: Parameters<typeof times>): Freshness => ({ ...times(...at), failed: false });
  const failed = (...at: Parameters<typeof times>): Freshness => ({ ...times(...at), failed: true });

  it.each<[string, Freshness[], object | undefined]>([
    ['nothing while every value is polled in time', [polled(-2, 6), polled(-2, -10)], undefined],
    ['nothing of no value', [], undefined],
    [
      'the oldest that fails, and the first retry',
      [failed(-60, 8), failed(-90, 9), polled(-120, 6)],
      times(-90, 8),
    ],
    ['a poll long overdue, as after a sleep of the machine', [polled(-3600, -3590)], times(-3600, -3590)],
    ['no retry after a failure that none follows', [failed(-2, undefined)], times(-2, undefined)],
    ['nothing that was never read: its failure says it all', [failed(undefined, 6)], undefined],
  ])('tells %s', (_, values, stale) => {
    expect(findStaleness(values, 0)).toEqual(stale);
  });
});
