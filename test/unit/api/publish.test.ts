import fc from 'fast-check';
import { describe, expect, vi } from 'vitest';
import { toMessageId } from '../../../shared/domain/message/message.ts';
import {
  buildConfirmationId,
  CONFIRMATION_TYPE,
  hashToken,
} from '../../../shared/domain/subscription/confirmation.ts';
import { addSubscription } from '../../support/add-subscription.ts';
import { aQueue, aSubscription } from '../../support/builders.ts';
import { parseIngress } from '../../../shared/wire/ingress/message.ts';
import { apiUnderTest, invalid, it, NOON, NOTHING, QUEUE, refusal, itWithOrders } from './api-test.ts';

const PATH = `${QUEUE}/messages`;
const ONE_MESSAGE = { messages: [{ body: 1 }] };

describe('POST /v2/queues/{queue}/messages', () => {
  it('publishes each message to the ingress queue and answers with paths and ids', async ({ api }) => {
    const { call, published } = api;
    const messages = [
      { id: 'order-7', type: 'order.created', body: { total: 1 }, ttl: 60, delay: 5 },
      { body: null },
    ];
    expect(await call('POST', PATH, { messages })).toMatchObject({
      status: 201,
      body: { resources: [`${PATH}/order-7`, `${PATH}/id-1`], ids: ['order-7', 'id-1'] },
    });
    expect(published).toEqual([
      '{"queue":"orders","id":"order-7","type":"order.created","ttl":60,"delay":5,"data":{"total":1}}',
      '{"queue":"orders","id":"id-1","data":null}',
    ]);
  });

  it('sends messages with the queue as the group, so that SQS treats queues fairly', async ({ api }) => {
    const publish = vi.spyOn(api.dependencies.ingress, 'publish');
    await api.call('POST', PATH, { messages: [{ body: 1 }, { body: 2 }] });
    await api.call('POST', '/v2/queues/bills/messages', { messages: [{ body: 3 }] });
    const groups = publish.mock.calls.flatMap(([messages]) => messages.map(({ group }) => group));
    expect(groups).toEqual(['orders', 'orders', 'bills']);
  });

  it('passes on the trace of the request as attributes, and drops an invalid one', async ({ api }) => {
    const publish = vi.spyOn(api.dependencies.ingress, 'publish');
    const trace = { traceparent: `00-${'a'.repeat(32)}-${'b'.repeat(16)}-01`, tracestate: 'vendor=1' };
    await api.call('POST', PATH, ONE_MESSAGE, trace);
    await api.call('POST', PATH, ONE_MESSAGE, { ...trace, traceparent: 'none' });
    const sent = publish.mock.calls.flatMap(([messages]) => messages.map(({ attributes }) => attributes));
    expect(sent).toEqual([trace, undefined]);
    const full = { messages: [{ body: 'x'.repeat(1_048_576 - 300) }] };
    expect(await api.call('POST', PATH, full, trace)).toMatchObject({ status: 413 });
    expect(await api.call('POST', PATH, full)).toMatchObject({ status: 201 });
  });

  it('creates a missing queue, and leaves an existing one unchanged', async ({ call, registry }) => {
    await call('PUT', '/v2/queues/bills', { team: 'red' });
    await call('POST', '/v2/queues/bills/messages', ONE_MESSAGE);
    await call('POST', PATH, ONE_MESSAGE);
    expect(await registry.findQueue('bills')).toMatchObject({ metadata: { team: 'red' } });
    expect(await registry.findQueue('orders')).toEqual({ name: 'orders', metadata: {}, createdAt: NOON });
  });

  it.for<[string, boolean, object?]>([
    ['is missing', true],
    ['has no subscription', true],
    ['has an expired subscription only', true, { expiresAt: NOON }],
    ['has an unconfirmed subscription only', true, { unconfirmed: { tokenHash: 'hash', at: 1 } }],
    ['has a deleted subscription only', true, { deletedAt: 1 }],
    ['has a disabled subscription', false, { disabled: { reason: 'manual', at: 1 } }],
    ['has a subscription', false, {}],
  ])(
    'says whether no subscription can match, where the queue %s: %s',
    async ([what, isSaid, one], { api }) => {
      const { call, registry } = api;
      if (what !== 'is missing') await registry.putQueue(aQueue());
      if (one !== undefined) await addSubscription(registry, aSubscription(one));
      const { status, body } = await call('POST', PATH, ONE_MESSAGE);
      expect({ status, body }).toEqual({
        status: 201,
        body: { resources: [`${PATH}/id-1`], ids: ['id-1'], ...(isSaid && { noSubscription: true }) },
      });
    },
  );

  it('does not say so where it read a part of the subscriptions', async ({ call, registry }) => {
    await registry.putQueue(aQueue());
    for (const id of ['a', 'b'])
      await addSubscription(
        registry,
        aSubscription({ id, subscriber: `https://${id}.example`, deletedAt: 1 }),
      );
    expect((await call('POST', PATH, ONE_MESSAGE)).body).not.toHaveProperty('noSubscription');
  });

  it('writes nothing to a queue that exists', async ({ call, registry }) => {
    await registry.putQueue(aQueue());
    const write = vi.spyOn(registry, 'ensureQueue');
    await call('POST', PATH, ONE_MESSAGE);
    expect(write).not.toHaveBeenCalled();
  });

  it.for([
    '{"b":1,"a":2,"b":3}',
    '12345678901234567890123.00',
    '1e400',
    '{ "spaced" :\t[ 1 ,\n2 ] }',
    '"\\u00fc \\/ \\ud83d\\ude00 ü 😀 ] } , \\" \\\\"',
    '[[],[{}],"],{",{"body":"inner","messages":[{"body":0}]}]',
    'true',
    '""',
    `${'['.repeat(50_000)}${']'.repeat(50_000)}`,
  ])('passes on the data byte for byte: %.40s', async (data, { call, published }) => {
    const messages = `\n{"messages" : [ {"id":"a","body": ${data} ,"ttl":1}\t,{ "body":${data}, "id":"b" } ] }`;
    expect(await call('POST', PATH, messages)).toMatchObject({ status: 201 });
    expect(published).toEqual([
      `{"queue":"orders","id":"a","ttl":1,"data":${data}}`,
      `{"queue":"orders","id":"b","data":${data}}`,
    ]);
  });

  it('uses the last of duplicate members, like JSON.parse', async ({ call, published }) => {
    await call('POST', PATH, '{"messages":[{"body":1}],"messages":[{"id":"a","body":2,"body":3}]}');
    expect(published).toEqual(['{"queue":"orders","id":"a","data":3}']);
  });

  it('sends what dispatch parses with the returned id and all fields', async ({ call, published }) => {
    const message = { id: 'order/7', type: 'order.created', body: { specversion: '1.0' }, ttl: 60, delay: 5 };
    const { body } = await call('POST', PATH, { messages: [message] });
    const received = { body: published[0] ?? '', sqsMessageId: 'sqs-1', sentAt: NOON, attributes: {} };
    const { id } = toMessageId({ id: 'order/7' });
    expect(body).toMatchObject({ ids: [id] });
    const sent = { queue: 'orders', id, originalId: 'order/7', type: 'order.created' };
    expect(parseIngress(received, {})).toMatchObject({
      ok: true,
      message: { ...sent, data: '{"specversion":"1.0"}', expiresAt: NOON + 60_000 },
      delaySeconds: 5,
    });
  });

  it('publishes any JSON unchanged', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(fc.json(), { minLength: 1, maxLength: 20 }), async (bodies) => {
        const { call, published } = apiUnderTest();
        const messages = bodies.map((body, index) => `{"body":${body},"id":"m${index}"}`);
        await call('POST', PATH, `{"messages":[${messages.join(' , ')}]}`);
        expect(published).toEqual(
          bodies.map((body, index) => `{"queue":"orders","id":"m${index}","data":${body}}`),
        );
      }),
    );
  });

  it.for(['order/7', 'ü', 'a b', 'x'.repeat(65), '{"$ne":1}'])(
    'sends the id %s unchanged, and returns the id of the record',
    async (id, { call, published }) => {
      const known = toMessageId({ id }).id;
      expect(await call('POST', PATH, { messages: [{ id, body: 1 }] })).toMatchObject({
        body: { resources: [`${PATH}/${known}`], ids: [known] },
      });
      expect(published).toEqual([JSON.stringify({ queue: 'orders', id, data: 1 })]);
    },
  );

  it.for([
    ['100 messages', { messages: Array.from({ length: 100 }, () => ({ body: 1 })) }],
    ['a ttl of 1 s', { messages: [{ body: 1, ttl: 1 }] }],
    ['a delay of 0 s', { messages: [{ body: 1, delay: 0 }] }],
    ['a delay of 900 s', { messages: [{ body: 1, delay: 900 }] }],
    ['a type of 256 characters', { messages: [{ body: 1, type: 'x'.repeat(256) }] }],
    ['U+FFFF as an escape', '{"messages":[{"body":"\\uffff"}]}'],
  ] as const)('accepts %s', async ([_name, body], { call }) => {
    expect(await call('POST', PATH, body)).toMatchObject({ status: 201 });
  });

  it('answers 500 if the ingress queue fails, so that the producer retries', async ({ api }) => {
    vi.spyOn(api.dependencies.ingress, 'publish').mockRejectedValue(new Error('throttled'));
    expect(await api.call('POST', PATH, ONE_MESSAGE)).toMatchObject(refusal('internal'));
    expect(api.changes).toEqual([]);
  });
});

