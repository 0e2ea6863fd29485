import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { messageIdOf } from '../../../shared/domain/message/message.ts';
import { parseIngress } from '../../../shared/wire/ingress/message.ts';
import { apiUnderTest, faultOf, NOON } from './api-under-test.ts';

const PATH = '/v2/queues/orders/messages';

describe('POST /v2/queues/{queue}/messages', () => {
  it('publishes each message to the ingress queue and answers with paths and ids', async () => {
    const { call, published } = apiUnderTest();
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

  it('sends messages with the queue as the group, so that SQS treats queues fairly', async () => {
    const groups: (string | undefined)[] = [];
    const { call } = apiUnderTest({
      ingress: {
        publish: (messages) => {
          groups.push(...messages.map(({ group }) => group));
          return Promise.resolve();
        },
      },
    });
    await call('POST', PATH, { messages: [{ body: 1 }, { body: 2 }] });
    await call('POST', '/v2/queues/bills/messages', { messages: [{ body: 3 }] });
    expect(groups).toEqual(['orders', 'orders', 'bills']);
  });

  it('passes on the trace of the request as attributes, and drops an invalid one', async () => {
    const attributes: (Record<string, string> | undefined)[] = [];
    const { call } = apiUnderTest({
      ingress: {
        publish: (messages) => {
          attributes.push(...messages.map((message) => message.attributes));
          return Promise.resolve();
        },
      },
    });
    const trace = { traceparent: `00-${'a'.repeat(32)}-${'b'.repeat(16)}-01`, tracestate: 'vendor=1' };
    const one = { messages: [{ body: 1 }] };
    await call('POST', PATH, one, trace);
    await call('POST', PATH, one, { ...trace, traceparent: 'none' });
    expect(attributes).toEqual([trace, undefined]);
    const full = { messages: [{ body: 'x'.repeat(1_048_576 - 300) }] };
    expect(await call('POST', PATH, full, trace)).toMatchObject({ status: 413 });
    expect(await call('POST', PATH, full)).toMatchObject({ status: 201 });
  });

  it('creates a missing queue, and leaves an existing one unchanged', async () => {
    const { call, registry } = apiUnderTest();
    await call('PUT', '/v2/queues/bills', { team: 'red' });
    await call('POST', '/v2/queues/bills/messages', { messages: [{ body: 1 }] });
    await call('POST', PATH, { messages: [{ body: 1 }] });
    expect(await registry.findQueue('bills')).toMatchObject({ metadata: { team: 'red' } });
    expect(await registry.findQueue('orders')).toEqual({ name: 'orders', metadata: {}, createdAt: NOON });
  });

  it.each([
    '{"b":1,"a":2,"b":3}',
    '12345678901234567890123.00',
    '1e400',
    '{ "spaced" :\t[ 1 ,\n2 ] }',
    '"\\u00fc \\/ \\ud83d\\ude00 ü 😀 ] } , \\" \\\\"',
    '[[],[{}],"],{",{"body":"inner","messages":[{"body":0}]}]',
    'true',
    '""',
    `${'['.repeat(50_000)}${']'.repeat(50_000)}`,
  ])('passes on the data byte for byte: %.40s', async (data) => {
    const { call, published } = apiUnderTest();
    const messages = `\n{"messages" : [ {"id":"a","body": ${data} ,"ttl":1}\t,{ "body":${data}, "id":"b" } ] }`;
    expect(await call('POST', PATH, messages)).toMatchObject({ status: 201 });
    expect(published).toEqual([
      `{"queue":"orders","id":"a","ttl":1,"data":${data}}`,
      `{"queue":"orders","id":"b","data":${data}}`,
    ]);
  });

  it('uses the last of duplicate members, like JSON.parse', async () => {
    const { call, published } = apiUnderTest();
    await call('POST', PATH, '{"messages":[{"body":1}],"messages":[{"id":"a","body":2,"body":3}]}');
    expect(published).toEqual(['{"queue":"orders","id":"a","data":3}']);
  });

  it('sends messages that dispatch parses with the returned id and all fields', async () => {
    const { call, published } = apiUnderTest();
    const message = { id: 'order/7', type: 'order.created', body: { specversion: '1.0' }, ttl: 60, delay: 5 };
    const { body } = await call('POST', PATH, { messages: [message] });
    const received = { body: published[0] ?? '', sqsMessageId: 'sqs-1', sentAt: NOON, attributes: {} };
    const known = messageIdOf({ id: 'order/7' }).id;
    expect(body).toMatchObject({ ids: [known] });
    expect(parseIngress(received, {})).toMatchObject({
      ok: true,
      message: {
        queue: 'orders',
        id: known,
        originalId: 'order/7',
        type: 'order.created',
        data: '{"specversion":"1.0"}',
        expiresAt: NOON + 60_000,
      },
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

  it.each(['order/7', 'ü', 'a b', 'x'.repeat(65), '{"$ne":1}'])(
    'sends the id %s unchanged, and returns the id of the record',
    async (id) => {
      const { call, published } = apiUnderTest();
      const known = messageIdOf({ id }).id;
      expect(await call('POST', PATH, { messages: [{ id, body: 1 }] })).toMatchObject({
        body: { resources: [`${PATH}/${known}`], ids: [known] },
      });
      expect(published).toEqual([JSON.stringify({ queue: 'orders', id, data: 1 })]);
    },
  );

  it.each([
    ['100 messages', { messages: Array.from({ length: 100 }, () => ({ body: 1 })) }],
    ['a ttl of 1 s', { messages: [{ body: 1, ttl: 1 }] }],
    ['a delay of 0 s', { messages: [{ body: 1, delay: 0 }] }],
    ['a delay of 900 s', { messages: [{ body: 1, delay: 900 }] }],
    ['a type of 256 characters', { messages: [{ body: 1, type: 'x'.repeat(256) }] }],
    ['U+FFFF as an escape', '{"messages":[{"body":"\\uffff"}]}'],
  ])('accepts %s', async (_name, body) => {
    const { call } = apiUnderTest();
    expect(await call('POST', PATH, body)).toMatchObject({ status: 201 });
  });

  it('answers 500 if the ingress queue fails, so that the producer retries', async () => {
    const { call, changes } = apiUnderTest({
      ingress: { publish: () => Promise.reject(new Error('throttled')) },
    });
    expect(await call('POST', PATH, { messages: [{ body: 1 }] })).toMatchObject({
      status: 500,
      body: faultOf('internal'),
    });
    expect(changes).toEqual([]);
  });
});
