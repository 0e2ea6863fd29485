import { randomBytes } from 'node:crypto';
import { sealBox } from '../../shared/adapters/kms/signing-secrets.ts';
import { queueItemOf, subscriptionItemOf } from '../../shared/adapters/dynamodb/subscription-item.ts';
import type { Message } from '../../shared/domain/message/message.ts';
import { makeSecret, secretText } from '../../shared/domain/subscription/signing-secret.ts';
import { encodeFirstJob } from '../../shared/wire/jobs/delivery-job.ts';
import { encodeOperation } from '../../shared/wire/jobs/operation.ts';
import type { FunctionName } from '../../test/support/bundle.ts';
import { completeEnvironment, QUEUE as QUEUE_URL } from '../../test/support/complete-environment.ts';
import type { Items } from './stub-aws.ts';

const QUEUE = 'orders';
const SUBSCRIPTION = 'subscription-1';
const PAYLOAD_BYTES = 1024;

/** What KMS made for the subscription's secret. */
export const DATA_KEY = randomBytes(32);

/** Bytes of a data key of 256 bits that KMS has encrypted. */
const ENCRYPTED_KEY = 184;

/** One queue with one subscription, whose deliveries are signed, as they are by default. */
export const itemsFor = (url: string): Items => {
  const owner = JSON.stringify([QUEUE, SUBSCRIPTION]);
  const box = sealBox(DATA_KEY, secretText(makeSecret('v1', randomBytes)), owner);
  const sealed = ['1', randomBytes(ENCRYPTED_KEY).toString('base64url'), box.toString('base64url')].join('.');
  return [
    queueItemOf({ name: QUEUE, metadata: {}, createdAt: 0 }),
    subscriptionItemOf({
      id: SUBSCRIPTION,
      queue: QUEUE,
      subscriber: `${url}/subscriber`,
      options: {},
      createdAt: 0,
      secrets: [{ sealed }],
    }),
  ];
};

/** The variables of all functions, with their queues at the stub, and what Lambda sets itself. */
export const environmentFor = (url: string): Record<string, string> => ({
  ...Object.fromEntries(
    Object.entries(completeEnvironment).map(([name, value]) => [
      name,
      value.replaceAll(new URL(QUEUE_URL).origin, url),
    ]),
  ),
  AWS_ENDPOINT_URL: url,
  AWS_REGION: 'us-east-1',
  AWS_ACCESS_KEY_ID: 'cold',
  AWS_SECRET_ACCESS_KEY: 'cold',
  AWS_LAMBDA_FUNCTION_NAME: 'cold',
  SUBSCRIBER_URL: `${url}/subscriber`,
});

const data = JSON.stringify({ text: 'x'.repeat(PAYLOAD_BYTES) });

const message = (now: number): Message => ({
  queue: QUEUE,
  id: 'message-1',
  type: 'order.created',
  timestamp: new Date(now).toISOString(),
  data,
});

const jobOf = (now: number): string =>
  encodeFirstJob({
    kind: 'job',
    key: { queue: QUEUE, messageId: 'message-1', subscriptionId: SUBSCRIPTION, bucket: 0 },
    attempt: 1,
    acceptedAt: now,
    sentAt: now,
    body: { kind: 'inline', message: message(now) },
  });

const sqsEvent = (body: string, now: number) => ({
  Records: [
    {
      messageId: '11111111-0000-4000-8000-000000000001',
      receiptHandle: 'handle',
      body,
      attributes: {
        ApproximateReceiveCount: '1',
        SentTimestamp: String(now),
        SenderId: 'AIDACKCEVSQ6C2EXAMPLE',
        ApproximateFirstReceiveTimestamp: String(now),
      },
      messageAttributes: {},
      md5OfBody: '',
      eventSource: 'aws:sqs',
      eventSourceARN: 'arn:aws:sqs:us-east-1:000000000000:queue',
      awsRegion: 'us-east-1',
    },
  ],
});

/** Long enough ago that operate has nothing more to wait for. */
const DELETED_MS_AGO = 120_000;

/** The usual work of each function, in its smallest measure. `now`: milliseconds since the epoch. */
export const eventsAt = (now: number): Record<FunctionName, unknown> => ({
  dispatch: sqsEvent(JSON.stringify({ queue: QUEUE, id: 'message-1', data: { text: data } }), now),
  deliver: sqsEvent(jobOf(now), now),
  reconcile: {},
  operate: sqsEvent(
    encodeOperation({ kind: 'cancellation', queue: QUEUE, deletedAt: now - DELETED_MS_AGO }),
    now,
  ),
  api: {
    rawPath: `/v2/queues/${QUEUE}/messages`,
    body: `{"messages":[{"body":${data}}]}`,
    requestContext: { requestId: 'request-1', http: { method: 'POST' } },
  },
});
