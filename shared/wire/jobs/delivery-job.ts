import * as z from 'zod';
import { ATTEMPT_TRIGGERS } from '../../domain/delivery/vocabulary.ts';
import type { FirstJob, WakeUp } from '../../domain/delivery/job.ts';
import type { BodyLocation } from '../../domain/message/body.ts';
import { RETENTION_DAYS } from '../../domain/retention.ts';
import { storedMilliseconds, storedName } from '../../domain/stored-fields.ts';
import { readWith, type Reading, unreadable } from '../fields.ts';
import { propertySource, spliceRaw, type Json } from '../json-slice.ts';
import {
  decodeMessage,
  encodeMessage,
  messageKeyFields,
  openEnvelope,
  UnreadableMessageError,
  WIRE_VERSION,
} from './message-body.ts';

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

const job = z.object({
  ...keyFields,
  ...firstFields,
  attempt: z.literal(1),
  lost: z.int().positive().exactOptional(),
  isTest: z.literal(true).exactOptional(),
});

const chunkJob = z.object({
  ...placeFields,
  ...firstFields,
  chunk: z.int().nonnegative(),
  subscriptionIds: z.array(storedName).min(1),
});

const wakeUp = z.object({
  ...keyFields,
  attempt: z.int().positive(),
  dueAt: storedMilliseconds,
  by: z.enum(ATTEMPT_TRIGGERS).exactOptional(),
  atOnce: z.literal(true).exactOptional(),
});

/**
 * Parses a message of deliver's two queues. Unknown keys are ignored; an unknown version gives `unknown_version`.
 * Other reasons: `not_json`, `unknown_kind`, `message_missing`, `invalid_field:<path>`.
 */
export function parseWork(text: string): Reading<FirstJob | WakeUp> {
  const opened = openEnvelope(text);
  if (!opened.ok) return opened;
  const { json, kind } = opened.value;
  switch (kind) {
    case 'job':
      return parseJob(json);
    case 'chunk':
      return parseChunkJob(json);
    case 'wake_up':
      return parseWakeUp(json);
    default:
      return unreadable('unknown_kind');
  }
}

function parseJob(json: Json): Reading<FirstJob> {
  const parsed = readWith(job, json.value);
  if (!parsed.ok) return parsed;
  const { payloadKey, queue, messageId, subscriptionId, bucket, ...rest } = parsed.value;
  const body = bodyIn(json, payloadKey);
  if (!body.ok) return body;
  const key = { queue, messageId, subscriptionId, bucket };
  return { ok: true, value: { kind: 'job', key, ...rest, body: body.value } };
}

function parseChunkJob(json: Json): Reading<FirstJob> {
  const parsed = readWith(chunkJob, json.value);
  if (!parsed.ok) return parsed;
  const { payloadKey, queue, messageId, bucket, chunk, ...rest } = parsed.value;
  const body = bodyIn(json, payloadKey);
  if (!body.ok) return body;
  const key = { queue, messageId, bucket, chunk };
  return { ok: true, value: { kind: 'chunk', key, ...rest, body: body.value } };
}

function bodyIn(json: Json, payloadKey: string | undefined): Reading<BodyLocation> {
  if (payloadKey !== undefined) return { ok: true, value: { kind: 'stored', payloadKey } };
  const source = propertySource(json, 'message');
  if (source === undefined) return unreadable('message_missing');
  try {
    return { ok: true, value: { kind: 'inline', message: decodeMessage(source) } };
  } catch (error) {
    if (error instanceof UnreadableMessageError) return unreadable(`invalid_field:message (${error.reason})`);
    throw error;
  }
}

function parseWakeUp(json: Json): Reading<WakeUp> {
  const parsed = readWith(wakeUp, json.value);
  if (!parsed.ok) return parsed;
  const { queue, messageId, subscriptionId, bucket, atOnce: isUrgent, ...rest } = parsed.value;
  const key = { queue, messageId, subscriptionId, bucket };
  return { ok: true, value: { kind: 'wake_up', key, ...rest, ...(isUrgent && { isUrgent }) } };
}
