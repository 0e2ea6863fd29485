import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { RESERVED_HEADERS, signatureHeader } from '../../../shared/domain/delivery/webhook-request.ts';
import type { Message } from '../../../shared/domain/message/message.ts';
import { standardBody } from '../../../shared/domain/message/payload.ts';
import { parseTraceContext } from '../../../shared/domain/message/trace-context.ts';
import { makeSecret, type SigningSecret } from '../../../shared/domain/subscription/signing-secret.ts';
import {
  MAX_SUBSCRIBER_URL_LENGTH,
  parseSubscriberUrl,
} from '../../../shared/domain/subscription/subscriber-url.ts';
import type { Subscription, SubscriptionOptions } from '../../../shared/domain/subscription/subscription.ts';
import { requestFor } from '../../support/builders.ts';

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

const bodyWith = async (...given: Parameters<typeof requestWith>) =>
  (await requestWith(...given)).body.toString();

const headersWith = async (...given: Parameters<typeof requestWith>) => (await requestWith(...given)).headers;

describe('the body of a webhook', () => {
  it('is the envelope with the data', async () => {
    expect(await bodyWith({})).toBe(
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
    const originalId = 'urn:a/b "c"';
    expect(JSON.parse(await bodyWith({}, { id: 'x_hash', originalId }))).toMatchObject({ id: originalId });
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
    expect(await bodyWith({ raw_delivery: true }, { data })).toBe(data);
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
    expect(await bodyWith({ post_data }, { data })).toBe(
      `{"first":${body},"again":["$zaqar_message$"],"text":"$zaqar_message"}`,
    );
  });

  it.each<[string, SubscriptionOptions, string]>([
    ['the template itself if it has no placeholder', { post_data: '{"ping":true}' }, '{"ping":true}'],
    ['the bare data with raw_delivery', { raw_delivery: true, post_data: '{"ping":true}' }, '{"total":1}'],
    ['the envelope if raw_delivery is false', { raw_delivery: false }, standardBody(messageOf())],
  ])('is %s', async (_what, options, body) => {
    expect(await bodyWith(options)).toBe(body);
  });
});

it.each([{}, { raw_delivery: true }])(
  'the rendered body is shared by all requests of a message with %j',
  async (options) => {
    const message = messageOf();
    const [one, other] = await Promise.all(
      [options, { ...options, post_headers: { a: 'b' } }].map((each) =>
        requestFor(message, subscriptionWith(each), { ...attempt, secrets: [] }),
      ),
    );
    expect(one?.body).toBe(other?.body);
  },
);

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
    const headers = await headersWith({ post_headers: { traceparent: 'fixed' } }, { trace });
    expect(headers).toMatchObject(trace);
  });

  it('contain the safe id, not the original one', async () => {
    expect((await headersWith({}, { id: 'x_hash', originalId: 'a b' }))['webhook-id']).toBe('x_hash');
  });

  it('include those of the subscription in lower case, which may replace content type and user agent', async () => {
    const headers = await headersWith({
      post_headers: { 'X-Token': 'T', 'Content-Type': 'text/plain', 'USER-AGENT': 'mine' },
    });
    expect(headers).toMatchObject({ 'x-token': 'T', 'content-type': 'text/plain', 'user-agent': 'mine' });
    expect(Object.keys(headers).filter((name) => name !== name.toLowerCase())).toEqual([]);
  });

  it.each([...RESERVED_HEADERS])(
    'ignore a subscription header with the reserved name %s in any case',
    async (name) => {
      const plain = await headersWith({});
      const post_headers = { [name]: 'custom', [name.toUpperCase()]: 'custom' };
      expect(await headersWith({ post_headers })).toEqual(plain);
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
    expect(await headersWith({})).not.toHaveProperty('webhook-signature');
  });
});

const TRACE = '4bf92f3577b34da6a3ce929d0e0e4736';
const SPAN = '00f067aa0ba902b7';
const traceparent = `00-${TRACE}-${SPAN}-01`;

