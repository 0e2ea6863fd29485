import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { toMessageId } from '../../../shared/domain/message/message.ts';
import { parseIngress } from '../../../shared/wire/ingress/message.ts';
import {
  cloudEvent,
  cloudEventIdentity,
  dataless,
  eventBridgeEvent,
  notification,
  parse,
  plain,
  received,
  SENT_AT,
  TOPIC,
} from './ingress-samples.ts';
import { jsonText } from './json-text.ts';

const messageIn = (...given: Parameters<typeof parse>) => {
  const parsed = parse(...given);
  if (!parsed.ok) throw new Error(parsed.reason);
  return parsed.message;
};

describe('a CloudEvent', () => {
  const expected = {
    ...cloudEventIdentity,
    queue: 'orders',
    type: 'com.example.created',
    timestamp: '2018-04-05T17:31:00.000Z',
    data: '{"n":1}',
  };

  it.each(['ce-', 'ce_', 'cloudEvents_'])(
    'in binary mode is parsed from the body and attributes with the prefix %s',
    (prefix) => {
      const attributes = Object.fromEntries(
        Object.entries({ ...dataless, queue: 'orders' }).map(([name, value]) => [`${prefix}${name}`, value]),
      );
      expect(parse(' {"n":1} ', attributes)).toEqual({ ok: true, message: expected });
    },
  );

  it('has a message id derived from its id and source', () => {
    const ids = ['a', 'b'].map((source) => messageIn({ ...cloudEvent, source, queue: 'orders' }).id);
    expect(new Set(ids).size).toBe(2);
    expect(ids).toEqual([expect.stringMatching(/^x_/), expect.stringMatching(/^x_/)]);
  });

  it.each([
    ['with binary data has its base64 text as data', { data_base64: 'AAEC/w==' }, { data: '"AAEC/w=="' }],
    ['without data has null as data', {}, { data: 'null' }],
    [
      'has its time converted to UTC with milliseconds',
      { time: '2018-04-05t19:31:00.123456+02:00' },
      { timestamp: '2018-04-05T17:31:00.123Z' },
    ],
    [
      'may have a leap second, which becomes the second before',
      { time: '2017-01-01T00:59:60.5+01:00' },
      { timestamp: '2016-12-31T23:59:59.500Z' },
    ],
  ])('%s', (_what, more, expected) => {
    expect(messageIn({ ...dataless, queue: 'orders', ...more })).toMatchObject(expected);
  });

  it('may have null for unset attributes', () => {
    expect(
      messageIn({ ...cloudEvent, queue: null, time: null }, {}, { [cloudEvent.source]: 'orders' }),
    ).toMatchObject({ queue: 'orders', timestamp: plain.timestamp });
  });
});

it.each([
  ['a CloudEvent', cloudEvent, cloudEvent.type],
  ['an EventBridge event', eventBridgeEvent, eventBridgeEvent['detail-type']],
])('%s is routed by its type before its source', (_what, event, type) => {
  const routes = { [event.source]: 'by-source', [type]: 'by-type' };
  expect(messageIn(event, {}, routes)).toMatchObject({ queue: 'by-type' });
});

