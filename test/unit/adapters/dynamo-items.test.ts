import { randomUUID } from 'node:crypto';
import type { AttributeValue } from '@aws-sdk/client-dynamodb';
import { marshall, unmarshall } from '@aws-sdk/util-dynamodb';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import * as z from 'zod';
import { chunkOfItem, chunkUpdateOf, stateItemOf } from '../../../shared/adapters/dynamodb/chunks.ts';
import { deliveryItemOf, deliveryOf } from '../../../shared/adapters/dynamodb/delivery-item.ts';
import { chunkItemKeyOf } from '../../../shared/adapters/dynamodb/delivery-keys.ts';
import { RECORD_VERSION, ttlOf, UnreadableRecordError } from '../../../shared/adapters/dynamodb/record.ts';
import {
  queueItemOf,
  queueOf,
  subscriberItemOf,
  subscriptionItemOf,
  subscriptionOf,
} from '../../../shared/adapters/dynamodb/subscription-item.ts';
import { ttlAttribute } from '../../../shared/config/tables.ts';
import type { Chunk, MemberState } from '../../../shared/domain/delivery/chunk.ts';
import type { Status } from '../../../shared/domain/delivery/vocabulary.ts';
import { DEFAULT_RETRY_POLICY } from '../../../shared/domain/retry/policy.ts';
import { aQueue, aSubscription } from '../../support/builders.ts';
import { arbitrarySuccess, arbitraryDelivery } from '../../support/delivery-arbitraries.ts';
import { aChunk, aChunkKey, aFirstSuccess, HOLDER, RETENTION_MS } from '../../support/chunk-builders.ts';
import { aDelivery, aDeliveryKey, anAttempt, answered, SOME_TIME } from '../../support/delivery-builders.ts';
import { claimChunk, recordSuccesses } from '../../../shared/domain/delivery/chunk.ts';

