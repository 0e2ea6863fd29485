import { describe, expect, it } from 'vitest';
import { TERMINAL_STATUSES } from '../../../shared/domain/delivery/vocabulary.ts';
import type { Attempt } from '../../../shared/domain/delivery/attempt.ts';
import type { Delivery } from '../../../shared/domain/delivery/delivery.ts';
import { nextAfterFailure } from '../../../shared/domain/delivery/next-attempt.ts';
import { plannedAttempts } from '../../../shared/domain/delivery/explain.ts';
import type { RetryPolicy } from '../../../shared/domain/retry/policy.ts';
import { retrySchedule } from '../../../shared/domain/retry/schedule.ts';
import { aPolicy } from '../../support/builders.ts';
import { aDelivery, anAttempt, SOME_TIME } from '../../support/delivery-builders.ts';

/** Simulates the round: every attempt fails and takes no time. */
const played = (start: Delivery, policy: RetryPolicy): unknown[] => {
  const made: Attempt[] = [...start.attempts];
  const seen: unknown[] = [];
  let next = start.next ?? { number: made.length + 1, phase: 'initial' as const, dueAt: start.updatedAt };
  for (;;) {
    const { number, phase, dueAt } = next;
    seen.push({ number, phase, dueAt });
    const failed = anAttempt({ number, phase, round: start.round, startedAt: dueAt, durationMs: 0 });
    made.push(failed);
    const following = nextAfterFailure({
      key: start.key,
      policy,
      failed,
      attemptsInRound: made.filter(({ round }) => round === start.round).length,
      retryAfterMs: 0,
      thresholdSeconds: 90,
      canContinue: true,
    });
    if (following === undefined) return seen;
    next = following;
  }
};

describe('planned attempts', () => {
  const policies = (['none', 'full', 'equal'] as const).flatMap((jitter) => [
    aPolicy({ jitter }),
    aPolicy({ jitter, retry_backoff_function: 'geometric', backoff_retries: 40, maximum_delay: 86_400 }),
  ]);

  it.each(policies)('equal the real attempts if each fails at once: %o', (policy) => {
    const first = aDelivery();
    const midway = aDelivery({
      status: 'retrying',
      attempts: [anAttempt(), anAttempt({ number: 2, phase: 'immediate' })],
      next: { number: 3, phase: 'immediate', dueAt: SOME_TIME + 77, by: 'sqs_delay' },
      policy,
    });
    for (const delivery of [first, midway])
      expect(plannedAttempts(delivery, policy)).toEqual(played(delivery, policy));
  });

  it('begin with the due attempt and count only attempts of its round', () => {
    const policy = aPolicy();
    const [, second, third] = retrySchedule(policy);
    const planned = plannedAttempts(
      aDelivery({
        status: 'retrying',
        round: 2,
        attempts: [
          anAttempt(),
          anAttempt({ number: 2 }),
          anAttempt({ number: 3 }),
          anAttempt({ number: 4, round: 2, phase: 'manual' }),
        ],
        next: { number: 5, phase: 'immediate', dueAt: SOME_TIME, by: 'sqs_delay' },
      }),
      policy,
    );
    expect(planned[0]).toEqual({ number: 5, phase: 'immediate', dueAt: SOME_TIME });
    expect(planned[1]).toMatchObject({ number: 6, phase: second?.phase });
    expect(planned[2]).toMatchObject({ number: 7, phase: third?.phase });
    expect(planned).toHaveLength(retrySchedule(policy).length);
  });

  it.each(TERMINAL_STATUSES)('are empty for a delivery that is %s', (status) => {
    expect(plannedAttempts(aDelivery({ status }), aPolicy())).toEqual([]);
  });

  it('contain only the due attempt if the policy has no retry left', () => {
    const next = { number: 2, phase: 'manual', dueAt: SOME_TIME, by: 'sqs_delay' } as const;
    const delivery = aDelivery({ status: 'retrying', attempts: [anAttempt()], next });
    const policy = aPolicy({
      retries_with_no_delay: 1,
      minimum_delay_retries: 0,
      backoff_retries: 0,
      maximum_delay_retries: 0,
    });
    expect(plannedAttempts(delivery, policy)).toEqual([{ number: 2, phase: 'manual', dueAt: SOME_TIME }]);
  });
});