describe('an SNS notification', () => {
  const wrapped = {
    queue: 'orders',
    id: '22b80b92-fdea-4c2c-8f9d-bdfb0c7bf324',
    timestamp: '2012-05-02T00:54:06.655Z',
  };

  it.each([
    ["the topic's ARN", TOPIC],
    ["the topic's name", 'MyTopic'],
  ])('is routed by %s, with its JSON text as data', (_name, key) => {
    expect(parse(notification('{"n": 1.0}'), {}, { [key]: 'orders' })).toEqual({
      ok: true,
      message: { ...wrapped, data: '{"n": 1.0}' },
    });
  });

  it('has text that is not JSON as a JSON string, and its Subject as type', () => {
    expect(parse(notification('Hello "you"', { Subject: 'greeting' }), { queue: 'orders' })).toEqual({
      ok: true,
      message: { ...wrapped, type: 'greeting', data: '"Hello \\"you\\""' },
    });
  });

  it('may contain any other envelope, whose fields take precedence', () => {
    const own = { queue: 'orders', id: 'a', type: 'own', data: 1 };
    expect(parse(notification(own, { Subject: 's' }), {}, { [TOPIC]: 'routed' })).toEqual({
      ok: true,
      message: { ...wrapped, id: 'a', type: 'own', data: '1' },
    });
    expect(messageIn(notification({ ...cloudEvent, queue: 'orders' }))).toMatchObject({
      ...cloudEventIdentity,
      timestamp: '2018-04-05T17:31:00.000Z',
    });
    expect(
      messageIn(notification(eventBridgeEvent), {}, { [TOPIC]: 'topic', 'aws.ec2': 'orders' }),
    ).toMatchObject({ queue: 'orders', data: '{"state":"terminated"}' });
  });

  it('inside a notification is data', () => {
    const inner = JSON.stringify(notification('x'));
    expect(messageIn(notification(inner), { queue: 'orders' })).toMatchObject({ data: inner });
  });

  it('cannot claim the id of a redrive', () => {
    const MessageAttributes = { 'posthaste-id': { Type: 'String', Value: 'forged' } };
    expect(messageIn(notification('x', { MessageAttributes }), { queue: 'orders' })).toMatchObject({
      id: wrapped.id,
    });
  });
});

describe('the trace of a message', () => {
  const [one, other] = ['a', 'b'].map((digit) => `00-${digit.repeat(32)}-${digit.repeat(16)}-01`);
  if (one === undefined || other === undefined) throw new Error('No traces');
  const traceOf = (...given: Parameters<typeof parse>) => messageIn(...given).trace;
  const own = { queue: 'orders', data: 1 };

  it('comes from the attributes of SQS or SNS', () => {
    const attributes = { traceparent: one, tracestate: 'a=1' };
    expect(traceOf(own, attributes)).toEqual(attributes);
    const MessageAttributes = { traceparent: { Type: 'String', Value: one } };
    expect(traceOf(notification(own, { MessageAttributes }))).toEqual({ traceparent: one });
  });

  it('comes from a CloudEvent otherwise', () => {
    const event = { ...cloudEvent, queue: 'orders', traceparent: other, tracestate: 'b=1' };
    expect(traceOf(event)).toEqual({ traceparent: other, tracestate: 'b=1' });
    expect(traceOf(event, { traceparent: one })).toEqual({ traceparent: one });
    const binary = { specversion: '1.0', id: 'i', source: 's', type: 't', traceparent: other };
    const attributes = Object.fromEntries(
      Object.entries(binary).map(([name, value]) => [`ce-${name}`, value]),
    );
    expect(traceOf(1, { ...attributes, queue: 'orders' })).toEqual({ traceparent: other });
  });

  it('is dropped if it is malformed, and the message is accepted', () => {
    expect(traceOf(own, { traceparent: 'x', tracestate: 'a=1' })).toBeUndefined();
    expect(traceOf({ ...cloudEvent, queue: 'orders', traceparent: 7 })).toBeUndefined();
  });
});

describe("Posthaste's envelope", () => {
  it('is parsed with queue, id, type, data, ttl and delay', () => {
    const body = { queue: 'orders', id: 'order-1', type: 'order.paid', data: { n: 1 }, ttl: 60, delay: 900 };
    expect(parse(body)).toEqual({
      ok: true,
      delaySeconds: 900,
      message: { ...plain, id: 'order-1', type: 'order.paid', data: '{"n":1}', expiresAt: SENT_AT + 60_000 },
    });
  });

  it.each([
    ['requires only queue and data', { data: null }, { message: { ...plain, data: 'null' } }],
    [
      'may have other fields, which are ignored',
      { data: 1, timestamp: 5, trace: { data: 2 } },
      { message: { ...plain, data: '1' } },
    ],
    ['accepts a delay of 0', { data: 1, delay: 0 }, { message: { ...plain, data: '1' }, delaySeconds: 0 }],
  ])('%s', (_what, body, expected) => {
    expect(parse({ queue: 'orders', ...body })).toEqual({ ok: true, ...expected });
  });

  it('keeps its data byte for byte', () => {
    fc.assert(
      fc.property(jsonText, (data) => {
        const parsed = parse(`{"data":0, "queue":"orders","data" : ${data} }`);
        expect(parsed).toEqual({ ok: true, message: { ...plain, data } });
      }),
      { numRuns: 300 },
    );
  });

  it('has an unsafe id hashed and kept as originalId', () => {
    const id = 'order/1#é';
    expect(messageIn({ queue: 'orders', id, data: 1 })).toMatchObject({
      id: toMessageId({ id }).id,
      originalId: id,
    });
  });
});

