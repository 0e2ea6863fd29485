import { describe, expect, it } from 'vitest';
import {
  CONFIRMATION_TYPE,
  confirmationIdOf,
  tokenHashOf,
} from '../../../shared/domain/subscription/confirmation.ts';
import { apiUnderTest, faultOf } from './api-under-test.ts';

const confirmationId = confirmationIdOf({ tokenHash: tokenHashOf('a token') });
const PATH = '/v2/queues/orders/messages';

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

  it.each(refused)('%s, and publishes none of the valid messages', async (_name, body, field) => {
    const { call, world } = apiUnderTest();
    expect(await call('POST', PATH, body)).toMatchObject({
      status: 400,
      body: faultOf('invalid_request', field),
    });
    expect(await world()).toEqual({ queues: [], subscriptions: [], published: [], changes: [] });
  });

  it('a message that is too large for SQS with the added fields', async () => {
    const { call, world } = apiUnderTest();
    const empty = '{"messages":[{"body":""}]}';
    const body = empty.replace('""', `"${'x'.repeat(1_048_576 - empty.length)}"`);
    expect(await call('POST', PATH, body)).toMatchObject({
      status: 413,
      body: faultOf('too_large', 'messages[0].body'),
    });
    expect(await world()).toEqual({ queues: [], subscriptions: [], published: [], changes: [] });
  });

  it('no message that just fits into an SQS message', async () => {
    const { call, published } = apiUnderTest();
    const room = 1_048_576 - '{"queue":"orders","id":"id-1","data":""}'.length;
    expect(await call('POST', PATH, { messages: [{ body: 'x'.repeat(room) }] })).toMatchObject({
      status: 201,
    });
    expect(Buffer.byteLength(published[0] ?? '')).toBe(1_048_576);
  });
});
