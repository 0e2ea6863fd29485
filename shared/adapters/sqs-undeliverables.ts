import type { QueueClient } from './aws/queue-client.ts';
import type { MessageBody } from '../domain/message-body.ts';
import type { Message } from '../domain/message.ts';
import { payloadKeyOf } from '../domain/payload-key.ts';
import type { UndeliverableNotice } from '../domain/undeliverable.ts';
import { encodeUndeliverableNotice, MAX_NOTICE_BYTES } from '../messages/undeliverable-notice.ts';
import type { Undeliverables } from '../ports/dead-letters.ts';
import type { Payloads } from '../ports/payloads.ts';
import { sqsMessage } from './sqs-message.ts';

export type UndeliverablesSettings = { queueUrl: string; payloadBucket: string };

/**
 * The undeliverable queue. Its size decides what a notice holds, not how the message travelled: the data, or where the
 * message is once the whole would be over 256 KB. Safe to repeat.
 */
export const sqsUndeliverables = (
  sqs: QueueClient,
  payloads: Pick<Payloads, 'put' | 'get'>,
  { queueUrl, payloadBucket }: UndeliverablesSettings,
): Undeliverables => ({
  send: async (notice) => {
    const body = await bodyOf(notice, payloads, payloadBucket);
    await sqs.sendMessage({ QueueUrl: queueUrl, ...sqsMessage({ body }) });
  },
});

const bodyOf = async (
  { delivery, body }: UndeliverableNotice,
  payloads: Pick<Payloads, 'put' | 'get'>,
  bucket: string,
): Promise<string> => {
  const message = await messageOf(body, payloads);
  if (message === undefined) return encodeUndeliverableNotice(delivery, { kind: 'gone' });
  const whole = encodeUndeliverableNotice(delivery, { kind: 'inline', data: message.data });
  if (Buffer.byteLength(whole) <= MAX_NOTICE_BYTES) return whole;
  const payloadKey = body?.kind === 'stored' ? body.payloadKey : payloadKeyOf(message);
  if (body?.kind === 'inline') await payloads.put(payloadKey, message);
  return encodeUndeliverableNotice(delivery, { kind: 'reference', dataRef: `s3://${bucket}/${payloadKey}` });
};

const messageOf = async (
  body: MessageBody | undefined,
  payloads: Pick<Payloads, 'put' | 'get'>,
): Promise<Message | undefined> => (body?.kind === 'stored' ? payloads.get(body.payloadKey) : body?.message);
