import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import type { Message } from '../../../shared/domain/message/message.ts';
import { standardBody } from '../../../shared/domain/message/payload.ts';
import { RESERVED_HEADERS, signatureHeader } from '../../../shared/domain/delivery/webhook-request.ts';
import { makeSecret, type SigningSecret } from '../../../shared/domain/subscription/signing-secret.ts';
import type { Subscription, SubscriptionOptions } from '../../../shared/domain/subscription/subscription.ts';
import { requestFor } from '../../support/request-for.ts';

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
) => requestFor(messageOf(fields), subscriptionWith(options), { ...attempt, secrets });

describe('the body of a webhook', () => {
  it('is the envelope with the data', async () => {
    expect((await requestWith({})).body.toString()).toBe(
      '{"id":"m1","queue":"orders","type":"order.paid","timestamp":"2026-05-01T10:00:00.000Z","data":{"total":1}}',
    );
  });

  it('omits an absent type', () => {
    const { id, queue, timestamp, data } = messageOf();
    expect(standardBody({ id, queue, timestamp, data })).toBe(
      '{"id":"m1","queue":"orders","timestamp":"2026-05-01T10:00:00.000Z","data":{"total":1}}',
    );
  });

  it("contains the producer's id if the message id is a hash of it", async () => {
    expect(
      JSON.parse((await requestWith({}, { id: 'x_hash', originalId: 'urn:a/b "c"' })).body.toString()),
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

  it.each(sources)('contains the data %s exactly as published', async (data) => {
    expect(standardBody(messageOf({ data })).endsWith(`,"data":${data}}`)).toBe(true);
    expect((await requestWith({ raw_delivery: true }, { data })).body.toString()).toBe(data);
  });

  it('is valid JSON for any data, id and type', () => {
    fc.assert(
      fc.property(fc.json(), fc.string(), fc.string(), (data, id, type) => {
        const body: unknown = JSON.parse(standardBody(messageOf({ data, id, type })));
        const parsed: unknown = JSON.parse(data);
        expect(body).toEqual({ ...messageOf({ id, type }), data: parsed });
      }),
    );
  });

  it('replaces only the first placeholder of a template, with any data', async () => {
    const data = '"$& $1 $$ $` \\"$zaqar_message$\\""';
    const post_data = '{"first":"$zaqar_message$","again":["$zaqar_message$"],"text":"$zaqar_message"}';
    const body = standardBody(messageOf({ data }));
    expect((await requestWith({ post_data }, { data })).body.toString()).toBe(
      `{"first":${body},"again":["$zaqar_message$"],"text":"$zaqar_message"}`,
    );
  });

  it('is the template itself if it has no placeholder', async () => {
    expect((await requestWith({ post_data: '{"ping":true}' })).body.toString()).toBe('{"ping":true}');
  });

  it('is the bare data with raw_delivery, even with a template', async () => {
    expect((await requestWith({ raw_delivery: true, post_data: '{"ping":true}' })).body.toString()).toBe(
      '{"total":1}',
    );
    expect((await requestWith({ raw_delivery: false })).body.toString()).toBe(standardBody(messageOf()));
  });
});

describe('the rendered body', () => {
  const requestsWith = (...options: SubscriptionOptions[]) => {
    const message = messageOf();
    return Promise.all(
      options.map((one) => requestFor(message, subscriptionWith(one), { ...attempt, secrets: [] })),
    );
  };

  it.each([{}, { raw_delivery: true }])('is shared by all requests of a message with %j', async (options) => {
    const [one, other] = await requestsWith(options, { ...options, post_headers: { a: 'b' } });
    expect(one?.body).toBe(other?.body);
  });

  it('differs for each body format', async () => {
    const bodies = await requestsWith({}, { raw_delivery: true }, { post_data: '["$zaqar_message$"]' });
    expect(bodies.map(({ body }) => body.toString())).toEqual([
      standardBody(messageOf()),
      messageOf().data,
      `[${standardBody(messageOf())}]`,
    ]);
  });
});

describe('the headers of a webhook', () => {
  it('follow Standard Webhooks, with the time of the attempt in whole seconds', async () => {
    expect(await requestWith({})).toMatchObject({
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

  it("contain the trace of the message, in place of the subscription's", async () => {
    const trace = { traceparent: 'of the message', tracestate: 'a=1' };
    const { headers } = await requestWith({ post_headers: { traceparent: 'fixed' } }, { trace });
    expect(headers).toMatchObject(trace);
  });

  it('contain the safe id, not the original one', async () => {
    expect((await requestWith({}, { id: 'x_hash', originalId: 'a b' })).headers['webhook-id']).toBe('x_hash');
  });

  it('include those of the subscription in lower case, which may replace content type and user agent', async () => {
    const { headers } = await requestWith({
      post_headers: { 'X-Token': 'T', 'Content-Type': 'text/plain', 'USER-AGENT': 'mine' },
    });
    expect(headers).toMatchObject({ 'x-token': 'T', 'content-type': 'text/plain', 'user-agent': 'mine' });
    expect(Object.keys(headers).filter((name) => name !== name.toLowerCase())).toEqual([]);
  });

  it.each([...RESERVED_HEADERS])(
    'ignore a subscription header with the reserved name %s in any case',
    async (name) => {
      const plain = (await requestWith({})).headers;
      const post_headers = { [name]: 'custom', [name.toUpperCase()]: 'custom' };
      expect((await requestWith({ post_headers })).headers).toEqual(plain);
    },
  );
});

describe('the signature of a webhook', () => {
  const secret = makeSecret('v1', (count) => Buffer.alloc(count, 1));

  it('covers the id, the time and the body as sent', async () => {
    const fields = { id: 'x_hash', originalId: 'a b', data: '[1.0]' };
    for (const options of [{}, { raw_delivery: true }, { post_data: '{"wrapped":"$zaqar_message$"}' }]) {
      const { headers, body } = await requestWith(options, fields, [secret]);
      expect(headers['webhook-signature']).toBe(
        signatureHeader([secret], { id: 'x_hash', timestamp: 1_790_000_000, body }),
      );
    }
  });

  it('is absent without secrets', async () => {
    expect((await requestWith({})).headers).not.toHaveProperty('webhook-signature');
  });
});