describe('a message with the SQS attribute queue', () => {
  it.each([
    ['an object', '{"b":2,  "a":1}'],
    ['an array', '[1,2]'],
    ['a string', '"text"'],
    ['a number', '12345678901234567890'],
    ['null', 'null'],
  ])('is data as a whole: %s', (_name, body) => {
    expect(parse(` ${body}\n`, { queue: 'orders' })).toEqual({ ok: true, message: { ...plain, data: body } });
  });

  it("is Posthaste's envelope if it has data, also with unknown keys", () => {
    const body = { data: [1], id: 'a', type: 't', color: 'red' };
    const expected = { queue: 'orders', id: 'a', type: 't', data: '[1]' };
    expect(messageIn(body, { queue: 'orders' })).toMatchObject(expected);
  });

  it('goes to that queue, even if the envelope names another', () => {
    const attributes = { queue: 'orders' };
    const routes = { 'aws.ec2': 'routed', [TOPIC]: 'routed' };
    const bodies = [
      { queue: 'other', data: 1 },
      { ...cloudEvent, queue: 'other' },
      eventBridgeEvent,
      notification('x'),
    ];
    for (const body of bodies) expect(messageIn(body, attributes, routes)).toMatchObject({ queue: 'orders' });
  });
});

describe('a redriven message', () => {
  it.each([
    ['keeps its original SQS id', 'first-life', { id: 'first-life' }],
    ['has an unsafe id hashed', 'a#b', toMessageId({ id: 'a#b' })],
  ])('%s', (_what, id, expected) => {
    expect(messageIn({ queue: 'orders', data: 1 }, { 'posthaste-id': id })).toMatchObject(expected);
  });

  it("keeps the producer's id in its body", () => {
    const parsed = parse({ queue: 'orders', id: 'own', data: 1 }, { 'posthaste-id': 'first-life' });
    expect(parsed).toMatchObject({ ok: true, message: { id: 'own' } });
    expect(parsed).not.toHaveProperty('message.originalId');
  });
});

/** Message bodies in the form that AWS services send: complete, with keys in their order. */
const fromEventBridge =
  '{"version":"0","id":"8d41f6a0-2c7b-9e35-4f18-a6b3c05d7e92","detail-type":"Object Created","source":"aws.s3","account":"111122223333","time":"2026-11-12T00:00:00Z","region":"ca-central-1","resources":["arn:aws:s3:::shop-invoices"],"detail":{"version":"0","bucket":{"name":"shop-invoices"},"object":{"key":"2026/17.pdf","size":5,"etag":"5d41402abc4b2a76b9719d911017c592","version-id":"kT9vQ2mXw7Rb1sZ.uYc4NfHd8aPe0LjG","sequencer":"0069a1b2c3d4e5f607"},"request-id":"7QX2M9T4KB1RZ6WD","requester":"444455556666","source-ip-address":"203.0.113.9","reason":"PutObject"}}';

const fromSns = (message: string, more = '') => `{
  "Type" : "Notification",
  "MessageId" : "3f2b8c1e-9a4d-5e07-b6c3-71d0e85fa924",
  "TopicArn" : "arn:aws:sns:us-east-2:111122223333:shop-topic",
  "Subject" : "invoice.paid",
  "Message" : ${JSON.stringify(message)},
  "Timestamp" : "2026-02-16T21:41:19.978Z",
  "SignatureVersion" : "1",
  "Signature" : "bm90IGEgcmVhbCBzaWduYXR1cmU=",
  "SigningCertURL" : "https://sns.us-east-2.amazonaws.com/SimpleNotificationService-0000000000000000.pem",
  "UnsubscribeURL" : "https://sns.us-east-2.amazonaws.com/?Action=Unsubscribe&SubscriptionArn=arn:aws:sns:us-east-2:111122223333:shop-topic:0c7d5e92-41ab-4f38-9e16-d2b7a06c8f53"${more}
}`;

