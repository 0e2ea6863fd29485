import { describe, expect, it } from 'vitest';
import { decide } from '../../../shared/domain/delivery/decide.ts';
import type { Attempt } from '../../../shared/domain/delivery/attempt.ts';
import type { Reply } from '../../../shared/domain/retry/outcome.ts';
import { aBarePolicy } from '../../support/builders.ts';
import {
  aDelivery,
  anAttempt,
  answered,
  SOME_TIME,
  type DeliveryFields,
} from '../../support/delivery-builders.ts';

const DAY_MS = 86_400_000;
const OWNER = 'request-1/message-1';
const lease = { owner: OWNER, until: SOME_TIME + 23_000 };
const now = SOME_TIME + 500;

const replied = (statusCode: number, retryAfter?: string): Reply => ({
  kind: 'answered',
  statusCode,
  ...(retryAfter === undefined ? {} : { retryAfter }),
});

/** The change decided for the first attempt of a round, made at SOME_TIME in 100 ms. */
const decidedChange = (
  attempt: Partial<Attempt>,
  {
    reply = replied(attempt.result?.kind === 'answered' ? attempt.result.statusCode : 500),
    policy = {},
    delivery = {},
    retryLease,
  }: {
    reply?: Reply;
    policy?: Parameters<typeof aBarePolicy>[0];
    delivery?: DeliveryFields;
    retryLease?: typeof lease;
  } = {},
) => {
  return decide(
    {
      kind: 'request',
      delivery: aDelivery({ status: 'pending', attempts: [], lease, ...delivery }),
      attempt: anAttempt({ startedAt: SOME_TIME, durationMs: 100, ...attempt }),
      reply,
      changedAt: undefined,
      policy: aBarePolicy(policy),
      owner: OWNER,
      retryLease,
      schedulerThresholdSeconds: 90,
      retryAfterCapMs: 60_000,
    },
    { now, retentionMs: 30 * DAY_MS },
  ).change;
};

const immediate = { retries_with_no_delay: 1 };
const delayed = { minimum_delay_retries: 1, minimum_delay: 10, maximum_delay: 10 };

describe('the result of an attempt', () => {
  it("is written only under the attempt's lease and after the recorded attempts", () => {
    const transition = decide(
      {
        kind: 'request',
        delivery: aDelivery({ attempts: [anAttempt()] }),
        attempt: anAttempt({ number: 2, outcome: 'delivered' }),
        reply: replied(200),
        changedAt: undefined,
        policy: aBarePolicy(),
        owner: OWNER,
        retryLease: undefined,
        schedulerThresholdSeconds: 90,
        retryAfterCapMs: 0,
      },
      { now, retentionMs: DAY_MS },
    );
    expect(transition.expect).toEqual({ kind: 'leased', recorded: 1, owner: OWNER });
  });

  it('ends the delivery after a success', () => {
    expect(decidedChange({ outcome: 'delivered', result: answered(200) })).toMatchObject({
      status: 'delivered',
      lease: null,
      overdueAt: null,
      lost: 0,
    });
  });

  it.each([
    [404, 'http_404', [{ kind: 'undeliverable' }]],
    [410, 'gone', [{ kind: 'disable_subscription', reason: 'gone' }, { kind: 'undeliverable' }]],
  ])(
    'ends the delivery after a %i, with its reason and pending steps',
    (statusCode, reason, pendingSteps) => {
      expect(decidedChange({ outcome: 'rejected', result: answered(statusCode) })).toMatchObject({
        status: 'rejected',
        reason,
        pendingSteps,
        overdueAt: now,
        lease: null,
      });
    },
  );

  it('disables the subscription of a delivered message that asks for it', () => {
    const reply: Reply = { kind: 'answered', statusCode: 204, asks: 'disable' };
    expect(decidedChange({ outcome: 'delivered', result: answered(204) }, { reply })).toMatchObject({
      status: 'delivered',
      pendingSteps: [{ kind: 'disable_subscription', reason: 'disable_requested' }],
      overdueAt: now,
    });
  });

  it('ends the delivery if the address guard refused the address', () => {
    const change = decidedChange({ outcome: 'rejected' }, { reply: { kind: 'forbidden' } });
    expect(change).toMatchObject({ status: 'rejected', reason: 'address_forbidden' });
  });

  it('ends the delivery after a failure when the policy has no further attempt', () => {
    expect(decidedChange({ outcome: 'failed' })).toMatchObject({
      status: 'exhausted',
      reason: 'retries_exhausted',
      pendingSteps: [{ kind: 'undeliverable' }, { kind: 'exhausted_event' }],
    });
  });

  it('schedules the next attempt after a failure, counted from the end of this one', () => {
    expect(decidedChange({ outcome: 'failed' }, { policy: delayed })).toMatchObject({
      status: 'retrying',
      next: { number: 2, phase: 'pre_backoff', dueAt: SOME_TIME + 10_100, by: 'sqs_delay' },
      lease: null,
      overdueAt: SOME_TIME + 10_100,
    });
  });

  it('counts only the attempts of the current round', () => {
    const attempts = [anAttempt({ round: 1 }), anAttempt({ number: 2, round: 1 })];
    const change = decidedChange(
      { outcome: 'failed', number: 3, round: 2 },
      { policy: delayed, delivery: { attempts, round: 2 } },
    );
    expect(change).toMatchObject({ status: 'retrying', next: { number: 4 } });
  });

  it('keeps the lease only if this invocation makes the immediate retry', () => {
    const retryLease = { owner: OWNER, until: now + 23_000 };
    expect(decidedChange({ outcome: 'failed' }, { policy: immediate, retryLease })).toMatchObject({
      next: { by: 'same_invocation' },
      lease: retryLease,
    });
    expect(decidedChange({ outcome: 'failed' }, { policy: immediate })).toMatchObject({
      next: { by: 'sqs_delay' },
      lease: null,
    });
    expect(decidedChange({ outcome: 'failed' }, { policy: delayed, retryLease })).toMatchObject({
      lease: null,
    });
  });

  it('respects the Retry-After of the subscriber, up to the cap', () => {
    const expectDue = (retryAfter: string, dueAt: number): void => {
      const reply = replied(503, retryAfter);
      expect(decidedChange({ outcome: 'failed' }, { policy: delayed, reply })).toMatchObject({
        next: { dueAt },
      });
    };
    expectDue('5', SOME_TIME + 10_100);
    expectDue('30', SOME_TIME + 30_100);
    expectDue('3600', SOME_TIME + 60_100);
    expectDue('soon', SOME_TIME + 10_100);
  });

  it('removes the slot that the attempt used', () => {
    const slot = { at: SOME_TIME, epoch: '1/1' };
    const given = { policy: delayed };
    expect(decidedChange({ outcome: 'failed' }, { ...given, delivery: { slot } })).toMatchObject({
      slot: null,
    });
    expect(decidedChange({ outcome: 'failed' }, given)).not.toHaveProperty('slot');
  });

  it('expires one retention period after the next attempt', () => {
    expect(decidedChange({ outcome: 'failed' }, { policy: delayed }).expiresAt).toBe(
      SOME_TIME + 10_100 + 30 * DAY_MS,
    );
    expect(decidedChange({ outcome: 'delivered' }).expiresAt).toBe(now + 30 * DAY_MS);
  });
});
