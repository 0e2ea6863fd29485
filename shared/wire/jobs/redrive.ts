import * as z from 'zod';
import type { DeadLetter, DeadLetterReading } from '../../domain/delivery/dead-letter.ts';
import { groupOf } from '../../domain/delivery/job.ts';
import { firstField } from '../fields.ts';
import { ID_ATTRIBUTE, QUEUE_ATTRIBUTE } from '../ingress/attributes.ts';
import { parseJson } from '../json-slice.ts';
import { deliveryViewSchema } from '../views/delivery.ts';
import { isTooLarge, REASON_ATTRIBUTE, withReservedAttributes } from './dead-letter.ts';
import { parseWork } from './delivery-job.ts';
import { parseOperation } from './operation.ts';

/**
 * Redrives an ingress dead letter unchanged, or to the queue `toQueue`; dispatch validates it again. An attribute keeps its original id, because
 * SQS assigns a new one. Skips it as `too_large` if the id does not fit: without it, subscribers would receive the
 * message again under another id.
 */
export function readIngressDeadLetter(
  { id, body, attributes, group }: DeadLetter,
  toQueue?: string,
): DeadLetterReading {
  const originalId = attributes[ID_ATTRIBUTE] ?? { type: 'String', text: id };
  const senderAttributes = Object.fromEntries(
    Object.entries(attributes).filter(([name]) => name !== REASON_ATTRIBUTE),
  );
  const all = withReservedAttributes(senderAttributes, {
    [ID_ATTRIBUTE]: originalId,
    ...(toQueue !== undefined && { [QUEUE_ATTRIBUTE]: { type: 'String', text: toQueue } }),
  });
  if (isTooLarge(body, all)) return { kind: 'skip', reason: 'too_large' };
  return {
    kind: 'redrive',
    message: { to: 'ingress', body, attributes: all, ...(group === undefined ? {} : { group }) },
    identity: 'text' in originalId ? originalId.text : id,
  };
}

/**
 * Redrives a job to the delivery queue and a wake-up to the retry queue, which have separate concurrency. Skips
 * what deliver cannot parse, with the reason. Drops the attributes, because deliver reads none.
 */
export function readDeliveryDeadLetter({ body }: DeadLetter): DeadLetterReading {
  const parsed = parseWork(body);
  if (!parsed.ok) return { kind: 'skip', reason: parsed.reason };
  const { value } = parsed;
  const { kind, key } = value;
  // The whole body would identify it as well, but may be 1 MiB.
  const identity = JSON.stringify([
    kind,
    key.queue,
    key.messageId,
    ...(value.kind === 'chunk'
      ? [value.key.bucket, value.key.chunk, value.subscriptionIds]
      : [value.key.subscriptionId, value.attempt]),
  ]);
  return {
    kind: 'redrive',
    message: { to: kind === 'wake_up' ? 'retry' : 'delivery', body, attributes: {}, group: groupOf(value) },
    identity,
  };
}

/**
 * Redrives an operation unchanged, to continue where it stopped. Skips what operate cannot parse, with the reason.
 * Copies of one operation have the same identity: the second has no further effect.
 */
export function readOperationDeadLetter({ body }: DeadLetter): DeadLetterReading {
  const parsed = parseOperation(body);
  if (!parsed.ok) return { kind: 'skip', reason: parsed.reason };
  return {
    kind: 'redrive',
    message: { to: 'operation', body, attributes: {} },
    identity: JSON.stringify(parsed.value),
  };
}

/** Fields of a notice without `data`, which may be any JSON. */
export const undeliverableNoticeSchema = deliveryViewSchema.extend({
  /** HTTP status of the last attempt; null if there was no response. */
  lastStatus: z.int().nullable(),
  /** `s3://bucket/key` of the stored message, a JSON object; its `data` is the data. */
  dataRef: z.string().exactOptional(),
});

/** A delivery that ended without a success, and its number of attempts. */
export type EndedDelivery = {
  queue: string;
  messageId: string;
  subscriptionId: string;
  attemptCount: number;
  /** The status in which it ended. */
  status?: string;
  /** When its last attempt ended, in milliseconds since the epoch. */
  endedAt?: number;
};

/** Only the fields that identify the delivery, so that notices of older releases stay readable. */
const endedSchema = undeliverableNoticeSchema
  .pick({ queue: true, messageId: true, subscriptionId: true })
  .extend({ attempts: z.array(z.unknown()), status: z.string().optional().catch(undefined) });

const lastAttemptSchema = z.object({ startedAt: z.iso.datetime(), durationMs: z.number() });

/** Reads a notice of the undeliverable queue. All notices of one delivery have the same identity. */
export function readUndeliverableNotice({ body }: DeadLetter): DeadLetterReading<EndedDelivery> {
  const json = parseJson(body);
  if (json === undefined) return { kind: 'skip', reason: 'not_json' };
  const parsed = endedSchema.safeParse(json.value);
  if (!parsed.success) return { kind: 'skip', reason: `invalid_field:${firstField(parsed.error)}` };
  const { attempts, status, ...key } = parsed.data;
  const last = lastAttemptSchema.safeParse(attempts.at(-1)).data;
  return {
    kind: 'redrive',
    message: {
      ...key,
      attemptCount: attempts.length,
      ...(status !== undefined && { status }),
      ...(last && { endedAt: Date.parse(last.startedAt) + last.durationMs }),
    },
    identity: JSON.stringify([key.queue, key.messageId, key.subscriptionId]),
  };
}
