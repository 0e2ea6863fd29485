import { beforeEach, describe, expect, it } from 'vitest';
import { chunkedDeliveries } from '../../../functions/api/deliveries/of-subscription.ts';
import { ContendedError } from '../../../shared/domain/contention.ts';
import {
  type Chunk,
  claimChunk,
  deliveryIn,
  recordSuccesses,
  removeMember,
} from '../../../shared/domain/delivery/chunk.ts';
import {
  type Delivery,
  type DeliveryKey,
  isOpen,
  type OpenDelivery,
} from '../../../shared/domain/delivery/delivery.ts';
import { bucketOf } from '../../../shared/domain/delivery/fan-out.ts';
import { cancelBeforeFirstAttempt, cancelOpen } from '../../../shared/domain/delivery/interventions.ts';
import { confirmationMessage } from '../../../shared/domain/message/confirmation-request.ts';
import type { Message } from '../../../shared/domain/message/message.ts';
import { DEFAULT_RETRY_POLICY } from '../../../shared/domain/retry/policy.ts';
import { tokenHashOf } from '../../../shared/domain/subscription/confirmation.ts';
import type { SubscriptionOptions } from '../../../shared/domain/subscription/subscription.ts';
import { deliveryDetailSchema, deliveryView } from '../../../shared/wire/views/delivery.ts';
import { aBarePolicy, aMessage, aQueue, aSubscription } from '../../support/builders.ts';
import { aChunkKey, aFirstSuccess, HOLDER, RETENTION_MS } from '../../support/chunk-builders.ts';
import { aDelivery, aDeliveryKey, anAttempt, SOME_TIME } from '../../support/delivery-builders.ts';
import { inMemoryChunks } from '../../support/in-memory/in-memory-chunks.ts';
import { inMemoryDeliveries } from '../../support/in-memory/in-memory-deliveries.ts';
import { apiUnderTest, faultOf, NOON } from './api-under-test.ts';
import { recordAll, recordMessage } from './recorded.ts';

const PATH = '/v2/queues/orders/messages/order-7/deliveries/s-1';
const place = { messageId: 'order-7', subscriptionId: 's-1' };

const detailOf = async ({ call }: Pick<ReturnType<typeof apiUnderTest>, 'call'>, path = PATH) => {
  const { status, body } = await call('GET', path);
  expect(status).toBe(200);
  return deliveryDetailSchema.strict().parse(body);
};

describe('GET /v2/queues/{queue}/messages/{id}/deliveries/{subscription}', () => {
  it('shows all attempts, the policy and the planned attempts', async () => {
    const api = apiUnderTest();
    await recordMessage(api, { messageId: 'order-7' });
    const policy = aBarePolicy({ minimum_delay_retries: 3, minimum_delay: 60, maximum_delay: 60 });
    const [delivery = aDelivery()] = await recordAll(api, [
      {
        ...place,
        attempts: [anAttempt({ startedAt: NOON, durationMs: 1000 })],
        next: { number: 2, phase: 'pre_backoff', dueAt: NOON + 61_000, by: 'sqs_delay' },
        policy,
      },
    ]);
    expect(await detailOf(api)).toEqual({
      ...deliveryView(delivery),
      policy,
      policySource: 'delivery',
      planned: [
        { number: 2, phase: 'pre_backoff', dueAt: '2026-11-21T12:01:01.000Z' },
        { number: 3, phase: 'pre_backoff', dueAt: '2026-11-21T12:02:01.000Z' },
        { number: 4, phase: 'pre_backoff', dueAt: '2026-11-21T12:03:01.000Z' },
      ],
    });
  });

  it('shows no planned attempts once the delivery has ended', async () => {
    const api = apiUnderTest();
    await recordMessage(api, { messageId: 'order-7' });
    await recordAll(api, [
      { ...place, status: 'delivered', attempts: [anAttempt({ outcome: 'delivered' })] },
    ]);
    expect(await detailOf(api)).toMatchObject({ status: 'delivered', planned: [] });
  });

  it.each([
    ['subscription', { minimum_delay: 7 }, { minimum_delay: 8 }, { minimum_delay: 7 }],
    ['queue', undefined, { minimum_delay: 8 }, { minimum_delay: 8 }],
    [
      'queue',
      { minimum_delay: 7 },
      { minimum_delay: 8, ignore_subscription_override: true },
      { minimum_delay: 8, ignore_subscription_override: true },
    ],
    ['defaults', undefined, undefined, {}],
  ])(
    'shows the policy of the %s if the delivery has none yet',
    async (source, ofSubscription, ofQueue, expected) => {
      const api = apiUnderTest();
      await api.registry.putQueue(aQueue(ofQueue === undefined ? {} : { retryPolicy: ofQueue }));
      await api.registry.addSubscription(
        aSubscription({
          id: 's-1',
          options: ofSubscription === undefined ? {} : { _retry_policy: ofSubscription },
        }),
      );
      await recordMessage(api, { messageId: 'order-7' });
      await recordAll(api, [{ ...place, status: 'pending' }]);
      const { policy, policySource, planned } = await detailOf(api);
      expect({ policy, policySource }).toEqual({
        policy: { ...DEFAULT_RETRY_POLICY, ...expected },
        policySource: source,
      });
      expect(planned).toHaveLength(20);
      expect(planned[0]).toMatchObject({ number: 1, phase: 'initial' });
    },
  );

  it('shows the default policy if queue and subscription are deleted', async () => {
    const api = apiUnderTest();
    await recordMessage(api, { messageId: 'order-7' });
    await recordAll(api, [{ ...place, status: 'cancelled', reason: 'subscription_deleted' }]);
    expect(await detailOf(api)).toMatchObject({ policySource: 'defaults', planned: [] });
  });

  it('finds the delivery in its bucket', async () => {
    const api = apiUnderTest();
    await recordMessage(api, { messageId: 'order-7', buckets: 7 });
    const bucket = bucketOf('s-1', 7);
    expect(bucket).toBeGreaterThan(0);
    const create = aDelivery({ key: aDeliveryKey({ queue: 'orders', ...place, bucket }) });
    await api.deliveries.write({ name: 'open', key: create.key, expect: { kind: 'absent' }, create });
    expect(await detailOf(api)).toMatchObject(place);
  });

  it.each([
    '/v2/queues/orders/messages/order-7/deliveries/s-2',
    '/v2/queues/orders/messages/order-8/deliveries/s-1',
    '/v2/queues/bills/messages/order-7/deliveries/s-1',
    '/v2/queues/orders/messages/order-7/deliveries/a%00b',
  ])('answers 404 to %s', async (path) => {
    const api = apiUnderTest();
    await recordMessage(api, { messageId: 'order-7' });
    await recordAll(api, [place]);
    expect(await api.call('GET', path)).toMatchObject({ status: 404, body: faultOf('not_found') });
  });
});

