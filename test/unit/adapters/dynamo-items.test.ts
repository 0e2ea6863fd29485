import { randomUUID } from 'node:crypto';
import type { AttributeValue } from '@aws-sdk/client-dynamodb';
import { marshall, unmarshall } from '@aws-sdk/util-dynamodb';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import * as z from 'zod';
import {
  buildChunkUpdate,
  chunkOfItem,
  toStateItem,
} from '../../../shared/adapters/dynamodb/deliveries/chunks.ts';
import { toDelivery, toDeliveryItem } from '../../../shared/adapters/dynamodb/deliveries/delivery-item.ts';
import { toChunkItemKey } from '../../../shared/adapters/dynamodb/deliveries/delivery-keys.ts';
import { RECORD_VERSION, toTtl, UnreadableRecordError } from '../../../shared/adapters/dynamodb/record.ts';
import {
  toQueue,
  toQueueItem,
  toSubscriberItem,
  toSubscription,
  toSubscriptionItem,
} from '../../../shared/adapters/dynamodb/subscriptions/subscription-item.ts';
import { ttlAttribute } from '../../../shared/config/tables.ts';
import type { Wait } from '../../../shared/domain/delivery/attempt.ts';
import { type Chunk, claimChunk, recordSuccesses } from '../../../shared/domain/delivery/chunk.ts';
import { DEFAULT_RETRY_POLICY } from '../../../shared/domain/retry/policy.ts';
import { aQueue, aSubscription } from '../../support/builders.ts';
import { aChunk, aChunkKey, aFirstSuccess, HOLDER, RETENTION_MS } from '../../support/chunk-builders.ts';
import { aDelivery, aDeliveryKey, anAttempt, answered, SOME_TIME } from '../../support/delivery-builders.ts';

