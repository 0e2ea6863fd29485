import { describe, expect, it } from 'vitest';
import type { Attempt, Wait } from '../../../shared/domain/delivery/attempt.ts';
import type { NextAttempt } from '../../../shared/domain/delivery/delivery.ts';
import { listWaits, totalWaits, waitedUntil, withWaits } from '../../../shared/domain/delivery/waits.ts';
import { aDelivery, anAttempt, SOME_TIME } from '../../support/delivery-builders.ts';

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const ACCEPTED = SOME_TIME - 10 * MINUTE;

const rate = (ms: number): Wait => ({ reason: 'rate_limited', ms });
const lag = (ms: number): Wait => ({ reason: 'lag', ms });
const next = (more: Partial<NextAttempt> = {}): NextAttempt => ({
  number: 1,
  phase: 'initial',
  dueAt: SOME_TIME,
  by: 'sqs_delay',
  ...more,
});

describe('the waits of the next attempt', () => {
  const since = SOME_TIME - MINUTE;
  const waiting = { next: next({ waitingSince: since }), slot: { at: SOME_TIME + 750 } };

  it('end with the slot, and the rest is lag', () => {
    const again = withWaits(next(), waiting, SOME_TIME + 5_750, SOME_TIME + 5_750);
    expect(again).toEqual(
      next({ waited: [rate(MINUTE + 750), lag(5 * SECOND)], waitingSince: SOME_TIME + 5_750 }),
    );
  });

  it('end before the slot if the delivery moves up', () => {
    expect(withWaits(next(), waiting, SOME_TIME - 20 * SECOND)).toEqual(
      next({ waited: [rate(40 * SECOND)] }),
    );
  });

  it('are one for each reason, and the reason is that of the slot', () => {
    const held = {
      next: next({ waited: [rate(7), lag(2)], waitingSince: since }),
      slot: { at: SOME_TIME, reason: 'circuit_open' },
    } as const;
    expect(waitedUntil(held, SOME_TIME).waited).toEqual([
      rate(7),
      lag(2),
      { reason: 'circuit_open', ms: MINUTE },
    ]);
    const limited = { ...held, slot: { at: SOME_TIME } };
    expect(waitedUntil(limited, SOME_TIME).waited).toEqual([rate(MINUTE + 7), lag(2)]);
  });

  it('are unknown where an earlier version recorded the wait', () => {
    expect(waitedUntil({ next: next(), slot: { at: SOME_TIME } }, SOME_TIME)).toEqual({});
  });

  it('have the lag of a retry that woke up late before it had to wait', () => {
    const late = { next: next({ number: 2 }) };
    expect(
      withWaits(next({ number: 2 }), late, SOME_TIME + 3 * SECOND, SOME_TIME + 3 * SECOND),
    ).toMatchObject({ waited: [lag(3 * SECOND)] });
  });

  it('are those of a pull subscription from the due time on, without lag', () => {
    const pulled = { next: next({ by: 'pull' }) };
    expect(waitedUntil(pulled, SOME_TIME + MINUTE).waited).toEqual([{ reason: 'pull', ms: MINUTE }]);
    expect(waitedUntil(pulled, SOME_TIME - MINUTE)).toEqual({});
    expect(withWaits(next(), pulled, SOME_TIME + MINUTE).waited).toEqual([{ reason: 'pull', ms: MINUTE }]);
  });

  it.each(['subscription_pause', 'queue_pause'] as const)(
    'are those of a pause from its begin on, without lag, after the earlier ones: %s',
    (by) => {
      const paused = { next: next({ by, waited: [rate(7)], waitingSince: SOME_TIME + 2 * MINUTE }) };
      const waited: Wait[] = [rate(7), { reason: 'paused', ms: 3 * MINUTE }];
      expect(waitedUntil(paused, SOME_TIME + 5 * MINUTE).waited).toEqual(waited);
      expect(withWaits(next(), paused, SOME_TIME + 5 * MINUTE)).toEqual(next({ waited }));
    },
  );
});

describe('the waits of an attempt', () => {
  it.each<[string, Partial<Attempt>, Wait[]]>([
    ['that started at once', { startedAt: ACCEPTED + 999 }, []],
    ['whose job was late', { startedAt: ACCEPTED + SECOND }, [lag(SECOND)]],
    [
      'that waited, with the lag before and after',
      {
        waited: [rate(5 * MINUTE)],
        dueAt: ACCEPTED + 5 * MINUTE + 30,
        startedAt: ACCEPTED + 5 * MINUTE + 70,
      },
      [lag(30), rate(5 * MINUTE), lag(40)],
    ],
    [
      'that is a retry: from its due time',
      { number: 2, phase: 'backoff', dueAt: SOME_TIME - 2 * SECOND },
      [lag(2 * SECOND)],
    ],
    ['that was sent by hand: not from the acceptance', { phase: 'manual', dueAt: SOME_TIME }, []],
    ['that an earlier version let wait: only its lag', { dueAt: SOME_TIME - 3 * SECOND }, [lag(3 * SECOND)]],
    [
      'that was received',
      { waited: [{ reason: 'pull', ms: 9 * MINUTE }], result: { kind: 'acknowledged' } },
      [lag(MINUTE), { reason: 'pull', ms: 9 * MINUTE }],
    ],
    ['that was received from an earlier version', { result: { kind: 'lapsed' } }, []],
    ['that started before its acceptance by another clock', { startedAt: ACCEPTED - 5 * SECOND }, []],
  ])('are known of one %s', (_, attempt, waits) => {
    expect(listWaits(anAttempt({ startedAt: SOME_TIME, ...attempt }), ACCEPTED)).toEqual(waits);
  });

  it('are added up for a delivery, with those that its next attempt has behind it', () => {
    const attempts = [
      anAttempt({ waited: [rate(10 * MINUTE)], dueAt: SOME_TIME, startedAt: SOME_TIME }),
      anAttempt({ number: 2, phase: 'backoff', dueAt: SOME_TIME, startedAt: SOME_TIME + 2 * SECOND }),
    ];
    const delivery = aDelivery({
      acceptedAt: ACCEPTED,
      status: 'retrying',
      attempts,
      next: next({ number: 3, waited: [rate(MINUTE)] }),
    });
    expect(totalWaits(delivery)).toEqual([rate(11 * MINUTE), lag(2 * SECOND)]);
  });
});
