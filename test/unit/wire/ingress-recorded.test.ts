import { describe, expect, it } from 'vitest';
import { messageIdOf } from '../../../shared/domain/message/message.ts';
import { parse, SENT_AT } from './ingress-samples.ts';

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
    expect(parse(transformed, {}, { 'aws.s3': 'invoices' })).toMatchObject({ message: { queue: 'by-rule' } });
  });

  it('from a topic is parsed as a notification with its message and attributes', () => {
    const attributes =
      ',\n  "MessageAttributes" : {\n    "queue" : {"Type":"String","Value":"payments"},\n    "tries" : {"Type":"Number","Value":"3"},\n    "tags" : {"Type":"String.Array","Value":"[\\"a\\"]"}\n  }';
    expect(parse(fromSns('{"total": 1.0}', attributes))).toEqual({
      ok: true,
      message: { queue: 'payments', ...bySns, type: 'invoice.paid', data: '{"total": 1.0}' },
    });
  });

  it('from a topic with raw delivery is the published message with SQS attributes', () => {
    const attributes = { queue: 'payments', tries: '3' };
    expect(parse('{"total": 1.0}', attributes)).toMatchObject({
      message: {
        queue: 'payments',
        timestamp: new Date(SENT_AT).toISOString(),
        data: '{"total": 1.0}',
      },
    });
  });

  it('from a rule through a topic is parsed as the event', () => {
    expect(parse(fromSns(fromEventBridge), {}, { 'aws.s3': 'invoices' })).toMatchObject({
      message: {
        queue: 'invoices',
        id: '8d41f6a0-2c7b-9e35-4f18-a6b3c05d7e92',
        type: 'Object Created',
        timestamp: '2026-11-12T00:00:00.000Z',
      },
    });
  });

  it('from a bucket through a topic is data as a whole', () => {
    const records =
      '{"Records":[{"eventVersion":"2.1","eventSource":"aws:s3","eventName":"ObjectCreated:Put"}]}';
    expect(parse(fromSns(records), {}, { 'shop-topic': 'invoices' })).toMatchObject({
      message: { queue: 'invoices', ...bySns, data: records },
    });
  });
});

describe('a CloudEvent as in its specification', () => {
  const expected = {
    ok: true,
    message: {
      queue: 'orders',
      ...messageIdOf({ id: 'C234-1234-1234', source: '/shop/7' }),
      type: 'com.example.order.created',
      timestamp: '2026-04-05T17:31:00.000Z',
      data: '{"total":44445555666634567890}',
    },
  };

  it('is parsed in structured mode and unknown extensions are ignored', () => {
    expect(parse(fromCloudEvents, {}, { '/shop/7': 'orders' })).toEqual(expected);
  });

  it('is parsed in binary mode from attributes', () => {
    const attributes = {
      'ce-specversion': '1.0',
      'ce-type': 'com.example.order.created',
      'ce-source': '/shop/7',
      'ce-subject': '17',
      'ce-id': 'C234-1234-1234',
      'ce-time': '2026-04-05T17:31:00Z',
      'content-type': 'application/json',
    };
    expect(parse('{"total":44445555666634567890}', attributes, { '/shop/7': 'orders' })).toEqual(expected);
  });
});