const ID = 'subscription-1';

let api: ReturnType<typeof apiUnderTest>;

const subscribed = async (options: SubscriptionOptions = {}): Promise<void> => {
  await api.registry.putQueue(aQueue());
  await api.registry.addSubscription(aSubscription({ id: ID, options }));
};

const recorded = (message: Message, isKept = true) =>
  api.messageRecords.accept({
    key: { queue: 'orders', messageId: message.id },
    acceptedAt: NOON,
    listedAt: NOON,
    matched: 1,
    filtered: 0,
    duplicates: 0,
    buckets: 1,
    expiresAt: NOON + 1_000_000,
    ...(isKept && { body: { kind: 'inline', message } as const }),
  });

const payloadOf = (messageId: string, subscription = ID) =>
  api.call('GET', `/v2/queues/orders/messages/${messageId}/deliveries/${subscription}/payload`);

describe('GET …/deliveries/{subscription}/payload', () => {
  beforeEach(() => {
    api = apiUnderTest();
  });

  it.each<[string, SubscriptionOptions, RegExp]>([
    ['the standard body', {}, /^\{"id":"m1","queue":"orders",.*"data":12345678901234567890\}$/],
    ['the bare data', { raw_delivery: true }, /^12345678901234567890$/],
    ['a template', { post_data: '["$zaqar_message$"]' }, /^\[\{"id":"m1",.*\}\]$/],
  ])('shows %s as deliver sends it', async (_, options, body) => {
    await subscribed(options);
    await recorded(aMessage({ id: 'm1', data: '12345678901234567890' }));
    expect(await payloadOf('m1')).toMatchObject({
      status: 200,
      body: { body: expect.stringMatching(body) as string },
    });
  });

  it('shows nothing while the message is not stored', async () => {
    await subscribed();
    await recorded(aMessage({ id: 'm1' }), false);
    expect(await payloadOf('m1')).toMatchObject({ status: 200, body: {} });
  });

  it('does not show the link of a confirmation request', async () => {
    await subscribed();
    const link = { tokenHash: tokenHashOf('token'), confirmUrl: 'https://api.example/confirm?token=secret' };
    const message = confirmationMessage({ queue: 'orders', id: ID }, link, NOON);
    await recorded(message);
    const { status, body } = await payloadOf(message.id);
    expect(status).toBe(200);
    expect(JSON.stringify(body)).toContain('***');
    expect(JSON.stringify(body)).not.toContain('secret');
  });

  it('says why a message cannot be rendered', async () => {
    api = apiUnderTest({ render: () => Promise.resolve({ kind: 'unrendered', detail: 'no such field' }) });
    await subscribed();
    await recorded(aMessage({ id: 'm1' }));
    expect(await payloadOf('m1')).toMatchObject({ status: 200, body: { fault: 'no such field' } });
  });

  it('answers 404 for an unknown message or subscription', async () => {
    await subscribed();
    await recorded(aMessage({ id: 'm1' }));
    for (const answer of [await payloadOf('m2'), await payloadOf('m1', 'another')])
      expect(answer).toMatchObject({ status: 404, body: faultOf('not_found') });
  });
});

