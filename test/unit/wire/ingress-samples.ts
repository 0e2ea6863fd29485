import { toMessageId } from '../../../shared/domain/message/message.ts';
import {
  type IngressRoutes,
  parseIngress,
  type ReceivedMessage,
} from '../../../shared/wire/ingress/message.ts';

const SQS_ID = '5fea7756-0ea4-451a-a703-a558b933e274';
export const SENT_AT = Date.UTC(2026, 0, 2, 3, 4, 5, 678);

export const received = (body: unknown, attributes: Record<string, string> = {}): ReceivedMessage => ({
  body: typeof body === 'string' ? body : JSON.stringify(body),
  sqsMessageId: SQS_ID,
  sentAt: SENT_AT,
  attributes,
});

/** The parsed message without its version, which is tested in ingress.test.ts. */
export const parse = (body: unknown, attributes: Record<string, string> = {}, routes: IngressRoutes = {}) => {
  const parsed = parseIngress(received(body, attributes), routes);
  if (!parsed.ok) return parsed;
  const { version: _tested, ...rest } = parsed;
  return rest;
};

export const plain = { queue: 'orders', id: SQS_ID, timestamp: '2026-01-02T03:04:05.678Z' };

export const dataless = {
  specversion: '1.0',
  id: 'A234-1234-1234',
  source: 'https://example.com/storage',
  type: 'com.example.created',
  time: '2018-04-05T17:31:00Z',
};

export const cloudEvent = { ...dataless, data: { n: 1 } };

export const cloudEventIdentity = toMessageId({ id: cloudEvent.id, source: cloudEvent.source });

export const eventBridgeEvent = {
  version: '0',
  id: '6a7e8feb-b491-4cf7-a9f1-bf3703467718',
  'detail-type': 'EC2 Instance State-change Notification',
  source: 'aws.ec2',
  account: '111122223333',
  time: '2017-12-22T18:43:48Z',
  region: 'us-west-1',
  resources: [],
  detail: { state: 'terminated' },
};

export const TOPIC = 'arn:aws:sns:us-west-2:123456789012:MyTopic';

export const notification = (message: unknown, more: Record<string, unknown> = {}) => ({
  Type: 'Notification',
  MessageId: '22b80b92-fdea-4c2c-8f9d-bdfb0c7bf324',
  TopicArn: TOPIC,
  Message: typeof message === 'string' ? message : JSON.stringify(message),
  Timestamp: '2012-05-02T00:54:06.655Z',
  SignatureVersion: '1',
  ...more,
});
