import type { UndeliverableNotice } from '../../domain/delivery/dead-letter.ts';
import { toPayloadKey } from '../../domain/message/body.ts';
import type { Payloads } from '../../ports/bodies.ts';
import type { DeadLetters, Undeliverables } from '../../ports/queues.ts';
import { ID_ATTRIBUTE } from '../../wire/ingress/attributes.ts';
import {
  isTooLarge,
  REASON_ATTRIBUTE,
  withReservedAttributes,
  encodeUndeliverableNotice,
  MAX_NOTICE_BYTES,
} from '../../wire/jobs/dead-letter.ts';
import type { SQS } from '@aws-sdk/client-sqs';
import { sendMessage } from './batches.ts';

/**
 * A dead-letter queue that the functions send to. The body is unchanged. Attributes contain the reason and the
 * message's first SQS id, which a redriven message already has as an attribute. They are left out, the reason first, where
 * SQS would refuse the message for its size: dispatch would receive it a hundred times.
 */
export function sqsDeadLetters(sqs: SQS, queueUrl: string): DeadLetters {
  return {
    send: async ({ body, id, attributes = {} }, reason) => {
      const named = { [ID_ATTRIBUTE]: attributes[ID_ATTRIBUTE] ?? id };
      const fitting = [{ [REASON_ATTRIBUTE]: reason, ...named }, named]
        .map((added) => withReservedAttributes(attributes, added))
        .find((all) => !isTooLarge(body, all));
      await sendMessage({ sqs, queueUrl }, { body, attributes: fitting ?? attributes });
    },
  };
}

/**
 * The undeliverable queue. A notice contains the data, or the S3 location of the message if the whole notice would
 * exceed 256 KB, even if the message was small enough for its job. Safe to repeat.
 */
export function sqsUndeliverables(
  sqs: SQS,
  payloads: Pick<Payloads, 'put' | 'get'>,
  { queueUrl, payloadBucket }: { queueUrl: string; payloadBucket: string },
): Undeliverables {
  return {
    send: async (notice) => {
      const body = await buildBody(notice, payloads, payloadBucket);
      await sendMessage({ sqs, queueUrl }, { body });
    },
  };
}

async function buildBody(
  { delivery, body }: UndeliverableNotice,
  payloads: Pick<Payloads, 'put' | 'get'>,
  bucket: string,
): Promise<string> {
  if (body === undefined) return encodeUndeliverableNotice(delivery);
  const message = body.kind === 'stored' ? await payloads.get(body.payloadKey) : body.message;
  if (message === undefined) return encodeUndeliverableNotice(delivery);
  const whole = encodeUndeliverableNotice(delivery, { data: message.data });
  if (Buffer.byteLength(whole) <= MAX_NOTICE_BYTES) return whole;
  const payloadKey = body.kind === 'stored' ? body.payloadKey : toPayloadKey(message);
  if (body.kind === 'inline') await payloads.put(payloadKey, message);
  return encodeUndeliverableNotice(delivery, { dataRef: `s3://${bucket}/${payloadKey}` });
}
