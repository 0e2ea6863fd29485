import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  apply,
  holds,
  isOpen,
  type Delivery,
  type Revision,
} from '../../../shared/domain/delivery/delivery.ts';
import {
  attemptOf,
  openForPull,
  pullStepOf,
  receive,
  recordReceived,
  isReceivable,
  type PullResult,
} from '../../../shared/domain/delivery/pull.ts';
import { retrySchedule } from '../../../shared/domain/retry/schedule.ts';
import { aMessage, aPolicy } from '../../support/builders.ts';
import { aDelivery, aDeliveryKey, SOME_TIME } from '../../support/delivery-builders.ts';

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
