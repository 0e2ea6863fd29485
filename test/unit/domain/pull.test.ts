import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  apply,
  type Delivery,
  holds,
  isOpen,
  type Revision,
} from '../../../shared/domain/delivery/delivery.ts';
import {
  buildAttempt,
  isReceivable,
  lateAcknowledgement,
  openForPull,
  type PullResult,
  receive,
  recordReceived,
  retainedForPull,
} from '../../../shared/domain/delivery/pull.ts';
import { retrySchedule } from '../../../shared/domain/retry/schedule.ts';
import { aMessage, aPolicy } from '../../support/builders.ts';
import {
  aDelivery,
  aDeliveryKey,
  anAttempt,
  type DeliveryFields,
  SOME_TIME,
} from '../../support/delivery-builders.ts';

const retentionMs = 1000;
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
  const lease = { owner: `pull/${now}`, until: now + LEASE_MS, receivedAt: now };
  const received = { ...writtenTo(delivery, receive({ key, overdueAt }, lease, { now })), lease };
  expect(isReceivable(received)).toBe(false);
  const at = { now: now + 10, retentionMs };
  const attempt = buildAttempt(received, result, at.now);
  expect([attempt.startedAt, attempt.durationMs]).toEqual([now, result.kind === 'lapsed' ? LEASE_MS : 10]);
  const after = writtenTo(received, recordReceived(received, { attempt, policy: POLICY }, at));
  expect(after.next?.dueAt ?? Infinity).toBeGreaterThanOrEqual(now + attempt.durationMs);
  // A late acknowledgement is recognised by it.
  expect(after.lapsed).toEqual(result.kind === 'lapsed' ? lease : undefined);
  return after;
};

const aResult = fc.constantFrom<PullResult>(
  { kind: 'acknowledged' },
  { kind: 'refused', detail: 'no room' },
  { kind: 'lapsed' },
);

it('a delivery has one attempt for each receive, never early, and ends by a success or with the policy', () => {
  fc.assert(
    fc.property(fc.array(aResult, { minLength: MOST, maxLength: MOST }), (results) => {
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

describe('an acknowledgement after the end of its lease', () => {
  const lapsed = { owner: 'pull/x', until: SOME_TIME + LEASE_MS, receivedAt: SOME_TIME };
  const lapse = anAttempt({ number: 2, durationMs: LEASE_MS, result: { kind: 'lapsed' } });
  const attempts = [anAttempt(), lapse];
  const receipt = { owner: 'pull/x', attempt: 2 };
  const now = SOME_TIME + LEASE_MS + 1;

  it('makes the attempt that lapsed a success, as long as its subscriber took', () => {
    expect(lateAcknowledgement(aDelivery({ attempts, lapsed }), receipt, now)).toEqual({
      ...lapse,
      outcome: 'delivered',
      result: { kind: 'acknowledged' },
      durationMs: LEASE_MS + 1,
    });
  });

  it.each<[string, DeliveryFields, typeof receipt]>([
    ['no attempt is recorded', { lapsed }, receipt],
    ['it answers an earlier receive', { attempts, lapsed }, { ...receipt, attempt: 1 }],
    ['another receive had the lease', { attempts, lapsed }, { ...receipt, owner: 'pull/y' }],
    ['the last attempt was answered', { attempts }, receipt],
    ['the delivery was received again', { attempts, lapsed, lease: lapsed }, receipt],
  ])('does not count if %s', (_case, fields, given) => {
    expect(lateAcknowledgement(aDelivery(fields), given, now)).toBeUndefined();
  });
});

it('a delivery waits for half of the setting, and stays for half of the days of its queue', () => {
  const deployment = { retentionMs: 30 * 86_400_000 };
  expect(retainedForPull({ retentionDays: 10 }, deployment)).toEqual({ retentionDays: 20 });
  expect(retainedForPull({}, deployment)).toEqual({});
});
