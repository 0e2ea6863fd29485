import * as z from 'zod';
import { ATTEMPT_TRIGGERS } from '../../domain/delivery/vocabulary.ts';
import type { FirstJob, WakeUp } from '../../domain/delivery/job.ts';
import type { BodyLocation } from '../../domain/message/body.ts';
import { RETENTION_DAYS } from '../../domain/retention.ts';
import { storedMilliseconds, storedName } from '../../domain/stored-fields.ts';
import { type Reading, unreadable } from '../fields.ts';
import { propertySource, spliceRaw, type Json } from '../json-slice.ts';
import { encodeMessage, messageKeyFields, readMessage, readVersioned, WIRE_VERSION } from './message-body.ts';

/** Encodes a job for the delivery queue; an inline message is inserted unescaped. */
export function encodeFirstJob(job: FirstJob): string {
  const { kind, key, body, acceptedAt, sentAt, dueAt, retentionDays } = job;
  const times = { acceptedAt, sentAt, dueAt, retentionDays };
  const fields = { v: WIRE_VERSION, kind, ...key, ...toAttemptFields(job), ...times };
  return body.kind === 'inline'
    ? spliceRaw(fields, 'message', encodeMessage(body.message))
    : JSON.stringify({ ...fields, payloadKey: body.payloadKey });
}

function toAttemptFields(job: FirstJob) {
  return job.kind === 'chunk'
    ? { subscriptionIds: job.subscriptionIds }
    : { attempt: job.attempt, lost: job.lost, isTest: job.isTest };
}

/** Encodes a wake-up for the retry queue or a schedule. */
export function encodeWakeUp({ kind, key, attempt, dueAt, by, isUrgent }: WakeUp): string {
  return JSON.stringify({ v: WIRE_VERSION, kind, ...key, attempt, dueAt, by, atOnce: isUrgent });
}

const placeFields = {
  queue: messageKeyFields.queue,
  messageId: messageKeyFields.id,
  bucket: z.int().nonnegative(),
};

const keyFields = { ...placeFields, subscriptionId: storedName };

const firstFields = {
  acceptedAt: storedMilliseconds,
  sentAt: storedMilliseconds.exactOptional(),
  dueAt: storedMilliseconds.exactOptional(),
  retentionDays: z.number().min(RETENTION_DAYS.least).max(RETENTION_DAYS.most).exactOptional(),
  payloadKey: storedName.exactOptional(),
};

const job = z
  .object({
    kind: z.literal('job'),
    ...keyFields,
    ...firstFields,
    attempt: z.literal(1),
    lost: z.int().positive().exactOptional(),
    isTest: z.literal(true).exactOptional(),
  })
  .transform(({ queue, messageId, subscriptionId, bucket, ...rest }) => ({
    key: { queue, messageId, subscriptionId, bucket },
    ...rest,
  }));

const chunkJob = z
  .object({
    kind: z.literal('chunk'),
    ...placeFields,
    ...firstFields,
    chunk: z.int().nonnegative(),
    subscriptionIds: z.array(storedName).min(1),
  })
  .transform(({ queue, messageId, bucket, chunk, ...rest }) => ({
    key: { queue, messageId, bucket, chunk },
    ...rest,
  }));

const wakeUp = z
  .object({
    kind: z.literal('wake_up'),
    ...keyFields,
    attempt: z.int().positive(),
    dueAt: storedMilliseconds,
    by: z.enum(ATTEMPT_TRIGGERS).exactOptional(),
    atOnce: z.literal(true).exactOptional(),
  })
  .transform(({ queue, messageId, subscriptionId, bucket, atOnce: isUrgent, ...rest }) => ({
    key: { queue, messageId, subscriptionId, bucket },
    ...rest,
    ...(isUrgent && { isUrgent }),
  }));

const work = z.discriminatedUnion('kind', [job, chunkJob, wakeUp]);

/** Parses a message of deliver's two queues. Another reason than those of `readVersioned`: `message_missing`. */
export function parseWork(text: string): Reading<FirstJob | WakeUp> {
  const read = readVersioned(work, text);
  if (!read.ok) return read;
  const { json, value } = read.value;
  if (value.kind === 'wake_up') return { ok: true, value };
  const { payloadKey, ...first } = value;
  const body = bodyIn(json, payloadKey);
  return body.ok ? { ok: true, value: { ...first, body: body.value } } : body;
}

function bodyIn(json: Json, payloadKey: string | undefined): Reading<BodyLocation> {
  if (payloadKey !== undefined) return { ok: true, value: { kind: 'stored', payloadKey } };
  const source = propertySource(json, 'message');
  if (source === undefined) return unreadable('message_missing');
  const message = readMessage(source);
  return message.ok
    ? { ok: true, value: { kind: 'inline', message: message.value } }
    : unreadable(`invalid_field:message (${message.reason})`);
}