describe('the items of queues and subscriptions', () => {
  it('keep any JSON in the metadata', () => {
    // JSON does not distinguish 0 and -0.
    const metadata = fc.dictionary(fc.string(), fc.jsonValue({ stringUnit: 'grapheme' }));
    const asJson = z.record(z.string(), z.unknown());
    fc.assert(
      fc.property(metadata, (given) => {
        const plain = aQueue({ metadata: asJson.parse(JSON.parse(JSON.stringify(given))) });
        expect(queueOf(queueItemOf(plain))).toEqual(plain);
      }),
    );
  });

  it('keep the previous filter with any property names', () => {
    const filter: unknown = JSON.parse('{"": [1.5e300], "__proto__": {"deep": [{"exists": false}]}}');
    const previousSelection = { event_types: ['a'], filter, until: 7 };
    const read = subscriptionOf(subscriptionItemOf(aSubscription({ previousSelection, confirmedAt: 5 })));
    expect(JSON.stringify(read.previousSelection)).toBe(JSON.stringify(previousSelection));
    expect(read.confirmedAt).toBe(5);
  });

  const slowed = { type: 'subscription.slowed', reason: 'circuit_open', since: 1, until: 9 } as const;
  const pressure = {
    state: 'slowed',
    perSecond: 0.5,
    line: 2,
    askAgainMs: 10_000,
    since: 1,
    at: 2,
  } as const;

  const ofLater = { raw_delivery: true, later: { any: ['thing'] } };

  it.each<[string, Parameters<typeof aSubscription>[0]]>([
    ['options of a later version', { options: ofLater }],
    ['the time of the last change of the limit', { rateChangedAt: 6 }],
    ['the failure streak', { failing: { since: 1, failures: 21, countedAt: 2 }, version: 3 }],
    [
      'a secret with a public key',
      { secrets: [{ sealed: 'a', publicKey: 'whpk_b', expiresAt: 5 }, { sealed: 'c' }] },
    ],
    ['the pressure and its event', { pressure, unsent: { event: slowed, at: 4 } }],
  ])('keep %s', (_what, overrides) => {
    const subscription = aSubscription(overrides);
    expect(subscriptionOf(subscriptionItemOf(subscription))).toEqual(subscription);
  });

  it.each([
    [{ ended: true }, { state: 'ended', since: 1, at: 2 }],
    [{ perSecond: 2 }, { state: 'ending', reason: 'circuit_open', since: 1, at: 2 }],
    [{ state: 'of a later version' }, { state: 'ended', since: 1, at: 2 }],
  ])('read the pressure of other versions: %o', (more, expected) => {
    const item = subscriptionItemOf(aSubscription());
    const pressure = {
      ...('state' in more ? {} : { reason: 'circuit_open', opensAt: 3 }),
      since: 1,
      at: 2,
      ...more,
    };
    expect(subscriptionOf({ ...item, pressure }).pressure).toEqual(expected);
  });

  it('have the events that version 0.1.0 does not know in an attribute that it ignores', () => {
    const item = subscriptionItemOf(aSubscription({ unsent: { event: slowed, at: 4 } }));
    expect(item).toMatchObject({ unsentEvent: { event: slowed } });
    expect(item).not.toHaveProperty('unsent');
  });

  it('have the reason that version 0.1.0 does not know under one that it can read', () => {
    const subscription = aSubscription({ disabled: { reason: 'disable_requested', at: 4 } });
    const item = subscriptionItemOf(subscription);
    expect(item).toMatchObject({ disabled: { reason: 'gone', at: 4 } });
    expect(subscriptionOf(item)).toEqual(subscription);
  });

  it('send the event of version 0.1.0 first if both versions wrote one', () => {
    const item = subscriptionItemOf(aSubscription({ unsent: { event: slowed, at: 4 } }));
    const unsent = { event: { type: 'subscription.recovered', since: 1, at: 2 }, at: 2 } as const;
    expect(subscriptionOf({ ...item, unsent }).unsent).toEqual(unsent);
  });

  it('are read without the reason and the event that a later version wrote', () => {
    const later = { reason: 'later', since: 1, at: 2, opensAt: 3 };
    const event = { event: { ...slowed, reason: 'later' }, at: 4 };
    const subscription = aSubscription();
    const item = { ...subscriptionItemOf(subscription), pressure: later, unsentEvent: event };
    expect(subscriptionOf(item)).toStrictEqual({
      ...subscription,
      pressure: { state: 'ended', since: 1, at: 2 },
    });
  });

  it('have a TTL if a subscription expires, including its claim', () => {
    const expiring = aSubscription({ ttl: 60, expiresAt: 60_001 });
    expect(subscriptionItemOf(expiring)['ttl']).toBe(61);
    expect(subscriberItemOf(expiring)['ttl']).toBe(61);
    expect(subscriptionOf(subscriptionItemOf(expiring)).ttl).toBe(60);
  });

  it('have no TTL if the subscription does not expire', () => {
    expect(subscriptionItemOf(aSubscription())).not.toHaveProperty('ttl');
    expect(subscriberItemOf(aSubscription())).not.toHaveProperty('ttl');
  });

  it('do not contain the URL of a subscriber in a key', () => {
    const { pk, sk } = subscriberItemOf(aSubscription({ subscriber: 'https://user:secret@s.test/' }));
    expect(pk).toBe('QUEUE#orders');
    expect(sk).toMatch(/^URL#[A-Za-z0-9_-]{43}$/);
  });

  it.each([
    ['of another version', { v: 2 }],
    ['with metadata that is not JSON', { metadata: '{' }],
    ['with metadata that is not an object', { metadata: '[1]' }],
  ])('are rejected %s', (_, change) => {
    expect(() => queueOf({ ...queueItemOf(aQueue()), ...change })).toThrow(UnreadableRecordError);
  });
});

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

const itemOf = ({ key, members = new Map(), excluded, lease, ...times }: Chunk): Record<string, unknown> => ({
  ...chunkItemKeyOf(key),
  v: RECORD_VERSION,
  members: Object.fromEntries([...members].map(([id, state]) => [id, stateItemOf(state)])),
  ...(excluded.size === 0 ? {} : { early: excluded }),
  ...(lease === undefined ? {} : { lease }),
  ...times,
  [ttlAttribute]: ttlOf(times.expiresAt),
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

const state: fc.Arbitrary<MemberState> = fc.oneof(
  fc.constantFrom<MemberState[]>('pending', 'separate'),
  arbitrarySuccess,
);

/** Any subscription id except `__proto__`, which is special on objects; real ids are UUIDs. */
const memberId = fc.stringMatching(/^[A-Za-z0-9_-]{1,64}$/).filter((id) => id !== '__proto__');

describe('the item of a chunk', () => {
  it('is read back unchanged for any member ids and states', () => {
    const members = fc.array(fc.tuple(memberId, state), {
      minLength: 1,
    });
    fc.assert(
      fc.property(members, fc.boolean(), (entries, isEarly) => {
        const chunk = aChunk({
          members: new Map(entries),
          ...(isEarly ? { excluded: new Set(['s-1', '2']) } : {}),
        });
        expect(chunkOfItem(itemOf(chunk))).toEqual(chunk);
      }),
    );
  });

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
    const update = chunkUpdateOf(transition);
    const { UpdateExpression, ConditionExpression, ExpressionAttributeNames, ExpressionAttributeValues } =
      update;
    // 4 KB for a text, 300 operators, 255 bytes for a reference ("Constraints in DynamoDB", developer guide).
    for (const text of [UpdateExpression, ConditionExpression]) {
      expect(Buffer.byteLength(text)).toBeLessThanOrEqual(4096);
      expect(text.match(/=|AND|attribute_not_exists/g)?.length ?? 0).toBeLessThanOrEqual(300);
    }
    const used = `${UpdateExpression} ${ConditionExpression}`;
    for (const name of [...Object.keys(ExpressionAttributeNames), ...Object.keys(ExpressionAttributeValues)])
      expect(used).toMatch(new RegExp(`${name}\\b`));
  });

  it('refers to each member by a different name, which contains only allowed characters', () => {
    const odd = ['-a', '_a', 'a', '0', 'a-b', 'a_b', 'members', 'lease'];
    const update = chunkUpdateOf(
      recordSuccesses(
        key,
        HOLDER.owner,
        { successes: new Map(odd.map((id) => [id, aFirstSuccess()])), separate: [], ends: false },
        at,
      ),
    );
    const names = update.ExpressionAttributeNames;
    for (const reference of Object.keys(names)) expect(reference).toMatch(/^#[A-Za-z0-9_]{1,254}$/);
    expect(new Set(Object.values(names)).size).toBe(Object.keys(names).length);
    expect(Object.values(names)).toEqual(expect.arrayContaining(odd));
  });
});
