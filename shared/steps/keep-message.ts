import type { DeliveryJob, FirstJob, WakeUp } from '../domain/delivery/job.ts';
import { computeRetention, type Retained } from '../domain/retention.ts';
import { bodyBytes, MAX_BODY_ON_RECORD, type BodyLocation, toPayloadKey } from '../domain/message/body.ts';
import type { Message } from '../domain/message/message.ts';
import type { AcceptedMessage, MessageRecord, MessageRecords } from '../ports/messages.ts';
import type { Payloads } from '../ports/bodies.ts';
import type { Clock } from '../ports/clock.ts';
import { type BodyRetention, bodyRetentionMs } from './retention.ts';

type KeepPorts = { messageRecords: Pick<MessageRecords, 'find' | 'keepBody'>; payloads: Payloads };

type KeepContext = { ports: KeepPorts & { clock: Pick<Clock, 'now'> }; settings: BodyRetention };

/** The body's location, after storing it in the payload bucket if it exceeds `mostInline` bytes. */
export async function storeBody(
  payloads: Payloads,
  message: Message,
  mostInline: number,
): Promise<BodyLocation> {
  if (bodyBytes(message) <= mostInline) return { kind: 'inline', message };
  const payloadKey = toPayloadKey(message);
  await payloads.put(payloadKey, message);
  return { kind: 'stored', payloadKey };
}

/**
 * Keeps the message of a job for its retries, unless it was erased. A wake-up's message is already kept.
 * Idempotent.
 */
export async function keepMessage(context: KeepContext, work: DeliveryJob | WakeUp): Promise<void> {
  if (work.kind === 'wake_up') return;
  const { ports, settings } = context;
  const until = ports.clock.now() + bodyRetentionMs(settings, work);
  const body = await storeBodyOfJob(ports, work);
  if (body !== undefined) await keepAt(ports, work, body, until);
}

/** False: the message was erased; an object that was just stored is removed. */
async function keepAt(
  ports: KeepPorts,
  message: AcceptedMessage,
  body: BodyLocation,
  until: number,
): Promise<boolean> {
  const keeping = await ports.messageRecords.keepBody(message, body, until);
  if (keeping === 'erased' && body.kind === 'stored') await ports.payloads.remove(body.payloadKey);
  return keeping !== 'erased';
}

/**
 * Stores the body of a job, unless another subscriber's failure already did. An erased body is not stored, because a
 * crash before `keepAt` would leave it; from its key, `keepAt` removes what an earlier crash left. Undefined: the message
 * is no longer on record, so nothing would refer to the object, and no erasure would remove it.
 */
async function storeBodyOfJob(ports: KeepPorts, job: DeliveryJob): Promise<BodyLocation | undefined> {
  const { body } = job;
  if (body.kind === 'stored' || bodyBytes(body.message) <= MAX_BODY_ON_RECORD) return body;
  const record = await findRecord(ports, job);
  if (record === undefined) return undefined;
  if (record.erasedAt !== undefined) return { kind: 'stored', payloadKey: toPayloadKey(body.message) };
  return record.body ?? (await storeBody(ports.payloads, body.message, MAX_BODY_ON_RECORD));
}

/** Location of a kept message; undefined if it was not kept, has expired or was erased. */
export async function keptBody(
  ports: Pick<KeepPorts, 'messageRecords'>,
  message: AcceptedMessage,
): Promise<BodyLocation | undefined> {
  return (await findRecord(ports, message))?.body;
}

/** The record of this message; undefined if its id now belongs to a message of another queue of the name. */
export async function findRecord(
  { messageRecords }: Pick<KeepPorts, 'messageRecords'>,
  { key, acceptedAt }: AcceptedMessage,
): Promise<MessageRecord | undefined> {
  const record = await messageRecords.find(key);
  return record?.acceptedAt === acceptedAt ? record : undefined;
}

/** Reads a message; undefined if it is no longer in the payload bucket. */
export async function readMessage(
  payloads: Pick<Payloads, 'get'>,
  body: BodyLocation,
): Promise<Message | undefined> {
  return body.kind === 'inline' ? body.message : payloads.get(body.payloadKey);
}

/**
 * A message and where it is stored. `acceptedAt`: of the record that a wake-up found by its key, which may be of another
 * queue of the name.
 */
export type StoredMessage = { message: Message; body: BodyLocation; acceptedAt?: number };

/** The message of a job or wake-up. `missing`: it should exist, and does not. */
export async function messageFor(
  context: KeepContext,
  work: FirstJob | WakeUp,
): Promise<StoredMessage | 'erased' | 'missing'> {
  const { messageRecords, payloads } = context.ports;
  if (work.kind !== 'wake_up') {
    const message = await readMessage(payloads, work.body);
    return message === undefined
      ? explainAbsence(await findRecord(context.ports, work))
      : { message, body: work.body };
  }
  const record = await messageRecords.find(work.key);
  if (record === undefined) return 'missing';
  const kept = await readKept(context, record, record);
  return kept === undefined ? explainAbsence(record) : { ...kept, acceptedAt: record.acceptedAt };
}

function explainAbsence(record: MessageRecord | undefined): 'erased' | 'missing' {
  return record?.erasedAt === undefined ? 'missing' : 'erased';
}

/** The kept message of a reopened delivery, kept for as long as another round can take; undefined if it is gone. */
export async function keepForNextRound(
  context: KeepContext,
  delivery: AcceptedMessage & Retained,
): Promise<Message | undefined> {
  const record = await findRecord(context.ports, delivery);
  return (await readKept(context, record, delivery, bodyRetentionMs(context.settings, delivery)))?.message;
}

/**
 * A kept message; undefined if it is gone. With less time left than `leastMs` it is kept again, by default with less
 * than the retention: a delivery can wait for its turn or its subscriber for longer than the longest schedule.
 */
export async function readKept(
  { ports, settings }: KeepContext,
  record: MessageRecord | undefined,
  retained: Retained,
  leastMs = computeRetention(retained, settings),
): Promise<{ message: Message; body: BodyLocation } | undefined> {
  if (record?.body === undefined) return undefined;
  const { body, expiresAt } = record;
  const message = await readMessage(ports.payloads, body);
  if (message === undefined) return undefined;
  const now = ports.clock.now();
  if (expiresAt >= now + leastMs) return { message, body };
  // Objects in the payload bucket expire by age.
  if (body.kind === 'stored') await ports.payloads.put(body.payloadKey, message);
  const until = now + bodyRetentionMs(settings, retained);
  return (await keepAt(ports, record, body, until)) ? { message, body } : undefined;
}
