import { describe, expect, it } from 'vitest';
import { stalenessOf, type Freshness } from '../../../console/src/live/freshness.ts';

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
