import { marshall, unmarshall } from '@aws-sdk/util-dynamodb';
import * as fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { httpSubscriber } from '../../../shared/adapters/http/subscriber.ts';
import {
  toMessageItem,
  toMessageRecord,
} from '../../../shared/adapters/dynamodb/deliveries/message-records.ts';
import type { DeliveryJob } from '../../../shared/domain/delivery/job.ts';
import type { Message } from '../../../shared/domain/message/message.ts';
import type { SubscriptionOptions } from '../../../shared/domain/subscription/subscription.ts';
import { ZAQAR_MESSAGE } from '../../../shared/domain/message/payload.ts';
import { encodeFirstJob, parseWork } from '../../../shared/wire/jobs/delivery-job.ts';
import { decodeMessage, encodeMessage } from '../../../shared/wire/jobs/message-body.ts';
import { aSubscription, requestFor } from '../../support/builders.ts';
import { type Receiver, startReceiver } from '../../support/receiver.ts';
import { parse } from '../wire/ingress-samples.ts';
import { jsonText } from '../wire/json-text.ts';

const DEADLINE_MS = 5_000;

/** Data that a parser in between would change: digits, order, escapes, lone surrogates, whitespace. */
const perilous = fc.oneof(
  fc.stringMatching(/^-?[1-9][0-9]{15,300}$/),
  fc.stringMatching(/^[1-9][0-9]{0,20}\.[0-9]{1,30}[eE][+-]?[0-9]{1,4}$/),
  fc
    .uniqueArray(fc.nat({ max: 1_000 }), { minLength: 2, maxLength: 8 })
    .map((keys) => `{${keys.map((key) => `"${key}":${key}`).join(',')},"a":1,"__proto__":2,"a":3}`),
  fc
    .stringMatching(/^(?:\\u[dD][89a-fA-F][0-9a-fA-F]{2}|\\u0000|\\\/|é|\\u00e9|😀|\u2028| ){1,20}$/)
    .map((text) => `"${text}"`),
  fc
    .tuple(fc.stringMatching(/^[ \t\r\n]{0,5}$/), jsonText)
    .map(([blank, text]) => `[${blank}${text.trim()}${blank}]`),
);
const dataText = fc.oneof(jsonText, perilous).map((text) => text.trim());

const TRACE = `00-${'a'.repeat(32)}-${'b'.repeat(16)}-01`;

/** Each envelope that may carry it, by its name in the documentation. */
const waysIn: Record<string, (data: string) => [body: string, attributes?: Record<string, string>]> = {
  native: (data) => [`{"queue":"orders" , "data": ${data}\n}`],
  'an attribute': (data) => [`{"data":${data}}`, { queue: 'orders', traceparent: TRACE }],
  'CloudEvents, structured': (data) => [
    `{"specversion":"1.0","id":"1","source":"/a","type":"b","queue":"orders","data":${data}}`,
  ],
  'CloudEvents, binary': (data) => [
    data,
    { queue: 'orders', 'ce-specversion': '1.0', 'ce-id': '1', 'ce-source': '/a', 'ce-type': 'b' },
  ],
  EventBridge: (data) => [`{"source":"a","detail-type":"b","queue":"orders","detail":${data}}`],
  SNS: (data) => [
    JSON.stringify({
      Type: 'Notification',
      MessageId: '1',
      TopicArn: 'arn:aws:sns:us-east-1:000000000000:topic',
      Message: `{"queue":"orders","data":${data}}`,
      Timestamp: '2026-01-01T00:00:00.000Z',
    }),
  ],
};

/** The effect of SQS, S3 and a socket on text. */
const overTheWire = (text: string): string => Buffer.from(text).toString();

const published = ([body, attributes]: [body: string, attributes?: Record<string, string>]): Message => {
  const parsed = parse(overTheWire(body), attributes);
  if (!parsed.ok) throw new Error(parsed.reason);
  if ('dataRef' in parsed) throw new Error('The data of this message is a reference.');
  return parsed.message;
};

const throughAJob = (message: Message): Message => {
  const key = { queue: message.queue, messageId: message.id, subscriptionId: 's-1', bucket: 0 };
  const job: DeliveryJob = { kind: 'job', key, attempt: 1, acceptedAt: 0, body: { kind: 'inline', message } };
  const parsed = parseWork(overTheWire(encodeFirstJob(job)));
  if (!parsed.ok || parsed.value.kind !== 'job' || parsed.value.body.kind !== 'inline') {
    throw new Error('This is not a job with an inline message.');
  }
  return parsed.value.body.message;
};

const throughItsRecord = (message: Message): Message => {
  const key = { queue: message.queue, messageId: message.id };
  const counts = { matched: 1, filtered: 0, duplicates: 0, buckets: 1 };
  const times = { acceptedAt: 0, listedAt: 0, expiresAt: 0 };
  const item = toMessageItem({ key, ...counts, ...times, body: { kind: 'inline', message } });
  const stored = marshall(item, { removeUndefinedValues: true });
  const { body } = toMessageRecord(key, unmarshall(stored));
  if (body?.kind !== 'inline') throw new Error('This record has no inline message.');
  return body.message;
};

const throughTheBucket = (message: Message): Message => decodeMessage(overTheWire(encodeMessage(message)));

/** Each form of a body, with the text before and after the data. */
const forms: [SubscriptionOptions, around: (envelope: string) => [before: string, after: string]][] = [
  [{}, (envelope) => [envelope, '}']],
  [{ raw_delivery: true }, () => ['', '']],
  [{ post_data: `{"wrapped": ${ZAQAR_MESSAGE} }` }, (envelope) => [`{"wrapped": ${envelope}`, '} }']],
];

describe('the data of a message', () => {
  let receiver: Receiver;
  beforeAll(async () => {
    receiver = await startReceiver();
  });
  afterAll(() => receiver.close());

  const subscriber = httpSubscriber({ allowedAddresses: ['127.0.0.0/8'] });

  const received = async (message: Message, options: SubscriptionOptions): Promise<Buffer | undefined> => {
    const subscription = aSubscription({ subscriber: receiver.url(), options });
    const attempt = { startedAt: 0, userAgent: 'Posthaste/1.2.3', secrets: [] };
    const reply = await subscriber.post(await requestFor(message, subscription, attempt), DEADLINE_MS);
    expect(reply).toEqual({ kind: 'answered', statusCode: 200 });
    return receiver.received().at(-1)?.body;
  };

  it.each(Object.entries(waysIn))(
    'published as %s reaches the subscriber byte for byte, through a job, a record and the bucket',
    async (_way, envelopeOf) => {
      await fc.assert(
        fc.asyncProperty(dataText, fc.constantFrom(...forms), async (data, [options, around]) => {
          const message = published(envelopeOf(data));
          expect(message.data).toBe(data);
          const kept = throughTheBucket(throughItsRecord(throughAJob(message)));
          expect(kept).toEqual(message);

          const { id, originalId = id, queue, type, timestamp } = message;
          const head = JSON.stringify({ id: originalId, queue, type, timestamp }).slice(0, -1);
          const [before, after] = around(`${head},"data":`);
          const body = await received(kept, options);
          expect(body?.equals(Buffer.from(before + data + after))).toBe(true);
        }),
        { numRuns: 200 },
      );
    },
  );
});
