import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Attempt } from '../../../shared/domain/delivery/attempt.ts';
import { decide } from '../../../shared/domain/delivery/decide.ts';
import {
  apply,
  type Delivery,
  holds,
  isOpen,
  type Revision,
} from '../../../shared/domain/delivery/delivery.ts';
import {
  attemptOf,
  isReceivable,
  openForPull,
  type PullResult,
  pullStepOf,
  receive,
  recordReceived,
} from '../../../shared/domain/delivery/pull.ts';
import { planSqsDelay, planWakeUp, scheduleName } from '../../../shared/domain/delivery/wake-up-plan.ts';
import type { Reply } from '../../../shared/domain/retry/outcome.ts';
import { retrySchedule } from '../../../shared/domain/retry/schedule.ts';
import { aBarePolicy, aMessage, aPolicy } from '../../support/builders.ts';
import {
  aDelivery,
  aDeliveryKey,
  anAttempt,
  answered,
  type DeliveryFields,
  SOME_TIME,
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
      version: undefined,
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
        version: undefined,
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

describe('a delivery that is pulled', () => {
  const retentionMs = 1000;

  const NOW = SOME_TIME + 60_000;

  const lease = { owner: 'pull/x', until: NOW, receivedAt: SOME_TIME };

  const next = { number: 1, phase: 'initial', dueAt: SOME_TIME, by: 'pull' } as const;

  describe('what deliver does with a delivery that its subscriber fetches', () => {
    it.each<[string, Delivery | undefined, string]>([
      ['nothing without a record', undefined, 'none'],
      ['nothing while it waits', aDelivery({ next }), 'none'],
      ['nothing while its lease lasts', aDelivery({ next, lease: { ...lease, until: NOW + 1 } }), 'none'],
      ['records the failure from the exact end of its lease', aDelivery({ next, lease }), 'lapsed'],
      ['lets it wait when it is woken', aDelivery({ next: { ...next, by: 'sqs_delay' } }), 'await'],
      ['nothing after its end', aDelivery({ status: 'delivered' }), 'none'],
      [
        'its pending steps',
        aDelivery({ status: 'exhausted', pendingSteps: [{ kind: 'undeliverable' }] }),
        'unfinished',
      ],
    ])('%s', (_name, current, kind) => {
      expect(pullStepOf(current, NOW).kind).toBe(kind);
    });
  });

  const resultArbitrary: fc.Arbitrary<PullResult> = fc.constantFrom<PullResult>(
    { kind: 'acknowledged' },
    { kind: 'refused', detail: 'no room' },
    { kind: 'lapsed' },
  );

  const LEASE_MS = 60_000;

  const POLICY = aPolicy({ jitter: 'full', retry_backoff_function: 'exponential' });

  const MOST = 1 + retrySchedule(POLICY).length;

  const opened = (): Delivery => {
    const body = { kind: 'inline', message: aMessage() } as const;
    const job = { kind: 'job', key: aDeliveryKey(), attempt: 1, acceptedAt: SOME_TIME, body } as const;
    const opening = openForPull(job, { now: SOME_TIME, retentionMs });
    if (!('create' in opening)) throw new Error('it opens a record');
    return opening.create;
  };

  const writtenTo = (delivery: Delivery, { expect: condition, change }: Revision): Delivery => {
    expect(holds(condition, delivery)).toBe(true);
    // An earlier expiry takes a second write.
    expect(change.expiresAt ?? Infinity).toBeGreaterThanOrEqual(delivery.expiresAt);
    return apply(change, delivery);
  };

  /** The delivery after it was received 7 ms after it was due, and answered within 10 ms or not at all. */
  const afterReceive = (delivery: Delivery, result: PullResult): Delivery => {
    expect(isReceivable(delivery)).toBe(true);
    const { key, overdueAt = 0 } = delivery;
    const now = overdueAt + 7;
    const held = { owner: `pull/${now}`, until: now + LEASE_MS, receivedAt: now };
    const received = {
      ...writtenTo(delivery, receive({ key, overdueAt }, held, { now })),
      lease: held,
    };
    expect(isReceivable(received)).toBe(false);
    const at = { now: now + 10, retentionMs };
    const attempt = attemptOf(received, result, at.now);
    expect([attempt.startedAt, attempt.durationMs]).toEqual([now, result.kind === 'lapsed' ? LEASE_MS : 10]);
    const after = writtenTo(received, recordReceived(received, { attempt, policy: POLICY }, at));
    expect(after.next?.dueAt ?? Infinity).toBeGreaterThanOrEqual(now + attempt.durationMs);
    return after;
  };

  describe('a delivery that is received again and again', () => {
    it('has one attempt for each receive, never early, and ends by a success or with the policy', () => {
      fc.assert(
        fc.property(fc.array(resultArbitrary, { minLength: MOST, maxLength: MOST }), (results) => {
          const after = results.reduce<Delivery>(
            (delivery, result) => (isOpen(delivery) ? afterReceive(delivery, result) : delivery),
            opened(),
          );
          const firstSuccess = results.findIndex(({ kind }) => kind === 'acknowledged');
          const [status, made] = firstSuccess < 0 ? ['exhausted', MOST] : ['delivered', firstSuccess + 1];
          expect(after.attempts.map(({ number }) => number)).toEqual(
            Array.from({ length: made }, (_, index) => index + 1),
          );
          expect(after).toMatchObject({ status, lease: undefined });
          expect(after.next).toBeUndefined();
        }),
      );
    });
  });
});

describe('an SQS delay', () => {
  it.each([
    [5_000, 5],
    [4_980, 5],
    [4_500, 5],
    [4_499, 4],
    [499, 0],
    [-3_000, 0],
    [900_400, 900],
    [86_400_000, 900],
  ])('of %i ms is rounded to %i s, within the SQS maximum', (remainingMs, delaySeconds) => {
    expect(planSqsDelay(1_000_000 + remainingMs, 1_000_000)).toEqual({ by: 'sqs_delay', delaySeconds });
  });
});

describe('the wake-up plan', () => {
  it.each([
    [89_999, 90, { by: 'sqs_delay', delaySeconds: 90 }],
    [90_000, 90, { by: 'scheduler', at: 25_000 }],
    [30_000, 8, { by: 'scheduler', at: 5_000 }],
    [5_000, 0, { by: 'sqs_delay', delaySeconds: 5 }],
    [5_001, 0, { by: 'scheduler', at: 5_000 }],
  ])('for %i ms with a threshold of %i s', (dueAt, thresholdSeconds, plan) => {
    expect(planWakeUp(dueAt, 0, thresholdSeconds)).toEqual(plan);
  });
});

describe("a schedule's name", () => {
  const key = { queue: 'q', messageId: 'm', subscriptionId: 's', bucket: 0 };

  it('is unique per due time and attempt, and valid for EventBridge Scheduler', () => {
    const names = [
      scheduleName(key, 2, 1_800_000_000_000),
      scheduleName(key, 2, 1_800_000_000_001),
      scheduleName(key, 101, 1_800_000_000_000),
      scheduleName({ ...key, subscriptionId: 't' }, 2, 1_800_000_000_000),
    ];
    expect(new Set(names).size).toBe(4);
    expect(scheduleName(key, 2, 1_800_000_000_000)).toBe(names[0]);
    for (const name of names) expect(name).toMatch(/^[0-9a-zA-Z\-_.]{1,64}$/);
  });
});