describe('the items of queues and subscriptions', () => {
  it('keep any JSON in the metadata', () => {
    // JSON does not distinguish 0 and -0.
    const metadata = fc.dictionary(fc.string(), fc.jsonValue({ stringUnit: 'grapheme' }));
    const asJson = z.record(z.string(), z.unknown());
    fc.assert(
      fc.property(metadata, (given) => {
        const plain = aQueue({ metadata: asJson.parse(JSON.parse(JSON.stringify(given))) });
        expect(toQueue(toQueueItem(plain))).toEqual(plain);
      }),
    );
  });

  it('keep the previous filter with any property names', () => {
    const filter: unknown = JSON.parse('{"": [1.5e300], "__proto__": {"deep": [{"exists": false}]}}');
    const previousSelection = { event_types: ['a'], filter, until: 7 };
    const read = toSubscription(toSubscriptionItem(aSubscription({ previousSelection, confirmedAt: 5 })));
    expect(JSON.stringify(read.previousSelection)).toBe(JSON.stringify(previousSelection));
    expect(read.confirmedAt).toBe(5);
  });

  const slowed = { type: 'subscription.slowed', reason: 'circuit_open', since: 1, until: 9 } as const;
  const unsent = { event: slowed, at: 4 };
  const ofLater = { raw_delivery: true, later: { any: ['thing'] } };
  const ended = { state: 'ended', since: 1, at: 2 };

  it.each<[string, Parameters<typeof aSubscription>[0]]>([
    ['options of a later version', { options: ofLater }],
    ['the time of the last change of the limit', { rateChangedAt: 6 }],
    [
      'a secret with a public key',
      { secrets: [{ sealed: 'a', publicKey: 'whpk_b', expiresAt: 5 }, { sealed: 'c' }] },
    ],
  ])('keep %s', (_what, overrides) => {
    const subscription = aSubscription(overrides);
    expect(toSubscription(toSubscriptionItem(subscription))).toEqual(subscription);
  });

  it.each([
    [{ reason: 'circuit_open', opensAt: 3, ended: true }, ended],
    [
      { reason: 'circuit_open', opensAt: 3, perSecond: 2 },
      { state: 'ending', reason: 'circuit_open', since: 1, at: 2 },
    ],
    [{ state: 'of a later version' }, ended],
  ])('read the pressure of other versions: %o', (more, expected) => {
    const item = { ...toSubscriptionItem(aSubscription()), pressure: { since: 1, at: 2, ...more } };
    expect(toSubscription(item).pressure).toEqual(expected);
  });

  it('have the events that version 0.1.0 does not know in an attribute that it ignores, and send its own first', () => {
    const item = toSubscriptionItem(aSubscription({ unsent }));
    expect(item).toMatchObject({ unsentEvent: { event: slowed } });
    expect(item).not.toHaveProperty('unsent');
    const earlier = { event: { type: 'subscription.recovered', since: 1, at: 2 }, at: 2 } as const;
    expect(toSubscription({ ...item, unsent: earlier }).unsent).toEqual(earlier);
  });

  it('have the reason that version 0.1.0 does not know under one that it can read', () => {
    const subscription = aSubscription({ disabled: { reason: 'disable_requested', at: 4 } });
    const item = toSubscriptionItem(subscription);
    expect(item).toMatchObject({ disabled: { reason: 'gone', at: 4 } });
    expect(toSubscription(item)).toEqual(subscription);
  });

  it('are read without the reason and the event that a later version wrote', () => {
    const pressure = { reason: 'later', since: 1, at: 2, opensAt: 3 };
    const unsentEvent = { event: { ...slowed, reason: 'later' }, at: 4 };
    const subscription = aSubscription();
    const item = { ...toSubscriptionItem(subscription), pressure, unsentEvent };
    expect(toSubscription(item)).toStrictEqual({ ...subscription, pressure: ended });
  });

  it.each([toSubscriptionItem, toSubscriberItem])(
    'have a TTL only if a subscription expires: $name',
    (itemOf) => {
      expect(itemOf(aSubscription({ ttl: 60, expiresAt: 60_001 }))['ttl']).toBe(61);
      expect(itemOf(aSubscription())).not.toHaveProperty('ttl');
    },
  );

  it('do not contain the URL of a subscriber in a key', () => {
    const { pk, sk } = toSubscriberItem(aSubscription({ subscriber: 'https://user:secret@s.test/' }));
    expect(pk).toBe('QUEUE#orders');
    expect(sk).toMatch(/^URL#[A-Za-z0-9_-]{43}$/);
  });

  it.each([
    ['of another version', { v: 2 }],
    ['with metadata that is not JSON', { metadata: '{' }],
    ['with metadata that is not an object', { metadata: '[1]' }],
  ])('are rejected %s', (_, change) => {
    expect(() => toQueue({ ...toQueueItem(aQueue()), ...change })).toThrow(UnreadableRecordError);
  });
});

/** The item as DynamoDB returns it. */
const stored = (item: Record<string, unknown>) => unmarshall(marshall(item));

describe('the item of a delivery', () => {
  it('is readable with unknown attributes of a later version', () => {
    const delivery = aDelivery({ attempts: [anAttempt()] });
    const item = toDeliveryItem(delivery);
    const [attempt] = [item['attempts']].flat();
    const later = { ...item, attempts: [{ ...Object(attempt), zz: 1 }], later: { any: 'thing' } };
    expect(toDelivery(stored(later))).toEqual(delivery);
  });

  it('is readable with a slot whose reason a later version added', () => {
    const slot = { at: SOME_TIME, epoch: '7/2' };
    const item = toDeliveryItem(aDelivery({ slot: { ...slot, reason: 'circuit_open' } }));
    const later = { ...item, slot: { ...slot, reason: 'of_a_later_version' } };
    expect(toDelivery(stored(later)).slot).toEqual(slot);
  });

  it('reads to versions before pull as an attempt that SQS delays, and is found by its subscription only', () => {
    const next = { number: 1, phase: 'initial', dueAt: 7, by: 'pull' } as const;
    const item = toDeliveryItem(
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
    const attempts = [anAttempt({ result: answered(503, 'secret') })];
    const cancelled = toDeliveryItem(aDelivery({ status: 'cancelled', attempts }));
    const item: Record<string, unknown> = { ...cancelled, ...change };
    const place = `${String(item['pk'])} ${String(item['sk'])}`;
    const reading = () => toDelivery(item);
    expect(reading).toThrow(UnreadableRecordError);
    expect(reading).toThrow(`The record ${place} cannot be read: ${field}.`);
    expect(reading).not.toThrow('secret');
  });

  it('has a TTL in whole seconds, never before the expiry itself', () => {
    expect(toDeliveryItem(aDelivery({ expiresAt: 1_001 }))['ttl']).toBe(2);
    expect(toDeliveryItem(aDelivery({ expiresAt: 2_000 }))['ttl']).toBe(2);
  });

  it('is spread over all shards of its queue', () => {
    const items = Array.from({ length: 200 }, () =>
      toDeliveryItem(aDelivery({ status: 'retrying', overdueAt: 1 })),
    );
    expect(new Set(items.map((item) => item['byQueuePk'])).size).toBe(8);
    expect(new Set(items.map((item) => item['overduePk'])).size).toBe(8);
  });

  it('has reasons of waits that a later version stored left out', () => {
    const attempts = [anAttempt({ waited: [{ reason: 'rate_limited', ms: 7 }] })];
    const next = { number: 2, phase: 'backoff', dueAt: SOME_TIME, by: 'sqs_delay' } as const;
    const item = toDeliveryItem(aDelivery({ status: 'retrying', attempts, next }));
    const text = JSON.stringify(item).replace('["r",7]', '["later",5],["r",7]');
    expect(toDelivery(JSON.parse(text)).attempts).toEqual(attempts);
  });

  it('takes 50 bytes more for a wait that lasts, and 20 for one that ended', () => {
    const bytesWith = (more: object, waited?: Wait[]): number => {
      const next = { number: 2, phase: 'backoff', dueAt: SOME_TIME, by: 'sqs_delay', ...more } as const;
      const attempts = [anAttempt(waited && { waited })];
      return itemBytes(toDeliveryItem(aDelivery({ status: 'retrying', attempts, next })));
    };
    expect(bytesWith({ waitingSince: SOME_TIME }) - bytesWith({})).toBeLessThanOrEqual(50);
    expect(bytesWith({}, [{ reason: 'lag', ms: 480_123 }]) - bytesWith({})).toBeLessThanOrEqual(20);
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
    expect(itemBytes(toDeliveryItem(failed))).toBeLessThan(1024);
    const succeeded = aDelivery({
      status: 'delivered',
      attempts: [anAttempt({ outcome: 'delivered', result: answered(200) })],
    });
    expect(itemBytes(toDeliveryItem(succeeded))).toBeLessThan(512);
  });
});

const itemOf = ({
  key,
  members = new Map(),
  lease,
  acceptedAt,
  updatedAt,
  expiresAt,
}: Chunk): Record<string, unknown> => ({
  ...toChunkItemKey(key),
  v: RECORD_VERSION,
  members: Object.fromEntries([...members].map(([id, state]) => [id, toStateItem(state)])),
  lease,
  acceptedAt,
  updatedAt,
  expiresAt,
  [ttlAttribute]: toTtl(expiresAt),
});

/**
 * Bytes by the rules of "DynamoDB item sizes and formats" (DynamoDB developer guide), with numbers at their
 * longest.
 */
const attributeBytes = (value: AttributeValue): number => {
  if (value.S !== undefined) return Buffer.byteLength(value.S);
  if (value.N !== undefined) return Math.ceil(value.N.replace(/[^0-9]/g, '').length / 2) + 1;
  if (value.L !== undefined) return 3 + value.L.reduce((sum, one) => sum + 1 + attributeBytes(one), 0);
  if (value.M !== undefined)
    return (
      3 + Object.entries(value.M).reduce((sum, [name, one]) => sum + 1 + name.length + attributeBytes(one), 0)
    );
  return 1;
};

const itemBytes = (item: Record<string, unknown>): number =>
  Object.entries(marshall(item)).reduce((sum, [name, value]) => sum + name.length + attributeBytes(value), 0);

describe('the item of a chunk', () => {
  it.each(['ok', undefined])(
    'with ten delivered members takes one write unit, with the snippet %s',
    (snippet) => {
      const success = aFirstSuccess({ durationMs: 1234.5, ...(snippet === undefined ? {} : { snippet }) });
      const chunk = aChunk({
        key: aChunkKey({ queue: 'orders.of-a-long-name.eu-west-1', chunk: 12 }),
        members: new Map(Array.from({ length: 10 }, () => [randomUUID(), success])),
        lease: { owner: `${randomUUID()}/10`, until: SOME_TIME },
      });
      expect(itemBytes(itemOf(chunk))).toBeLessThanOrEqual(1024);
    },
  );

  it.each<[string, Record<string, unknown>, RegExp]>([
    ['of another version', { v: 2 }, /v/],
    ['that is not a chunk', { sk: 'DELIVERY#a' }, /sk/],
    ['with an invalid number', { sk: 'CHUNK#x' }, /sk/],
    ['with an unknown member state', { members: { a: 2 } }, /members\.a/],
    ['with a success without a start time', { members: { a: [null, 1, 200] } }, /members\.a/],
  ])('is not readable %s', (_, change, field) => {
    const item = { ...itemOf(aChunk()), ...change };
    expect(() => chunkOfItem(item)).toThrow(UnreadableRecordError);
    expect(() => chunkOfItem(item)).toThrow(field);
  });
});

describe('a write to a chunk', () => {
  const ids = Array.from({ length: 60 }, () => randomUUID());
  const key = aChunkKey();
  const at = { now: SOME_TIME, retentionMs: RETENTION_MS };
  const successes = new Map(ids.map((id) => [id, aFirstSuccess({ result: answered(200, 'x'.repeat(256)) })]));

  it.each([
    ['claim', claimChunk(key, { acceptedAt: SOME_TIME, members: ids, lease: HOLDER }, at)],
    ['record', recordSuccesses(key, HOLDER.owner, { successes, separate: [], ends: true }, at)],
  ])('is within the limits of an expression with sixty members: a %s', (_, transition) => {
    const { UpdateExpression, ConditionExpression, ...update } = buildChunkUpdate(transition);
    // 4 KB for a text, 300 operators, 255 bytes for a reference ("Constraints in DynamoDB", developer guide).
    for (const text of [UpdateExpression, ConditionExpression]) {
      expect(Buffer.byteLength(text)).toBeLessThanOrEqual(4096);
      expect(text.match(/=|AND|attribute_not_exists/g)?.length ?? 0).toBeLessThanOrEqual(300);
    }
    const referred = { ...update.ExpressionAttributeNames, ...update.ExpressionAttributeValues };
    for (const name of Object.keys(referred))
      expect(`${UpdateExpression} ${ConditionExpression}`).toMatch(new RegExp(`${name}\\b`));
  });

  it('refers to each member by a different name, which contains only allowed characters', () => {
    const odd = ['-a', '_a', 'a', '0', 'a-b', 'a_b', 'members', 'lease'];
    const delivered = new Map(odd.map((id) => [id, aFirstSuccess()]));
    const recorded = { successes: delivered, separate: [], ends: false };
    const names = buildChunkUpdate(recordSuccesses(key, HOLDER.owner, recorded, at)).ExpressionAttributeNames;
    for (const reference of Object.keys(names)) expect(reference).toMatch(/^#[A-Za-z0-9_]{1,254}$/);
    expect(new Set(Object.values(names)).size).toBe(Object.keys(names).length);
    expect(Object.values(names)).toEqual(expect.arrayContaining(odd));
  });
});