describe('the trace of a message', () => {
  it('is what its traceparent and tracestate say', () => {
    const tracestate = 'rojo=00f067aa0ba902b7, fw529a3039@dt=FfFfFfFf';
    expect(parseTraceContext({ traceparent, tracestate })).toEqual({ traceparent, tracestate });
    expect(parseTraceContext({ traceparent })).toEqual({ traceparent });
  });

  it('is passed on in version 00 if it has a later one', () => {
    for (const later of [
      `cc-${TRACE}-${SPAN}-03`,
      `cc-${TRACE}-${SPAN}-01-what the future will be`.replaceAll(' ', '-'),
    ])
      expect(parseTraceContext({ traceparent: later })).toEqual({ traceparent });
    expect(parseTraceContext({ traceparent: `cc-${TRACE}-${SPAN}-02` })).toEqual({
      traceparent: `00-${TRACE}-${SPAN}-00`,
    });
  });

  it.each([
    undefined,
    7,
    '',
    traceparent.toUpperCase(),
    ` ${traceparent}`,
    `${traceparent}\r\nx-admin: 1`,
    `${traceparent}-more`,
    `ff-${TRACE}-${SPAN}-01`,
    `00-${'0'.repeat(32)}-${SPAN}-01`,
    `00-${TRACE}-${'0'.repeat(16)}-01`,
    `00-${TRACE.slice(1)}-${SPAN}-01`,
    `00-${TRACE}-${SPAN}-1`,
    `cc-${TRACE}-${SPAN}-01.more`,
    `cc-${TRACE}-${SPAN}-01-é`,
  ])('is dropped with the traceparent %j', (invalid) => {
    expect(parseTraceContext({ traceparent: invalid, tracestate: 'a=1' })).toBeUndefined();
  });

  it.each([
    '',
    'a',
    'a=',
    'A=1',
    'a=1,',
    'a=1,a=2',
    'a=1;b=2=3',
    'a=1\r\nx-admin: 1',
    'a=é',
    Array.from({ length: 33 }, (_, n) => `a${n}=1`).join(),
    `a=${'x'.repeat(250)},b=${'x'.repeat(250)},c=${'x'.repeat(20)}`,
    ['a=1'],
    'a=1\n',
    'a=1,\r\nb=2',
    'a=1\u00a0,b=2',
  ])('loses the tracestate %j alone', (tracestate) => {
    expect(parseTraceContext({ traceparent, tracestate })).toEqual({ traceparent });
  });
});

describe('parseSubscriberUrl', () => {
  it.each([
    'http://example.com',
    'https://example.com/hook?token=a%20b#part',
    'https://example.com:8443/a/b',
    'HTTPS://EXAMPLE.COM/',
    'https://münchen.example/',
    'http://127.0.0.1:3000/',
    'http://[::1]/',
  ])('accepts %s', (text) => {
    expect(parseSubscriberUrl(text)).toMatchObject({ kind: 'valid', url: new URL(text) });
  });

  it.each([
    ['', 'must be an absolute URL'],
    ['/hook', 'must be an absolute URL'],
    ['example.com/hook', 'must be an absolute URL'],
    ['http://', 'must be an absolute URL'],
    ['http://[::1', 'must be an absolute URL'],
    ['http://[fe80::1%25eth0]/', 'must be an absolute URL'],
    ['http://256.256.256.256/', 'must be an absolute URL'],
    ['http://example.com:99999/', 'must be an absolute URL'],
    ['http:example.com', 'must be an absolute URL'],
    ['http://example.com:0/', 'must not name port 0'],
    ['https://a..b/', 'must not have an empty label in its host name'],
    ['ftp://example.com/', 'must be an http or https URL'],
    ['mailto:user@example.com', 'must be an http or https URL'],
    ['file:///etc/passwd', 'must be an http or https URL'],
    ['javascript:alert(1)', 'must be an http or https URL'],
    ['https://user:secret@example.com/', 'must not contain a user name or password'],
    ['https://user@example.com/', 'must not contain a user name or password'],
    ['https://:secret@example.com/', 'must not contain a user name or password'],
    [' https://example.com/', 'must not contain blanks or control characters'],
    ['https://exam\nple.com/', 'must not contain blanks or control characters'],
    ['https://example.com/a b', 'must not contain blanks or control characters'],
    ['https://example.com/\u0000', 'must not contain blanks or control characters'],
    ['https://example.com/\ud800', 'must not contain blanks or control characters'],
  ])('refuses "%s": %s', (text, fault) => {
    expect(parseSubscriberUrl(text)).toEqual({ kind: 'invalid', fault });
  });

  it('accepts up to 2,048 characters', () => {
    const longest = 'https://example.com/'.padEnd(MAX_SUBSCRIBER_URL_LENGTH, 'a');
    expect(longest).toHaveLength(2048);
    expect(parseSubscriberUrl(longest).kind).toBe('valid');
    expect(parseSubscriberUrl(`${longest}a`)).toEqual({
      kind: 'invalid',
      fault: 'must not be longer than 2048 characters',
    });
  });
});
