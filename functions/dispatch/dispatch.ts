import { type RetainedMessages, type DeadLetterReason } from '../../shared/domain/vocabulary.ts';
import {
  addresseesOf,
  contentOf,
  listedAt,
  type Acceptance,
  type Addressees,
} from '../../shared/domain/message/addressees.ts';
import { bucketsFor } from '../../shared/domain/delivery/fan-out.ts';
import {
  MAX_BODY_IN_JOB,
  MAX_BODY_ON_RECORD,
  type MessageBody,
  payloadKeyOf,
} from '../../shared/domain/message/body.ts';
import type { Message, MessageKey } from '../../shared/domain/message/message.ts';
import { acceptedVersion } from '../../shared/domain/message/version.ts';
import { planSqsDelay } from '../../shared/domain/retry/wake-up-plan.ts';
import type { Clock } from '../../shared/ports/clock.ts';
import type { DeadLetters, DeliveryQueue } from '../../shared/ports/queues.ts';
import type { Journal } from '../../shared/ports/journal.ts';
import type { MessageRecord, MessageRecords } from '../../shared/ports/messages.ts';
import type { Payloads } from '../../shared/ports/bodies.ts';
import type { SubscriptionList, Subscriptions } from '../../shared/ports/subscriptions.ts';
import type { ReceivedMessage } from '../../shared/wire/ingress/message.ts';
import { dividedUp, firstJobsFor, type Sending } from './first-jobs.ts';
import { repeated, type Copy } from './repeat.ts';
import { placeOf } from '../../shared/steps/keep-message.ts';
import { keptUntil, recordedUntil } from '../../shared/steps/retention.ts';

export type DispatchContext = {
  ports: {
    clock: Clock;
    subscriptions: Subscriptions;
    messageRecords: MessageRecords;
    payloads: Payloads;
    deliveryQueue: DeliveryQueue;
    deadLetters: DeadLetters;
    journal: Journal;
  };
  settings: {
    retentionMs: number;
    retryAfterCapMs: number;
    retainMessages: RetainedMessages;
    /** How many subscriptions of a message one job is for, about. */
    firstAttemptsPerJob: number;
  };
};

/**
 * What the ingress message says, or why it says nothing (shared/wire/ingress/message.ts). `version` tells apart what is
 * published under one id. `isFetched`: its data was read from where it refers to, and has to be found by its record from the start.
 */
export type IngressReading =
  | { ok: true; message: Message; version: string; delaySeconds?: number; isFetched?: true }
  | { ok: false; reason: DeadLetterReason };

/**
 * One ingress message: its record first, then a job for each chunk of the matching subscriptions (docs/design.md#chunks). It returns when the
 * message may be acknowledged, and throws when it must come again, which is always safe: the record is written once,
 * and a repeat sends the jobs again, so that it completes what a crash left undone (repeat.ts).
 */
export async function dispatch(
  context: DispatchContext,
  reading: IngressReading,
  received: ReceivedMessage,
): Promise<void> {
  if (!reading.ok) {
    await refuse(context, received, reading.reason);
    return;
  }
  const { message, version, delaySeconds = 0, isFetched = false } = reading;
  const list = await context.ports.subscriptions.list(message.queue, 'cached');
  if (list === undefined) {
    await refuse(context, received, 'unknown_queue', { queue: message.queue, messageId: message.id });
    return;
  }
  const body = await placeOf(context.ports.payloads, message, MAX_BODY_IN_JOB);
  await accept(context, { message, body, version, isFetched }, list, {
    sentAt: received.sentAt,
    delayMs: delaySeconds * 1000,
  });
}

/** A message that a repeat cannot mend is dead-lettered, so that it neither blocks the batch nor is tried fifty times. */
async function refuse(
  { ports }: DispatchContext,
  { sqsMessageId: id, body, attributes }: ReceivedMessage,
  reason: DeadLetterReason,
  message?: MessageKey,
): Promise<void> {
  await ports.deadLetters.send({ id, body, attributes }, reason);
  ports.journal.note({
    fact: 'message_refused',
    id,
    reason,
    ...(message === undefined ? {} : { message }),
  });
}

async function accept(
  context: DispatchContext,
  copy: Copy,
  list: SubscriptionList,
  { sentAt, delayMs }: Sending,
): Promise<void> {
  const { ports } = context;
  const { message, body } = copy;
  const acceptance = {
    acceptedAt: ports.clock.now(),
    listedAt: listedAt(list.readAt, list.subscriptions),
  };
  const first = addresseesOf(list.subscriptions, contentOf(message), acceptance);
  const draft = await draftRecord(context, copy, { ...acceptance, ...first });
  const { kind, record } = await ports.messageRecords.accept(
    { ...draft, life: list.queue.createdAt },
    sentAt,
  );
  // Erased since it first came: what this copy has put into the bucket must not stay there.
  if (record.erasedAt !== undefined) await ports.payloads.remove(payloadKeyOf(message));
  const sent =
    kind === 'accepted'
      ? { ...first, body, differs: false, late: false }
      : await repeated(context, record, copy, list);
  ports.journal.note({
    fact: 'message_accepted',
    message: record.key,
    matched: sent.matching.length,
    filtered: record.filtered,
    duplicate: kind === 'duplicate',
    ...(sent.differs ? { differs: true } : {}),
    ...(sent.late ? { late: true } : {}),
  });
  noteUndecided(ports.journal, record.key, sent.undecided);
  // A repeat waits for what is left of the delay, not for all of it once more.
  const { delaySeconds: leftSeconds } = planSqsDelay(record.acceptedAt + delayMs, ports.clock.now());
  const subscriptionIds = sent.matching.map(({ id }) => id);
  const jobs = firstJobsFor(subscriptionIds, record, sent.body, { sentAt, delayMs });
  await ports.deliveryQueue.send(jobs, leftSeconds);
}

const MOST_NAMED = 10;

/** One line however many they are; whose filter it is, an operator must know. */
function noteUndecided(journal: Journal, message: MessageKey, undecided: Addressees['undecided']): void {
  if (undecided.length === 0) return;
  journal.note({
    fact: 'filter_too_costly',
    message,
    subscriptions: undecided.length,
    subscriptionIds: undecided.slice(0, MOST_NAMED).map(({ id }) => id),
  });
}

async function draftRecord(
  { ports, settings }: DispatchContext,
  { message, body, version, isFetched }: Copy,
  { acceptedAt, listedAt, matching, filtered }: Acceptance & Addressees,
): Promise<MessageRecord> {
  const kept = await keptFromStart(
    isFetched ? 'all' : settings.retainMessages,
    ports.payloads,
    message,
    body,
  );
  const buckets = bucketsFor(matching.length);
  return {
    key: { queue: message.queue, messageId: message.id },
    acceptedAt,
    listedAt,
    ...(message.type === undefined ? {} : { type: message.type }),
    matched: matching.length,
    filtered,
    duplicates: 0,
    buckets,
    ...dividedUp(matching, buckets, settings.firstAttemptsPerJob),
    accepted: acceptedVersion(version, message),
    ...(kept === undefined ? {} : { body: kept }),
    expiresAt: (kept === undefined ? recordedUntil : keptUntil)(acceptedAt, settings),
  };
}

/** A body is kept at a delivery's first failure; from the start only if it is stored anyway, or by setting. */
async function keptFromStart(
  retainMessages: RetainedMessages,
  payloads: Payloads,
  message: Message,
  body: MessageBody,
): Promise<MessageBody | undefined> {
  if (body.kind === 'stored') return body;
  return retainMessages === 'all' ? placeOf(payloads, message, MAX_BODY_ON_RECORD) : undefined;
}
