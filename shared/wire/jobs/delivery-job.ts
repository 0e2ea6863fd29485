import * as z from 'zod';
import { ATTEMPT_TRIGGERS, type UnreadableReason } from '../../domain/vocabulary.ts';
import type { FirstJob, WakeUp } from '../../domain/delivery/job.ts';
import type { BodyLocation } from '../../domain/message/body.ts';
import { firstField } from '../fields.ts';
import { parseJson, propertySource, spliceRaw, type Json } from '../json-slice.ts';
import { decodeMessage, encodeMessage, UnreadableMessageError, WIRE_VERSION } from './message-body.ts';

export type ParsedWork = { ok: true; value: FirstJob | WakeUp } | { ok: false; reason: UnreadableReason };

/** Encodes a job for the delivery queue; an inline message is inserted unescaped. */
export function encodeFirstJob(job: FirstJob): string {
  const fields = { v: WIRE_VERSION, kind: job.kind, ...job.key, ...attemptFieldsOf(job), ...timesOf(job) };
  return job.body.kind === 'inline'
    ? spliceRaw(fields, 'message', encodeMessage(job.body.message))
    : JSON.stringify({ ...fields, payloadKey: job.body.payloadKey });
}

function attemptFieldsOf(job: FirstJob) {
  return job.kind === 'chunk'
    ? { subscriptionIds: job.subscriptionIds }
    : { attempt: job.attempt, lost: job.lost };
}

/** Encodes a wake-up for the retry queue or a schedule. */
export function encodeWakeUp({ kind, key, attempt, dueAt, by, atOnce }: WakeUp): string {
  return JSON.stringify({ v: WIRE_VERSION, kind, ...key, attempt, dueAt, by, atOnce });
}

function timesOf({ acceptedAt, sentAt, dueAt, retentionDays }: FirstJob) {
  return { acceptedAt, sentAt, dueAt, retentionDays };
}

const milliseconds = z.number().nonnegative();

const placeFields = {
  queue: z.string().min(1),
  messageId: z.string().min(1),
  bucket: z.int().nonnegative(),
};

const keyFields = { ...placeFields, subscriptionId: z.string().min(1) };

const firstFields = {
  acceptedAt: milliseconds,
  sentAt: milliseconds.exactOptional(),
  dueAt: milliseconds.exactOptional(),
  retentionDays: z.number().positive().exactOptional(),
  payloadKey: z.string().min(1).exactOptional(),
};

const job = z.object({
  ...keyFields,
  ...firstFields,
  attempt: z.literal(1),
  lost: z.int().positive().exactOptional(),
});

const chunkJob = z.object({
  ...placeFields,
  ...firstFields,
  chunk: z.int().nonnegative(),
  subscriptionIds: z.array(z.string().min(1)).min(1),
});

const wakeUp = z.object({
  ...keyFields,
  attempt: z.int().positive(),
  dueAt: milliseconds,
  by: z.enum(ATTEMPT_TRIGGERS).exactOptional(),
  atOnce: z.literal(true).exactOptional(),
});

const envelope = z.object({ v: z.unknown().optional(), kind: z.unknown().optional() });

/**
 * Parses a message of deliver's two queues. Unknown keys are ignored; an unknown version gives `unknown_version`.
 * Other reasons: `not_json`, `unknown_kind`, `message_missing`, `invalid_field:<path>`.
 */
export function parseWork(text: string): ParsedWork {
  const json = parseJson(text);
  if (json === undefined) return refusal('not_json');
  const outer = envelope.safeParse(json.value);
  if (!outer.success) return refusal(`invalid_field:${firstField(outer.error)}`);
  if (outer.data.v !== WIRE_VERSION) return refusal('unknown_version');
  switch (outer.data.kind) {
    case 'job':
      return parseJob(json);
    case 'chunk':
      return parseChunkJob(json);
    case 'wake_up':
      return parseWakeUp(json);
    default:
      return refusal('unknown_kind');
  }
}

function refusal(reason: UnreadableReason): ParsedWork {
  return { ok: false, reason };
}

function parseJob(json: Json): ParsedWork {
  const parsed = job.safeParse(json.value);
  if (!parsed.success) return refusal(`invalid_field:${firstField(parsed.error)}`);
  const { payloadKey, queue, messageId, subscriptionId, bucket, ...rest } = parsed.data;
  const body = bodyIn(json, payloadKey);
  if (!body.ok) return body;
  const key = { queue, messageId, subscriptionId, bucket };
  return { ok: true, value: { kind: 'job', key, ...rest, body: body.body } };
}

function parseChunkJob(json: Json): ParsedWork {
  const parsed = chunkJob.safeParse(json.value);
  if (!parsed.success) return refusal(`invalid_field:${firstField(parsed.error)}`);
  const { payloadKey, queue, messageId, bucket, chunk, ...rest } = parsed.data;
  const body = bodyIn(json, payloadKey);
  if (!body.ok) return body;
  const key = { queue, messageId, bucket, chunk };
  return { ok: true, value: { kind: 'chunk', key, ...rest, body: body.body } };
}

type BodyReading = { ok: true; body: BodyLocation } | { ok: false; reason: UnreadableReason };

function bodyIn(json: Json, payloadKey: string | undefined): BodyReading {
  return payloadKey === undefined ? inlineBody(json) : { ok: true, body: { kind: 'stored', payloadKey } };
}

function inlineBody(json: Json): BodyReading {
  const source = propertySource(json, 'message');
  if (source === undefined) return { ok: false, reason: 'message_missing' };
  try {
    return { ok: true, body: { kind: 'inline', message: decodeMessage(source) } };
  } catch (error) {
    if (error instanceof UnreadableMessageError)
      return { ok: false, reason: `invalid_field:message (${error.reason})` };
    throw error;
  }
}

function parseWakeUp(json: Json): ParsedWork {
  const parsed = wakeUp.safeParse(json.value);
  if (!parsed.success) return refusal(`invalid_field:${firstField(parsed.error)}`);
  const { queue, messageId, subscriptionId, bucket, ...rest } = parsed.data;
  return { ok: true, value: { kind: 'wake_up', key: { queue, messageId, subscriptionId, bucket }, ...rest } };
}
