import { marshall, unmarshall } from '@aws-sdk/util-dynamodb';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { deliveryItemOf, deliveryOf } from '../../../shared/adapters/dynamodb/delivery-item.ts';
import { UnreadableRecordError } from '../../../shared/adapters/dynamodb/record.ts';
import type { Status } from '../../../shared/domain/delivery/vocabulary.ts';
import { DEFAULT_RETRY_POLICY } from '../../../shared/domain/retry/policy.ts';
import { arbitraryDelivery } from '../../support/delivery-arbitraries.ts';
import { aDelivery, aDeliveryKey, anAttempt, SOME_TIME, answered } from '../../support/delivery-builders.ts';

/** The item as DynamoDB returns it. */
const stored = (item: Record<string, unknown>) => unmarshall(marshall(item));

/** Approximate size of an item in DynamoDB: the text of names and values, and about a byte around each. */
const bytesOf = (item: Record<string, unknown>): number => Buffer.byteLength(JSON.stringify(item));

describe('the item of a delivery', () => {
  it('is read back unchanged for any delivery', () => {
    fc.assert(
      fc.property(arbitraryDelivery, (delivery) => {
        expect(deliveryOf(stored(deliveryItemOf(delivery)))).toStrictEqual(delivery);
      }),
    );
  });

  it('is readable with unknown attributes of a later version', () => {
    const delivery = aDelivery({ attempts: [anAttempt()] });
    const [attempt] = [deliveryItemOf(delivery)['attempts']].flat();
    const item = {
      ...deliveryItemOf(delivery),
      attempts: [{ ...Object(attempt), zz: 1 }],
      later: { any: 'thing' },
    };
    expect(deliveryOf(stored(item))).toEqual(delivery);
  });

  it('is readable with a slot whose reason a later version added', () => {
    const slot = { at: SOME_TIME, epoch: '7/2' };
    const item = deliveryItemOf(aDelivery({ slot: { ...slot, reason: 'circuit_open' } }));
    const later = { ...item, slot: { ...slot, reason: 'of_a_later_version' } };
    expect(deliveryOf(stored(later)).slot).toEqual(slot);
  });

  it('reads to versions before pull as an attempt that SQS delays, and is found by its subscription only', () => {
    const next = { number: 1, phase: 'initial', dueAt: 7, by: 'pull' } as const;
    const item = deliveryItemOf(
      aDelivery({ key: aDeliveryKey({ subscriptionId: 's-1' }), next, overdueAt: 7 }),
    );
    expect(item).toMatchObject({
      next: { ...next, by: 'sqs_delay' },
      overduePk: expect.stringMatching(/^PULL#orders\.eu-1#s-1#[0-3]$/) as unknown,
    });
  });

  it.each([
    ['of another version', { v: 2 }, 'v'],
    ['without a version', { v: undefined }, 'v'],
    ['with an unknown status', { status: 'lost' }, 'status'],
    ['with an unknown phase', { attempts: [{ n: 1, p: 'zz', s: 1, d: 1, o: 'f' }] }, 'attempts.0.phase'],
    ['under the key of a message', { sk: 'MESSAGE' }, 'pk'],
    ['under a key without a bucket', { pk: 'orders#m' }, 'pk'],
  ])('is rejected %s by an error that names its key and the field, but no values', (_, change, field) => {
    const item: Record<string, unknown> = {
      ...deliveryItemOf(
        aDelivery({ status: 'cancelled', attempts: [anAttempt({ result: answered(503, 'secret') })] }),
      ),
      ...change,
    };
    const reading = () => deliveryOf(item);
    expect(reading).toThrow(UnreadableRecordError);
    expect(reading).toThrow(
      `The record ${String(item['pk'])} ${String(item['sk'])} cannot be read: ${field}.`,
    );
    expect(reading).not.toThrow('secret');
  });

  it('has a TTL in whole seconds, never before the expiry itself', () => {
    expect(deliveryItemOf(aDelivery({ expiresAt: 1_001 }))['ttl']).toBe(2);
    expect(deliveryItemOf(aDelivery({ expiresAt: 2_000 }))['ttl']).toBe(2);
  });

  it('has no index keys during a first attempt or after a success', () => {
    const indexed = ['byQueuePk', 'bySubscriptionPk', 'overduePk', 'overdueAt'];
    for (const status of ['pending', 'delivered'] satisfies Status[]) {
      const item = deliveryItemOf(aDelivery({ status, lease: { owner: 'me', until: SOME_TIME } }));
      expect(Object.keys(item).filter((name) => indexed.includes(name))).toEqual([]);
    }
  });

  it.each(['retrying', 'rejected', 'exhausted', 'cancelled'] satisfies Status[])(
    'is listed by queue and subscription while %s, in order of acceptance',
    (status) => {
      const key = aDeliveryKey({ messageId: 'm-1', subscriptionId: 's-1' });
      const item = deliveryItemOf(aDelivery({ key, status, acceptedAt: 99 }));
      expect(item['byQueuePk']).toMatch(/^orders\.eu-1#[0-7]$/);
      expect(item['bySubscriptionPk']).toMatch(/^orders\.eu-1#s-1#[0-3]$/);
      expect(item['notDeliveredSk']).toBe('0000000000099#m-1#s-1');
    },
  );

  it('is spread over all shards of its queue', () => {
    const items = Array.from({ length: 200 }, () =>
      deliveryItemOf(aDelivery({ status: 'retrying', overdueAt: 1 })),
    );
    expect(new Set(items.map((item) => item['byQueuePk'])).size).toBe(8);
    expect(new Set(items.map((item) => item['overduePk'])).size).toBe(8);
  });

  it('takes one write unit for a first success, and for a first failure with a policy', () => {
    const owner = 'b7a2c1de-0f7e-4e43-9f5e-0d7a3d1c2b4f';
    const failed = aDelivery({
      status: 'retrying',
      attempts: [anAttempt({ result: { kind: 'unanswered', error: 'timeout' } })],
      next: { number: 2, phase: 'immediate', dueAt: SOME_TIME, by: 'same_invocation' },
      policy: DEFAULT_RETRY_POLICY,
      lease: { owner, until: SOME_TIME },
      overdueAt: SOME_TIME,
    });
    expect(bytesOf(deliveryItemOf(failed))).toBeLessThan(1024);
    const succeeded = aDelivery({
      status: 'delivered',
      attempts: [anAttempt({ outcome: 'delivered', result: answered(200) })],
    });
    expect(bytesOf(deliveryItemOf(succeeded))).toBeLessThan(512);
  });
});
