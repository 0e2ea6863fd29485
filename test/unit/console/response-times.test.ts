import { describe, expect, it } from 'vitest';
import { quantile, responseTimes } from '../../../console/src/pages/subscription/response-time-series.ts';

describe('the response times of deliveries', () => {
  it('are those of the last attempts, in order of time', () => {
    const ended = (startedAt: string, durationMs: number, outcome: 'delivered' | 'failed') => ({
      lastAttempt: { number: 3, startedAt, outcome },
      durationMs,
    });
    const deliveries = [
      ended('2026-11-21T12:00:02.000Z', 20, 'delivered'),
      ended('2026-11-21T12:00:01.000Z', 10, 'failed'),
      {},
    ];
    expect(responseTimes(deliveries)).toEqual([
      { at: Date.UTC(2026, 10, 21, 12, 0, 1), durationMs: 10, succeeded: false },
      { at: Date.UTC(2026, 10, 21, 12, 0, 2), durationMs: 20, succeeded: true },
    ]);
  });

  it.each([
    [[5, 1, 3], 0.5, 3],
    [[1, 2, 3, 4], 0.5, 2],
    [Array.from({ length: 100 }, (_, index) => index + 1), 0.95, 95],
    [[7], 0.95, 7],
    [[], 0.5, 0],
  ])('of %j have the expected quantile %f', (values, share, value) => {
    expect(quantile(values, share)).toBe(value);
  });
});
