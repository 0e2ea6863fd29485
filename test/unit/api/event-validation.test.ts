import { describe, expect } from 'vitest';
import { invalid, itWithOrders as it } from './api-test.ts';

const MESSAGES = '/v2/queues/orders/messages';
const schema = { properties: { total: { type: 'integer' } } };
const VALID = { type: 'order.created', body: { total: 1 } };
const INVALID = { type: 'order.created', body: { total: 'secret' } };

describe('POST /v2/queues/{queue}/messages with checks', () => {
  it('names each message that the catalogue refuses, and publishes none', async ({ call, published }) => {
    await call('PUT', '/v2/event-types/order.created', { schema });
    await call('PUT', '/v2/queues/orders', { _event_validation: 'reject' });
    const answer = await call('POST', MESSAGES, {
      messages: [VALID, INVALID, { type: 'order.deleted', body: 1 }, { body: 2 }],
    });

    expect(answer).toMatchObject(invalid('messages[1].body/total', 'messages[2].type'));
    expect(published).toEqual([]);
  });

  it.for(['off', 'warn'])(
    'publishes what does not fit where the queue says %s',
    async (mode, { call, published }) => {
      await call('PUT', '/v2/event-types/order.created', { schema });
      await call('PUT', '/v2/queues/orders', { _event_validation: mode });
      expect((await call('POST', MESSAGES, { messages: [INVALID] })).status).toBe(201);
      expect(published).toHaveLength(1);
    },
  );
});