const fromCloudEvents =
  '{"specversion":"1.0","type":"com.example.order.created","source":"/shop/7","subject":"17","id":"C234-1234-1234","time":"2026-04-05T17:31:00Z","comexampleextension1":"value","comexampleothervalue":5,"datacontenttype":"application/json","data":{"total":44445555666634567890}}';

const bySns = { id: '3f2b8c1e-9a4d-5e07-b6c3-71d0e85fa924', timestamp: '2026-02-16T21:41:19.978Z' };

describe('a message as AWS sends it', () => {
  it('from an EventBridge rule is parsed as an event', () => {
    expect(parse(fromEventBridge, {}, { 'aws.s3': 'invoices' })).toEqual({
      ok: true,
      message: {
        queue: 'invoices',
        id: '8d41f6a0-2c7b-9e35-4f18-a6b3c05d7e92',
        type: 'Object Created',
        timestamp: '2026-11-12T00:00:00.000Z',
        data: fromEventBridge.slice(fromEventBridge.indexOf('{"version":"0","bucket"'), -1),
      },
    });
  });

  it('from a rule whose input transformer sets the queue goes to it', () => {
    const transformed = fromEventBridge.replace('{', '{"queue":"by-rule",');
    expect(messageIn(transformed, {}, { 'aws.s3': 'invoices' })).toMatchObject({ queue: 'by-rule' });
  });

  it('from a topic is parsed as a notification with its message and attributes', () => {
    const attributes =
      ',\n  "MessageAttributes" : {\n    "queue" : {"Type":"String","Value":"payments"},\n    "tries" : {"Type":"Number","Value":"3"},\n    "tags" : {"Type":"String.Array","Value":"[\\"a\\"]"}\n  }';
    expect(parse(fromSns('{"total": 1.0}', attributes))).toEqual({
      ok: true,
      message: { queue: 'payments', ...bySns, type: 'invoice.paid', data: '{"total": 1.0}' },
    });
  });
});

it('a CloudEvent as in its specification is parsed, and unknown extensions are ignored', () => {
  expect(parse(fromCloudEvents, {}, { '/shop/7': 'orders' })).toEqual({
    ok: true,
    message: {
      queue: 'orders',
      ...toMessageId({ id: 'C234-1234-1234', source: '/shop/7' }),
      type: 'com.example.order.created',
      timestamp: '2026-04-05T17:31:00.000Z',
      data: '{"total":44445555666634567890}',
    },
  });
});

const dataRef = { bucket: 'shop-exports', key: 'webhooks/order 17/é.json' };

describe('a reference to data', () => {
  it("replaces data in Posthaste's envelope, with all other fields", () => {
    const body = { queue: 'orders', id: 'a', type: 't', ttl: 60, delay: 5, dataRef };
    const message = { ...plain, id: 'a', type: 't', expiresAt: SENT_AT + 60_000 };
    expect(parse(body)).toEqual({ ok: true, message, dataRef, delaySeconds: 5 });
  });

  it.each([
    ['a version id', { ...dataRef, versionId: '3HL4kqtJvjVBH40Nrjfkd' }],
    ['the longest key that S3 allows', { ...dataRef, key: 'é'.repeat(512) }],
  ])('may contain %s', (_what, given) => {
    expect(parse({ queue: 'orders', dataRef: given })).toEqual({ ok: true, message: plain, dataRef: given });
  });

  it("identifies Posthaste's envelope, also in an SNS notification", () => {
    const expected = { ok: true, message: { queue: 'orders' }, dataRef };
    expect(parse({ dataRef }, { queue: 'orders' })).toMatchObject(expected);
    expect(parse(notification({ dataRef }), { queue: 'orders' })).toMatchObject(expected);
  });

  it('may contain unknown fields, which are ignored', () => {
    expect(parse({ queue: 'orders', dataRef: { ...dataRef, etag: '"1"' } })).toMatchObject({ dataRef });
  });

  it('inside the data of a message is data', () => {
    expect(messageIn({ queue: 'orders', data: { dataRef } })).toMatchObject({
      data: JSON.stringify({ dataRef }),
    });
  });

  it.each<[string, unknown, string]>([
    ['beside data', { data: null, dataRef }, 'dataRef'],
    ['as text', { dataRef: 's3://shop-exports/a.json' }, 'dataRef'],
    ['of null', { dataRef: null }, 'dataRef'],
    ['without a bucket', { dataRef: { key: 'a' } }, 'dataRef.bucket'],
    ['without a key', { dataRef: { bucket: 'shop-exports' } }, 'dataRef.key'],
    ['to an empty key', { dataRef: { ...dataRef, key: '' } }, 'dataRef.key'],
    ['to a key over 1024 bytes', { dataRef: { ...dataRef, key: 'é'.repeat(513) } }, 'dataRef.key'],
    ['to a version of null', { dataRef: { ...dataRef, versionId: null } }, 'dataRef.versionId'],
  ])('is refused: %s', (_what, body, field) => {
    expect(parse(body, { queue: 'orders' })).toEqual({ ok: false, reason: `invalid_field:${field}` });
  });
});

