import { describe, expect, it } from 'vitest';
import type { RecoveryOutcomes } from '../../../shared/domain/recovery/outcomes.ts';
import { isOver, progressText, type Look } from '../../../cli/commands/recover/follow-recovery.ts';

const START = Date.UTC(2026, 0, 2);
const MINUTE = 60_000;

const outcomes = (delivered: number, failed: number, open: number, nextAttemptAt?: number) => ({
  subscriptionId: 's-1',
  total: delivered + failed + open,
  delivered,
  failed,
  open,
  ...(nextAttemptAt !== undefined && { nextAttemptAt }),
});

const look = (at: number, seen: readonly RecoveryOutcomes[] | undefined, state = 'completed'): Look => ({
  at: START + at,
  outcomes: seen,
  recovery: {
    id: 'r1',
    queue: 'orders',
    since: '',
    until: '',
    state: state as Look['recovery']['state'],
    found: 7,
    reopened: 5,
    skipped: { open: 2 },
    createdAt: '',
    updatedAt: '',
  },
});

describe('the progress of a recovery', () => {
  it('estimates the time left from the pace since the first look', () => {
    const first = look(0, [outcomes(0, 0, 1_200)]);
    expect(progressText(first, look(2 * MINUTE, [outcomes(480, 20, 700)]))).toBe(
      '480 of 1,200 delivered, 20 failed again, about 2 min left',
    );
    expect(progressText(first, look(5 * MINUTE, [outcomes(500, 0, 700)]))).toBe(
      '500 of 1,200 delivered, about 7 min left',
    );
  });

  it('does not count what had ended before the first look', () => {
    const first = look(0, [outcomes(1_000, 0, 200)]);
    expect(progressText(first, look(MINUTE, [outcomes(1_100, 0, 100)]))).toContain('about 1 min left');
  });

  it('waits at least for the planned attempts of every subscription', () => {
    const first = look(0, [outcomes(0, 0, 10)]);
    const later = [
      outcomes(8, 0, 1, START + 3 * MINUTE),
      { ...outcomes(0, 0, 1, START + 3 * 60 * MINUTE), subscriptionId: 's-2' },
    ];
    expect(progressText(first, look(MINUTE, later))).toBe('8 of 10 delivered, about 2 h left');
  });

  it('shows the next attempt as long as there is no pace', () => {
    const seen = [outcomes(3, 0, 7, START + 40_000)];
    expect(progressText(look(0, seen), look(10_000, seen))).toBe('3 of 10 delivered, next attempt in 30 s');
    expect(progressText(look(0, seen), look(MINUTE, seen))).toBe('3 of 10 delivered');
    expect(progressText(look(0, [outcomes(0, 0, 2)]), look(MINUTE, [outcomes(0, 0, 2)]))).toBe(
      '0 of 2 delivered',
    );
  });

  it('makes no estimate while the recovery still looks for deliveries', () => {
    const first = look(0, [outcomes(0, 0, 10)], 'running');
    const next = look(MINUTE, [outcomes(20, 0, 10)], 'running');
    expect(progressText(first, next)).toBe('20 of 30 delivered, looking for more');
  });

  it('shows the counts of the recovery where the outcomes are not known', () => {
    const unknown = look(0, undefined, 'running');
    expect(progressText(unknown, unknown)).toBe('7 found, 5 reopened, 2 skipped');
  });

  it('is over when the recovery has ended and nothing is open', () => {
    expect(isOver(look(0, [outcomes(1, 1, 0)]))).toBe(true);
    expect(isOver(look(0, [outcomes(1, 1, 0)], 'stopped'))).toBe(true);
    expect(isOver(look(0, [outcomes(1, 1, 1)]))).toBe(false);
    expect(isOver(look(0, [], 'running'))).toBe(false);
    expect(isOver(look(0, undefined))).toBe(true);
  });
});
