import * as z from 'zod';
import type {
  DeadLetter,
  DeadLetterAttribute,
  DeadLetterReading,
} from '../../domain/delivery/dead-letter.ts';
import type { Delivery } from '../../domain/delivery/delivery.ts';
import { groupOf } from '../../domain/delivery/job.ts';
import { firstField } from '../fields.ts';
import { ID_ATTRIBUTE, isIngressAttribute, QUEUE_ATTRIBUTE } from '../ingress/message.ts';
import { parseJson, spliceRaw } from '../json-slice.ts';
import { deliveryView, deliveryViewSchema } from '../views/delivery.ts';
import { parseWork } from './delivery-job.ts';
import { parseOperation } from './operation.ts';

/** Maximum size of a notice in bytes; a larger one contains a reference to the data instead. */
export const MAX_NOTICE_BYTES = 256 * 1024;

/** Fields of a notice without `data`, which may be any JSON. */
export const undeliverableNoticeSchema = deliveryViewSchema.extend({
  /** HTTP status of the last attempt; null if there was no response. */
  lastStatus: z.int().nullable(),
  /** `s3://bucket/key` of the stored message, a JSON object; its `data` is the data. */
  dataRef: z.string().exactOptional(),
});

/**
 * Encodes a notice for the undeliverable queue: the delivery as in the API, with `lastStatus`, and `data` as JSON source
 * text or `dataRef`. With neither, the data was erased.
 */
export function encodeUndeliverableNotice(
  delivery: Delivery,
  { data, dataRef }: { data?: string; dataRef?: string } = {},
): string {
  const fields = { ...deliveryView(delivery), lastStatus: findLastStatus(delivery), dataRef };
  return data === undefined ? JSON.stringify(fields) : spliceRaw(fields, 'data', data);
}

function findLastStatus({ attempts }: Delivery): number | null {
  const last = attempts.at(-1)?.result;
  return last?.kind === 'answered' ? last.statusCode : null;
}

/** The attributes of a received message that are text; Posthaste has no others. */
export function stringAttributes(
  attributes: Readonly<Record<string, { stringValue?: string | undefined }>>,
): Record<string, string> {
  return Object.fromEntries(
    Object.entries(attributes).flatMap(([name, { stringValue }]) =>
      stringValue === undefined ? [] : [[name, stringValue]],
    ),
  );
}

/** Attribute with the reason for which a function dead-lettered a message. */
export const REASON_ATTRIBUTE = 'reason';

/** Maximum size of a message with its attributes in bytes (Amazon SQS message quotas). */
const MAX_BYTES = 1024 * 1024;

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

/** A delivery that ended without a success, and its number of attempts. */
export type EndedDelivery = {
  queue: string;
  messageId: string;
  subscriptionId: string;
  attemptCount: number;
  /** The status in which it ended. */
  status?: string;
};

/** Only the fields that identify the delivery, so that notices of older releases stay readable. */
const endedSchema = undeliverableNoticeSchema
  .pick({ queue: true, messageId: true, subscriptionId: true })
  .extend({ attempts: z.array(z.unknown()), status: z.string().optional().catch(undefined) });

/** Reads a notice of the undeliverable queue. All notices of one delivery have the same identity. */
export function readUndeliverableNotice({ body }: DeadLetter): DeadLetterReading<EndedDelivery> {
  const json = parseJson(body);
  if (json === undefined) return { kind: 'skip', reason: 'not_json' };
  const parsed = endedSchema.safeParse(json.value);
  if (!parsed.success) return { kind: 'skip', reason: `invalid_field:${firstField(parsed.error)}` };
  const { attempts, status, ...key } = parsed.data;
  return {
    kind: 'redrive',
    message: { ...key, attemptCount: attempts.length, ...(status !== undefined && { status }) },
    identity: JSON.stringify([key.queue, key.messageId, key.subscriptionId]),
  };
}

/** Whether SQS would refuse a message for its size. */
export function isTooLarge(
  body: string,
  attributes: Readonly<Record<string, DeadLetterAttribute | string>>,
): boolean {
  const bytes = Object.entries(attributes).reduce(
    (sum, [name, given]) => sum + Buffer.byteLength(name) + countBytes(given),
    Buffer.byteLength(body),
  );
  return bytes > MAX_BYTES;
}

function countBytes(given: DeadLetterAttribute | string): number {
  const attribute = typeof given === 'string' ? { type: 'String', text: given } : given;
  const value = 'text' in attribute ? Buffer.byteLength(attribute.text) : attribute.bytes.byteLength;
  return Buffer.byteLength(attribute.type) + value;
}

/** Maximum number of attributes of a message (Amazon SQS message quotas). */
const MAX_ATTRIBUTES = 10;

/** The reserved attributes, and as many of the sender's as fit; those that dispatch reads take precedence. */
export function withReservedAttributes<Value>(
  sender: Readonly<Record<string, Value>>,
  reserved: Readonly<Record<string, Value>>,
): Record<string, Value> {
  const kept = Object.entries(sender)
    .filter(([name]) => !Object.hasOwn(reserved, name))
    .toSorted(([one], [other]) => Number(isIngressAttribute(other)) - Number(isIngressAttribute(one)))
    .slice(0, MAX_ATTRIBUTES - Object.keys(reserved).length);
  return { ...Object.fromEntries(kept), ...reserved };
}
