import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { apply, holds, type Delivery } from '../../../shared/domain/delivery/delivery.ts';
import {
  attemptOf,
  openForPull,
  pullStepOf,
  receive,
  recordReceived,
  waitsForPull,
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
    ['its pending steps', aDelivery({ status: 'exhausted', owed: ['undeliverable'] }), 'owing'],
  ])('%s', (_name, current, kind) => {
    expect(pullStepOf(current, NOW).kind).toBe(kind);
  });
});

const resultArbitrary: fc.Arbitrary<PullResult> = fc.constantFrom<PullResult>(
  { kind: 'acked' },
  { kind: 'nacked', error: 'no room' },
  { kind: 'lapsed' },
);

describe('a delivery that is received again and again', () => {
  it('has one attempt for each receive, never early, and ends by a success or with the policy', () => {
    const policy = aPolicy({ jitter: 'full', retry_backoff_function: 'exponential' });
    const most = 1 + retrySchedule(policy).length;
    fc.assert(
      fc.property(fc.array(resultArbitrary, { minLength: most, maxLength: most }), (results) => {
        const body = { kind: 'inline', message: aMessage() } as const;
        const job = { kind: 'job', key: aDeliveryKey(), attempt: 1, acceptedAt: SOME_TIME, body } as const;
        const opened = openForPull(job, { now: SOME_TIME, retentionMs });
        if (!('create' in opened)) throw new Error('it opens a record');
        let delivery = opened.create;
        for (const result of results) {
          if (delivery.next === undefined) break;
          expect(waitsForPull(delivery)).toBe(true);
          const now = delivery.next.dueAt + 7;
          const held = { owner: `pull/${now}`, until: now + 60_000, receivedAt: now };
          const taken = receive({ key: delivery.key, overdueAt: delivery.overdueAt ?? 0 }, held, {
            now,
            retentionMs,
          });
          expect(holds(taken.expect, delivery)).toBe(true);
          const received = { ...apply(taken.change, delivery), lease: held };
          expect(waitsForPull(received)).toBe(false);
          const at = { now: now + 10, retentionMs };
          const recorded = recordReceived(received, attemptOf(received, result, at.now), policy, at);
          expect(holds(recorded.expect, received)).toBe(true);
          delivery = apply(recorded.change, received);
          const attempt = delivery.attempts.at(-1);
          expect(attempt?.startedAt).toBe(now);
          expect(attempt?.durationMs).toBe(result.kind === 'lapsed' ? 60_000 : 10);
          expect(delivery.next?.dueAt ?? Infinity).toBeGreaterThanOrEqual(now + (attempt?.durationMs ?? 0));
        }
        const firstSuccess = results.findIndex(({ kind }) => kind === 'acked');
        expect(delivery.attempts.map(({ number }) => number)).toEqual(
          Array.from({ length: firstSuccess < 0 ? most : firstSuccess + 1 }, (_, index) => index + 1),
        );
        expect(delivery).toMatchObject({
          status: firstSuccess < 0 ? 'exhausted' : 'delivered',
          next: undefined,
          lease: undefined,
        });
      }),
    );
  });
});
