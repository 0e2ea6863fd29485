import { describe, expect, it } from 'vitest';
import { messageIdOf } from '../../../shared/domain/message/message.ts';
import { payloadKeyOf } from '../../../shared/domain/message/body.ts';
import { messageViewSchema } from '../../../shared/wire/views/message.ts';
import { aMessage } from '../../support/builders.ts';
import { apiUnderTest, CALLER, faultOf, NOON } from './api-under-test.ts';
import { recordAll, recordMessage } from './recorded.ts';

const PATH = '/v2/queues/orders/messages/order-7';
/** JSON that parsing would change: large numbers, key order, blanks, escapes, and a duplicate key. */
const DATA = '{"total": 12345678901234567890, "b":1.0,"a":  2, "a": "\\u00fc🐘"}';

const inline = aMessage({ id: 'order-7', data: DATA });

describe('GET /v2/queues/{queue}/messages/{id}', () => {
  it('shows a message with its delivery states, counted from the records', async () => {
    const api = apiUnderTest();
    await recordMessage(api, {
      messageId: 'order-7',
      type: 'order.created',
      matched: 5,
      filtered: 2,
      duplicates: 3,
      body: { kind: 'inline', message: inline },
    });
    await recordAll(api, [
      { messageId: 'order-7', status: 'delivered' },
      { messageId: 'order-7', status: 'delivered' },
      { messageId: 'order-7', status: 'retrying' },
      { messageId: 'order-7', status: 'cancelled' },
      { messageId: 'order-8', status: 'rejected' },
    ]);
    const { status, headers, body } = await api.call('GET', PATH);
    expect(status).toBe(200);
    expect(headers.get('content-type')).toBe('application/json');
    expect(messageViewSchema.strict().parse(body)).toMatchObject({
      queue: 'orders',
      id: 'order-7',
      type: 'order.created',
      acceptedAt: new Date(NOON).toISOString(),
      duplicates: 3,
      matched: 5,
      filtered: 2,
      deliveries: { pending: 0, retrying: 1, delivered: 2, rejected: 0, exhausted: 0, cancelled: 1 },
      bodyKept: true,
    });
    expect(body).not.toHaveProperty('deliveriesAtLeast');
  });

  it('shows `unfinished` for a message that was not sent to all subscriptions yet', async () => {
    const api = apiUnderTest();
    await recordMessage(api, { messageId: 'order-7', until: 's-5' });
    expect((await api.call('GET', PATH)).body).toMatchObject({ matched: 1, unfinished: true });
  });

  it('counts only the first 40 buckets of a message with many deliveries, and says so', async () => {
    const api = apiUnderTest();
    await recordMessage(api, { messageId: 'order-7', matched: 4, buckets: 100, firstBucket: 7 });
    await recordAll(
      api,
      [7, 46, 47, 106].map((bucket) => ({ messageId: 'order-7', bucket })),
    );
    const { body } = await api.call('GET', PATH);
    expect(body).toMatchObject({ matched: 4, deliveries: { retrying: 2 }, deliveriesAtLeast: true });
  });

  it.each(['in the record', 'in the bucket'])('returns a body %s byte for byte', async (place) => {
    const api = apiUnderTest();
    const payloadKey = payloadKeyOf(inline);
    await api.payloads.put(payloadKey, inline);
    await recordMessage(api, {
      messageId: 'order-7',
      body: place === 'in the record' ? { kind: 'inline', message: inline } : { kind: 'stored', payloadKey },
    });
    expect(await api.text('GET', PATH)).toContain(`"bodyKept":true,"body":${DATA}}`);
  });

  it.each([
    ['that was never stored', {}],
    [
      'that has expired in the bucket',
      { body: { kind: 'stored' as const, payloadKey: 'orders/order-7/gone' } },
    ],
  ])('shows the absence of a body %s', async (_, kept) => {
    const api = apiUnderTest();
    await recordMessage(api, { messageId: 'order-7', ...kept });
    const { body } = await api.call('GET', PATH);
    expect(body).toMatchObject({ bodyKept: false });
    expect(body).not.toHaveProperty('body');
    expect(body).not.toHaveProperty('erasedAt');
  });

  it('answers 404 for a message that is unknown, not yet dispatched, or in another queue', async () => {
    const api = apiUnderTest();
    await api.call('POST', '/v2/queues/orders/messages', { messages: [{ id: 'order-8', body: 1 }] });
    await recordMessage(api, { messageId: 'order-7' });
    for (const path of ['orders/messages/order-8', 'orders/messages/none', 'bills/messages/order-7'])
      expect(await api.call('GET', `/v2/queues/${path}`)).toMatchObject({
        status: 404,
        body: faultOf('not_found'),
      });
  });

  it("accepts the producer's message id", async () => {
    const api = apiUnderTest();
    const { id } = messageIdOf({ id: 'order 7 ü' });
    await recordMessage(api, { messageId: id });
    const answer = await api.call('GET', `/v2/queues/orders/messages/${encodeURIComponent('order 7 ü')}`);
    expect(answer).toMatchObject({ status: 200, body: { id } });
  });
});

describe('DELETE /v2/queues/{queue}/messages/{id}/body', () => {
  it.each(['in the record', 'in the bucket'])(
    'erases a body %s, and shows that from then on',
    async (place) => {
      const api = apiUnderTest();
      const payloadKey = payloadKeyOf(inline);
      if (place === 'in the bucket') await api.payloads.put(payloadKey, inline);
      await recordMessage(api, {
        messageId: 'order-7',
        body:
          place === 'in the record' ? { kind: 'inline', message: inline } : { kind: 'stored', payloadKey },
      });
      expect(await api.call('DELETE', `${PATH}/body`)).toMatchObject({ status: 204, body: undefined });
      const text = await api.text('GET', PATH);
      expect(text).toContain(`"bodyKept":false,"erasedAt":"${new Date(NOON).toISOString()}"`);
      expect(text).not.toContain('12345678901234567890');
      expect(api.payloads.stored.size).toBe(0);
      api.time.now += 1000;
      expect(await api.call('DELETE', `${PATH}/body`)).toMatchObject({ status: 204 });
      expect(await api.text('GET', PATH)).toBe(text);
    },
  );

  it('is on the audit trail with ids only', async () => {
    const api = apiUnderTest();
    await recordMessage(api, { messageId: 'order-7', body: { kind: 'inline', message: inline } });
    await api.call('DELETE', `${PATH}/body`);
    expect(api.changes).toEqual([
      { ...CALLER, change: 'body_erased', queue: 'orders', messageId: 'order-7' },
    ]);
  });

  it('answers 404 for an unknown message, and changes nothing', async () => {
    const { call, changes } = apiUnderTest();
    expect(await call('DELETE', `${PATH}/body`)).toMatchObject({ status: 404, body: faultOf('not_found') });
    expect(changes).toEqual([]);
  });
});