describe('deliveries in chunks', () => {
  const at = { now: SOME_TIME, retentionMs: RETENTION_MS };

  const place = aChunkKey();

  const { queue, messageId, bucket, chunk } = place;

  const keyOf = (subscriptionId: string): DeliveryKey => ({
    queue,
    messageId,
    subscriptionId,
    bucket,
    chunk,
  });

  const claim = claimChunk(place, { acceptedAt: SOME_TIME, members: ['a', 'b'], lease: HOLDER }, at);

  let records: ReturnType<typeof inMemoryDeliveries>;

  let chunks: ReturnType<typeof inMemoryChunks>;

  beforeEach(() => {
    records = inMemoryDeliveries();
    chunks = inMemoryChunks(records);
  });

  const deliveries = () => chunkedDeliveries({ deliveries: records, chunks });

  const found = async (id: string): Promise<Delivery> => {
    const delivery = await deliveries().find(keyOf(id));
    if (delivery === undefined) throw new Error(`Delivery ${id} is not on record`);
    return delivery;
  };

  const foundOpen = async (id: string): Promise<OpenDelivery> => {
    const delivery = await found(id);
    if (!isOpen(delivery)) throw new Error(`Delivery ${id} is ${delivery.status}`);
    return delivery;
  };

  /** What a concurrent change does. */
  const takeOut = async (id: string): Promise<unknown> => {
    const delivery = await found(id);
    return chunks.takeOut(removeMember(place, id, 'pending', delivery), delivery);
  };

  const currentChunk = async (): Promise<Chunk> => {
    const current = await chunks.find(place);
    if (current === undefined) throw new Error('The chunk is not on record');
    return current;
  };

  /** A port that runs a function before the n-th call of a method. */
  const before = <Port extends object>(
    port: Port,
    name: keyof Port,
    nth: number,
    happens: () => Promise<unknown>,
  ): Port => {
    let calls = 0;
    return new Proxy(port, {
      get: (target, property) => {
        const method: unknown = Reflect.get(target, property);
        if (property !== name || typeof method !== 'function') return method;
        return async (...given: unknown[]): Promise<unknown> => {
          calls += 1;
          if (calls === nth) await happens();
          return Reflect.apply(method as (...given: unknown[]) => unknown, target, given);
        };
      },
    });
  };

  describe('a delivery in a chunk or in a separate record', () => {
    it('is not found before its chunk is claimed', async () => {
      expect(await deliveries().find(keyOf('a'))).toBeUndefined();
    });

    it('is found as its chunk describes it', async () => {
      await chunks.write(claim);
      expect(await deliveries().find(keyOf('a'))).toMatchObject({
        key: keyOf('a'),
        status: 'pending',
        lease: HOLDER,
        attempts: [],
      });
      const successes = new Map([['a', aFirstSuccess()]]);
      await chunks.write(recordSuccesses(place, HOLDER.owner, { successes, separate: [], ends: false }, at));
      expect(await deliveries().find(keyOf('a'))).toMatchObject({
        status: 'delivered',
        attempts: [{ ...aFirstSuccess(), number: 1, outcome: 'delivered' }],
      });
      expect((await deliveries().find(keyOf('b')))?.status).toBe('pending');
      expect(await deliveries().find(keyOf('c'))).toBeUndefined();
    });

    it('is read from its separate record if it has one', async () => {
      await chunks.write(claim);
      const delivery = aDelivery({ ...(await found('a')), status: 'retrying' });
      await records.write({
        name: 'record',
        key: delivery.key,
        expect: { kind: 'absent' },
        create: delivery,
      });
      expect((await currentChunk()).members?.get('a')).toBe('pending');
      expect((await found('a')).status).toBe('retrying');
    });

    it('is found if it leaves its chunk between two reads', async () => {
      await chunks.write(claim);
      const leaving = before(chunks, 'find', 1, () => takeOut('a'));
      const delivery = await chunkedDeliveries({ deliveries: records, chunks: leaving }).find(keyOf('a'));
      expect(delivery).toMatchObject({ status: 'pending', lease: HOLDER });
    });

    it('is read only from its separate record if its key has no chunk', async () => {
      const alone = { queue, messageId, subscriptionId: 'a', bucket };
      const unasked = before(chunks, 'find', 1, () => Promise.reject(new Error('The chunk was read')));
      expect(await chunkedDeliveries({ deliveries: records, chunks: unasked }).find(alone)).toBeUndefined();
    });
  });

  describe('a change of a delivery in a chunk', () => {
    it('moves it to a separate record, and marks that in the chunk', async () => {
      await chunks.write(claim);
      const result = await deliveries().write(cancelOpen(await foundOpen('a'), 'manual', at));
      expect(result).toMatchObject({ kind: 'written', delivery: { status: 'cancelled', reason: 'manual' } });
      expect((await currentChunk()).members).toEqual(
        new Map([
          ['a', 'separate'],
          ['b', 'pending'],
        ]),
      );
    });

    it('is refused if the delivery has changed since it was read', async () => {
      await chunks.write(claim);
      const seen = await foundOpen('a');
      const successes = new Map([['a', aFirstSuccess()]]);
      await chunks.write(recordSuccesses(place, HOLDER.owner, { successes, separate: [], ends: false }, at));
      const result = await deliveries().write(cancelOpen(seen, 'manual', at));
      expect(result).toMatchObject({ kind: 'refused', current: { status: 'delivered' } });
    });

    it('is made once if several requests try', async () => {
      await chunks.write(claim);
      const seen = await foundOpen('a');
      const results = await Promise.all(
        [1, 2, 3].map(() => deliveries().write(cancelOpen(seen, 'manual', at))),
      );
      expect(results.filter(({ kind }) => kind === 'written')).toHaveLength(1);
    });

    it('is made if a concurrent request moves the delivery first', async () => {
      await chunks.write(claim);
      const seen = await foundOpen('a');
      const raced = before(chunks, 'takeOut', 1, () => takeOut('a'));
      const result = await chunkedDeliveries({ deliveries: records, chunks: raced }).write(
        cancelOpen(seen, 'manual', at),
      );
      expect(result.kind).toBe('written');
    });

    it('is refused if the delivery is not on record', async () => {
      await chunks.write(claim);
      const seen = { ...(await foundOpen('a')), key: keyOf('z') };
      expect(await deliveries().write(cancelOpen(seen, 'manual', at))).toEqual({
        kind: 'refused',
        current: undefined,
      });
    });

    it('throws after four tries if the delivery cannot be moved', async () => {
      await chunks.write(claim);
      let tries = 0;
      const refusing = {
        ...chunks,
        takeOut: () => {
          tries += 1;
          return Promise.resolve('refused' as const);
        },
      };
      const writing = chunkedDeliveries({ deliveries: records, chunks: refusing }).write(
        cancelOpen(await foundOpen('a'), 'manual', at),
      );
      await expect(writing).rejects.toThrow(ContendedError);
      expect(tries).toBe(4);
    });
  });

  describe('a record for a delivery that has not begun', () => {
    const create = cancelBeforeFirstAttempt({ key: keyOf('a'), acceptedAt: SOME_TIME }, 'manual', at);

    it('is marked in its chunk, so that the claim skips it', async () => {
      expect(await deliveries().write(create)).toMatchObject({
        kind: 'written',
        delivery: { status: 'cancelled' },
      });
      expect((await currentChunk()).excluded).toEqual(new Set(['a']));
      const result = await chunks.write(claim);
      expect(result.kind).toBe('written');
      expect(deliveryIn(await currentChunk(), 'a')).toBeUndefined();
      expect((await found('a')).status).toBe('cancelled');
    });

    it('is refused if the delivery is on record, in its chunk or separately', async () => {
      await chunks.write(claim);
      expect(await deliveries().write(create)).toMatchObject({ kind: 'refused', current: { lease: HOLDER } });
      await takeOut('a');
      expect(await deliveries().write(create)).toMatchObject({ kind: 'refused', current: { lease: HOLDER } });
    });

    it('is refused if its chunk is claimed at the same moment', async () => {
      const raced = before(chunks, 'takeOut', 1, () => chunks.write(claim));
      const result = await chunkedDeliveries({ deliveries: records, chunks: raced }).write(create);
      expect(result).toMatchObject({ kind: 'refused', current: { status: 'pending', lease: HOLDER } });
      expect(records.records.size).toBe(0);
    });

    it('is written without its chunk if the chunk was claimed without it', async () => {
      await chunks.write(claim);
      const other = cancelBeforeFirstAttempt({ key: keyOf('z'), acceptedAt: SOME_TIME }, 'manual', at);
      expect((await deliveries().write(other)).kind).toBe('written');
      expect((await currentChunk()).excluded).toEqual(new Set());
      expect((await found('z')).status).toBe('cancelled');
    });
  });
});
