import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { startPoller } from '../../../console/src/live/poller.ts';
import { pollInterval } from '../../../shared/domain/retry/poll-interval.ts';

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

describe('startPoller', () => {
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
