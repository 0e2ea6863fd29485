import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import type { Message } from '../../../shared/domain/message/message.ts';
import { bodyOf } from '../../../shared/domain/message/webhook-body.ts';
import {
  RESERVED_HEADERS,
  signatureHeader,
  webhookRequest,
} from '../../../shared/domain/delivery/webhook-request.ts';
import { makeSecret, type SigningSecret } from '../../../shared/domain/subscription/signing-secret.ts';
import type { Subscription, SubscriptionOptions } from '../../../shared/domain/subscription/subscription.ts';

const attempt = { startedAt: 1_790_000_000_999, userAgent: 'Posthaste/1.2.3' };
const messageOf = (fields: Partial<Message> = {}): Message => ({
  queue: 'orders',
  id: 'm1',
  type: 'order.paid',
  timestamp: '2026-05-01T10:00:00.000Z',
  data: '{"total":1}',
  ...fields,
});
const subscriptionWith = (options: SubscriptionOptions): Subscription => ({
  id: 's1',
  queue: 'orders',
  destination: { kind: 'webhook', url: 'https://example.com/hook?a=b' },
  options,
  createdAt: 0,
});
const requestWith = (
  options: SubscriptionOptions,
  fields?: Partial<Message>,
  secrets: readonly SigningSecret[] = [],
) => webhookRequest(messageOf(fields), subscriptionWith(options), { ...attempt, secrets });

describe('the body of a webhook', () => {
  it('is the envelope with the data', () => {
    expect(requestWith({}).body.toString()).toBe(
      '{"id":"m1","queue":"orders","type":"order.paid","timestamp":"2026-05-01T10:00:00.000Z","data":{"total":1}}',
    );
  });

  it('omits an absent type', () => {
    const { id, queue, timestamp, data } = messageOf();
    expect(bodyOf({ id, queue, timestamp, data })).toBe(
      '{"id":"m1","queue":"orders","timestamp":"2026-05-01T10:00:00.000Z","data":{"total":1}}',
    );
  });

  it("contains the producer's id if the message id is a hash of it", () => {
    expect(
      JSON.parse(requestWith({}, { id: 'x_hash', originalId: 'urn:a/b "c"' }).body.toString()),
    ).toMatchObject({
      id: 'urn:a/b "c"',
    });
  });

  const sources = [
    '12345678901234567890',
    '1.0',
    '1e400',
    '{"b":1,"a":2,"10":3,"9":4}',
    '"\\u00e9\\/é"',
    '{"a":1,"a":2}',
    ' [ 1 ] ',
    'null',
  ];

  it.each(sources)('contains the data %s exactly as published', (data) => {
    expect(bodyOf(messageOf({ data })).endsWith(`,"data":${data}}`)).toBe(true);
    expect(requestWith({ raw_delivery: true }, { data }).body.toString()).toBe(data);
  });

  it('is valid JSON for any data, id and type', () => {
    fc.assert(
      fc.property(fc.json(), fc.string(), fc.string(), (data, id, type) => {
        const body: unknown = JSON.parse(bodyOf(messageOf({ data, id, type })));
        const parsed: unknown = JSON.parse(data);
        expect(body).toEqual({ ...messageOf({ id, type }), data: parsed });
      }),
    );
  });

  it('replaces only the first placeholder of a template, with any data', () => {
    const data = '"$& $1 $$ $` \\"$zaqar_message$\\""';
    const post_data = '{"first":"$zaqar_message$","again":["$zaqar_message$"],"text":"$zaqar_message"}';
    const body = bodyOf(messageOf({ data }));
    expect(requestWith({ post_data }, { data }).body.toString()).toBe(
      `{"first":${body},"again":["$zaqar_message$"],"text":"$zaqar_message"}`,
    );
  });

  it('is the template itself if it has no placeholder', () => {
    expect(requestWith({ post_data: '{"ping":true}' }).body.toString()).toBe('{"ping":true}');
  });

  it('is the bare data with raw_delivery, even with a template', () => {
    expect(requestWith({ raw_delivery: true, post_data: '{"ping":true}' }).body.toString()).toBe(
      '{"total":1}',
    );
    expect(requestWith({ raw_delivery: false }).body.toString()).toBe(bodyOf(messageOf()));
  });
});

describe('the rendered body', () => {
  const requestsWith = (...options: SubscriptionOptions[]) => {
    const message = messageOf();
    return options.map((one) => webhookRequest(message, subscriptionWith(one), { ...attempt, secrets: [] }));
  };

  it.each([{}, { raw_delivery: true }])('is shared by all requests of a message with %j', (options) => {
    const [one, other] = requestsWith(options, { ...options, post_headers: { a: 'b' } });
    expect(one?.body).toBe(other?.body);
  });

  it('differs for each body format', () => {
    const bodies = requestsWith({}, { raw_delivery: true }, { post_data: '["$zaqar_message$"]' });
    expect(bodies.map(({ body }) => body.toString())).toEqual([
      bodyOf(messageOf()),
      messageOf().data,
      `[${bodyOf(messageOf())}]`,
    ]);
  });
});

describe('the headers of a webhook', () => {
  it('follow Standard Webhooks, with the time of the attempt in whole seconds', () => {
    expect(requestWith({})).toMatchObject({
      url: 'https://example.com/hook?a=b',
      headers: {
        'content-type': 'application/json',
        'user-agent': 'Posthaste/1.2.3',
        'accept-encoding': 'identity',
        'webhook-id': 'm1',
        'webhook-timestamp': '1790000000',
      },
    });
  });

  it("contain the trace of the message, in place of the subscription's", () => {
    const trace = { traceparent: 'of the message', tracestate: 'a=1' };
    const { headers } = requestWith({ post_headers: { traceparent: 'fixed' } }, { trace });
    expect(headers).toMatchObject(trace);
  });

  it('contain the safe id, not the original one', () => {
    expect(requestWith({}, { id: 'x_hash', originalId: 'a b' }).headers['webhook-id']).toBe('x_hash');
  });

  it('include those of the subscription in lower case, which may replace content type and user agent', () => {
    const { headers } = requestWith({
      post_headers: { 'X-Token': 'T', 'Content-Type': 'text/plain', 'USER-AGENT': 'mine' },
    });
    expect(headers).toMatchObject({ 'x-token': 'T', 'content-type': 'text/plain', 'user-agent': 'mine' });
    expect(Object.keys(headers).filter((name) => name !== name.toLowerCase())).toEqual([]);
  });

  it.each([...RESERVED_HEADERS])(
    'ignore a subscription header with the reserved name %s in any case',
    (name) => {
      const plain = requestWith({}).headers;
      const post_headers = { [name]: 'custom', [name.toUpperCase()]: 'custom' };
      expect(requestWith({ post_headers }).headers).toEqual(plain);
    },
  );
});

describe('the signature of a webhook', () => {
  const secret = makeSecret('v1', (count) => Buffer.alloc(count, 1));

  it('covers the id, the time and the body as sent', () => {
    const fields = { id: 'x_hash', originalId: 'a b', data: '[1.0]' };
    for (const options of [{}, { raw_delivery: true }, { post_data: '{"wrapped":"$zaqar_message$"}' }]) {
      const { headers, body } = requestWith(options, fields, [secret]);
      expect(headers['webhook-signature']).toBe(
        signatureHeader([secret], { id: 'x_hash', timestamp: 1_790_000_000, body }),
      );
    }
  });

  it('is absent without secrets', () => {
    expect(requestWith({}).headers).not.toHaveProperty('webhook-signature');
  });
});