const confirmationId = buildConfirmationId({ tokenHash: hashToken('a token') });

describe('POST /v2/queues/{queue}/messages refuses', () => {
  const second = (message: unknown) => ({ messages: [{ body: 'good' }, message] });
  const refused: [string, unknown, string][] = [
    ['a body that is not an object', '[]', 'body'],
    ['no messages', {}, 'messages'],
    ['messages of null', { messages: null }, 'messages'],
    ['one message outside a list', { messages: { body: 1 } }, 'messages'],
    ['an empty list', { messages: [] }, 'messages'],
    ['101 messages', { messages: Array.from({ length: 101 }, () => ({ body: 1 })) }, 'messages'],
    ['an unknown key beside the messages', { messages: [{ body: 1 }], queue: 'bills' }, 'queue'],
    ['a message that is text', second('text'), 'messages[1]'],
    ['a message of null', second(null), 'messages[1]'],
    ['a message without body', second({ ttl: 60 }), 'messages[1].body'],
    ['an unknown key', second({ body: 1, priority: 9 }), 'messages[1].priority'],
    ['an id that is not text', second({ body: 1, id: 7 }), 'messages[1].id'],
    ['an empty id', second({ body: 1, id: '' }), 'messages[1].id'],
    ['an id too long', second({ body: 1, id: 'x'.repeat(1025) }), 'messages[1].id'],
    ['a control character in an id', second({ body: 1, id: 'a\u0000' }), 'messages[1].id'],
    ['a lone surrogate in an id', second({ body: 1, id: '\ud83d' }), 'messages[1].id'],
    ['the type of confirmation requests', second({ body: 1, type: CONFIRMATION_TYPE }), 'messages[1].type'],
    ['the id of a confirmation request', second({ body: 1, id: confirmationId }), 'messages[1].id'],
    ['a type that is not text', second({ body: 1, type: ['a'] }), 'messages[1].type'],
    ['an empty type', second({ body: 1, type: '' }), 'messages[1].type'],
    ['a type too long', second({ body: 1, type: 'x'.repeat(257) }), 'messages[1].type'],
    ['a line break in a type', second({ body: 1, type: 'a\nb' }), 'messages[1].type'],
    ['U+FFFF in a type', second({ body: 1, type: '\uffff' }), 'messages[1].type'],
    ['a ttl of 0', second({ body: 1, ttl: 0 }), 'messages[1].ttl'],
    ['a ttl as text', second({ body: 1, ttl: '60' }), 'messages[1].ttl'],
    ['a ttl of null', second({ body: 1, ttl: null }), 'messages[1].ttl'],
    ['a ttl of half a second', second({ body: 1, ttl: 0.5 }), 'messages[1].ttl'],
    ['a ttl over ten years', second({ body: 1, ttl: 315_360_001 }), 'messages[1].ttl'],
    ['a negative delay', second({ body: 1, delay: -1 }), 'messages[1].delay'],
    ['a delay over 900 s', second({ body: 1, delay: 901 }), 'messages[1].delay'],
    ['a delay of true', second({ body: 1, delay: true }), 'messages[1].delay'],
    ['an unescaped U+FFFF in the data', second({ body: '\uffff' }), 'messages[1].body'],
  ];

  it.for(refused)(
    '%s, and publishes none of the valid messages',
    async ([_name, body, field], { call, world }) => {
      expect(await call('POST', PATH, body)).toMatchObject(invalid(field));
      expect(await world()).toEqual(NOTHING);
    },
  );

  it('a message that is too large for SQS with the added fields', async ({ call, world }) => {
    const empty = '{"messages":[{"body":""}]}';
    const body = empty.replace('""', `"${'x'.repeat(1_048_576 - empty.length)}"`);
    expect(await call('POST', PATH, body)).toMatchObject(refusal('too_large', 'messages[0].body'));
    expect(await world()).toEqual(NOTHING);
  });

  it('no message that just fits into an SQS message', async ({ call, published }) => {
    const room = 1_048_576 - '{"queue":"orders","id":"id-1","data":""}'.length;
    expect(await call('POST', PATH, { messages: [{ body: 'x'.repeat(room) }] })).toMatchObject({
      status: 201,
    });
    expect(Buffer.byteLength(published[0] ?? '')).toBe(1_048_576);
  });
});

const schema = { properties: { total: { type: 'integer' } } };
const VALID = { type: 'order.created', body: { total: 1 } };
const INVALID = { type: 'order.created', body: { total: 'secret' } };

describe('POST /v2/queues/{queue}/messages with checks', () => {
  itWithOrders(
    'names each message that the catalogue refuses, and publishes none',
    async ({ call, published }) => {
      await call('PUT', '/v2/event-types/order.created', { schema });
      await call('PUT', '/v2/queues/orders', { _event_validation: 'reject' });
      const answer = await call('POST', PATH, {
        messages: [VALID, INVALID, { type: 'order.deleted', body: 1 }, { body: 2 }],
      });

      expect(answer).toMatchObject(invalid('messages[1].body/total', 'messages[2].type'));
      expect(published).toEqual([]);
    },
  );

  itWithOrders.for(['off', 'warn'])(
    'publishes what does not fit where the queue says %s',
    async (mode, { call, published }) => {
      await call('PUT', '/v2/event-types/order.created', { schema });
      await call('PUT', '/v2/queues/orders', { _event_validation: mode });
      expect((await call('POST', PATH, { messages: [INVALID] })).status).toBe(201);
      expect(published).toHaveLength(1);
    },
  );
});