const versionIn = (body: unknown, sentAt = SENT_AT): string => {
  const parsed = parseIngress({ ...received(body), sentAt }, {});
  if (!parsed.ok) throw new Error(parsed.reason);
  return parsed.version;
};

const published = {
  queue: 'orders',
  id: 'm-1',
  type: 'order.created',
  ttl: 60,
  delay: 5,
  data: { total: 1 },
};

describe('the version of a published message', () => {
  const dataRef = { bucket: 'producer', key: 'webhooks/17.json' };

  it('is the same for a later copy', () => {
    expect(versionIn(published, SENT_AT + 60_000)).toBe(versionIn(published));
  });

  it('is the same for a copy in another trace', () => {
    const inTrace = (digit: string) => {
      const traceparent = `00-${digit.repeat(32)}-${digit.repeat(16)}-01`;
      const parsed = parseIngress(received(published, { traceparent }), {});
      return parsed.ok ? parsed.version : parsed.reason;
    };
    expect(inTrace('a')).toBe(inTrace('b'));
    expect(inTrace('a')).toBe(versionIn(published));
  });

  it.each([
    ['data', { data: { total: 2 } }],
    ['data type', { data: ['1'] }],
    ['type', { type: 'order.cancelled' }],
    ['ttl', { ttl: 61 }],
    ['delay', { delay: 6 }],
    ['no type', { type: undefined }],
    ['no ttl', { ttl: undefined }],
    ['no delay', { delay: undefined }],
  ])('changes with another value: %s', (_what, change) => {
    expect(versionIn({ ...published, ...change })).not.toBe(versionIn(published));
  });

  it('differs for ttl and delay with the same number', () => {
    const { ttl: _ttl, delay: _delay, ...rest } = published;
    expect(versionIn({ ...rest, ttl: 7 })).not.toBe(versionIn({ ...rest, delay: 7 }));
  });

  it('is the same for repeated publishing through SNS', () => {
    const through = (Timestamp: string, MessageId: string) =>
      versionIn({
        Type: 'Notification',
        TopicArn: 'arn:aws:sns:us-east-1:000000000000:orders',
        Message: JSON.stringify(published),
        Timestamp,
        MessageId,
      });
    expect(through('2026-11-22T12:00:05.000Z', 'b')).toBe(through('2026-11-22T12:00:00.000Z', 'a'));
    expect(through('2026-11-22T12:00:00.000Z', 'a')).toBe(versionIn(published));
  });

  it("changes with the producer's time", () => {
    const event = { ...cloudEvent, queue: 'orders' };
    expect(versionIn({ ...event, time: '2018-04-05T17:31:01Z' })).not.toBe(versionIn(event));
  });

  it.each([
    ['bucket', { ...dataRef, bucket: 'other' }],
    ['key', { ...dataRef, key: 'webhooks/18.json' }],
    ['version of the object', { ...dataRef, versionId: '2' }],
  ])('changes with a data reference to another %s', (_what, other) => {
    const referring = { queue: 'orders', id: 'm-1' };
    expect(versionIn({ ...referring, dataRef: other })).not.toBe(versionIn({ ...referring, dataRef }));
  });

  it('is the same across releases, because records store it', () => {
    expect(versionIn(published)).toBe('Yya4sDZnHkxiD0pk');
    expect(versionIn({ queue: 'orders', id: 'm-1', dataRef })).toBe('fUAxYBMcO-UqoNeM');
  });
});
