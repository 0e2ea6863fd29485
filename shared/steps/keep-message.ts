import type { DeliveryJob, FirstJob, WakeUp } from '../domain/delivery/job.ts';
import { bodyBytes, MAX_BODY_ON_RECORD, type BodyLocation, payloadKeyOf } from '../domain/message/body.ts';
import type { Message } from '../domain/message/message.ts';
import type { AcceptedMessage, MessageRecord, MessageRecords } from '../ports/messages.ts';
import type { Payloads } from '../ports/bodies.ts';

type Keeping = { messageRecords: MessageRecords; payloads: Payloads };

/** Where a message goes, having put it into the payload bucket if it has more bytes than it may have inline. */
export async function placeOf(
  payloads: Payloads,
  message: Message,
  mostInline: number,
): Promise<BodyLocation> {
  if (bodyBytes(message) <= mostInline) return { kind: 'inline', message };
  const payloadKey = payloadKeyOf(message);
  await payloads.put(payloadKey, message);
  return { kind: 'stored', payloadKey };
}

/**
 * Keeps the message of a job so that its retries find it; one that was erased is not kept again. A wake-up's message is kept
 * already. Safe to repeat.
 */
export async function keepMessage(ports: Keeping, work: DeliveryJob | WakeUp, until: number): Promise<void> {
  if (work.kind === 'wake_up') return;
  await keepAt(ports, work, await placeForJob(ports, work), until);
}

/** False: it was erased, and then the object that was just put is removed as well. */
async function keepAt(
  ports: Keeping,
  message: AcceptedMessage,
  body: BodyLocation,
  until: number,
): Promise<boolean> {
  const keeping = await ports.messageRecords.keepBody(message, body, until);
  if (keeping === 'erased' && body.kind === 'stored') await ports.payloads.remove(body.payloadKey);
  return keeping !== 'erased';
}

/**
 * A large message may be in the bucket already, because another subscriber's failure kept it. One that was erased is not put there:
 * a crash would leave it. Its key is all that `keepAt` needs to remove what an earlier crash has left.
 */
async function placeForJob(ports: Keeping, job: DeliveryJob): Promise<BodyLocation> {
  const { body } = job;
  if (body.kind === 'stored' || bodyBytes(body.message) <= MAX_BODY_ON_RECORD) return body;
  const record = await recordOf(ports, job);
  if (record?.erasedAt !== undefined) return { kind: 'stored', payloadKey: payloadKeyOf(body.message) };
  return record?.body ?? (await placeOf(ports.payloads, body.message, MAX_BODY_ON_RECORD));
}

/** Where a kept message is; undefined if it was not kept, has expired or was erased. */
export async function keptBody(
  ports: Pick<Keeping, 'messageRecords'>,
  message: AcceptedMessage,
): Promise<BodyLocation | undefined> {
  return (await recordOf(ports, message))?.body;
}

/** Its id may stand for another message by now, of another life of the queue: that one's record is none of ours. */
export async function recordOf(
  { messageRecords }: Pick<Keeping, 'messageRecords'>,
  { key, acceptedAt }: AcceptedMessage,
): Promise<MessageRecord | undefined> {
  const record = await messageRecords.find(key);
  return record?.acceptedAt === acceptedAt ? record : undefined;
}

/** Undefined where it is in the payload bucket no more. */
export async function messageIn(
  payloads: Pick<Payloads, 'get'>,
  body: BodyLocation,
): Promise<Message | undefined> {
  return body.kind === 'inline' ? body.message : payloads.get(body.payloadKey);
}

/** The message of a job or wake-up and where it came from; undefined where it cannot be found any more. */
export async function messageFor(
  ports: Keeping,
  work: FirstJob | WakeUp,
  accepted: AcceptedMessage,
): Promise<{ message: Message; body: BodyLocation } | undefined> {
  const body = work.kind === 'wake_up' ? await keptBody(ports, accepted) : work.body;
  if (body === undefined) return undefined;
  const message = await messageIn(ports.payloads, body);
  return message === undefined ? undefined : { message, body };
}

/**
 * The kept message of a delivery that gets another round, kept for that round as well; undefined where it is gone. What
 * lies in the payload bucket is put there anew, because objects expire by their age.
 */
export async function keptForAnotherRound(
  ports: Keeping,
  delivery: AcceptedMessage,
  until: number,
): Promise<Message | undefined> {
  const record = await recordOf(ports, delivery);
  if (record?.body === undefined) return undefined;
  const { body, expiresAt } = record;
  const message = await messageIn(ports.payloads, body);
  if (message === undefined) return undefined;
  if (body.kind === 'stored' && expiresAt < until) await ports.payloads.put(body.payloadKey, message);
  return (await keepAt(ports, delivery, body, until)) ? message : undefined;
}
