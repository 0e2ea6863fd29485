import type { DeadLetterReason } from '../../shared/domain/message/vocabulary.ts';
import type { EventValidation, RetainedMessages } from '../../shared/domain/subscription/vocabulary.ts';
import {
  matchSubscriptions,
  toMatchContent,
  listedAt,
  type AcceptanceTimes,
  type MatchResult,
} from '../../shared/domain/message/matching.ts';
import { bucketsFor } from '../../shared/domain/delivery/fan-out.ts';
import {
  MAX_BODY_IN_JOB,
  MAX_BODY_ON_RECORD,
  type BodyLocation,
  toPayloadKey,
} from '../../shared/domain/message/body.ts';
import type { Message, MessageKey } from '../../shared/domain/message/message.ts';
import { computeRetention, retainedFor } from '../../shared/domain/retention.ts';
import { acceptedVersion, withAcceptedVersion } from '../../shared/domain/message/version.ts';
import { type EventFault, toReason } from '../../shared/domain/event-type/event-fault.ts';
import { DAY_MS } from '../../shared/domain/duration.ts';
import type { Fact, Journal } from '../../shared/ports/journal.ts';
import type { MessageRecord } from '../../shared/ports/messages.ts';
import type { Payloads } from '../../shared/ports/bodies.ts';
import type { SubscriptionPage } from '../../shared/ports/subscriptions.ts';
import type { ReceivedMessage } from '../../shared/wire/ingress/message.ts';
import {
  type DispatchContext,
  divideIntoChunks,
  type SendTiming,
  readLastPart,
  resendLastPart,
  sendJobs,
  sendPages,
} from './pages.ts';
import { checkEvent, type CheckedEvent } from '../../shared/steps/check-event.ts';
import { readMessage, storeBody } from '../../shared/steps/keep-message.ts';
import { bodyRetentionMs, recordedUntil } from '../../shared/steps/retention.ts';

/**
 * A parsed ingress message, or why it cannot be parsed (shared/wire/ingress/message.ts). `version` distinguishes
 * messages published under one id. `isFromReference`: the data was read from its reference, so the record stores it from
 * the start.
 */
export type IngressResult =
  | { ok: true; message: Message; version: string; delaySeconds?: number; isFromReference?: true }
  | { ok: false; reason: DeadLetterReason };

/**
 * Accepts one ingress message: writes its record, then sends a job for each chunk of matching subscriptions
 * (docs/architecture.md#chunks). Idempotent: the record is written once, and a redelivery sends the jobs again.
 * @throws if the message must be redelivered
 */
export async function dispatch(
  context: DispatchContext,
  parsed: IngressResult,
  received: ReceivedMessage,
): Promise<void> {
  if (!parsed.ok) {
    await refuse(context, received, parsed.reason);
    return;
  }
  const { message, version, delaySeconds = 0, isFromReference = false } = parsed;
  const key = { queue: message.queue, messageId: message.id };
  const page = await context.ports.subscriptions.page(message.queue, 'cached');
  if (page === undefined) {
    await refuse(context, received, 'unknown_queue', key);
    return;
  }
  const event = await checkByMode(context, parsed, page.eventValidation ?? context.settings.eventValidation);
  if (event.kind === 'rejected') {
    await refuse(context, received, toReason(event.fault), key);
    return;
  }
  const body = await storeBody(context.ports.payloads, message, MAX_BODY_IN_JOB);
  await accept(context, { message, body, version, isFromReference, event }, page, {
    sentAt: received.sentAt,
    delayMs: delaySeconds * 1000,
  });
}

/** What the catalogue of event types says, which is not read with `off`. `rejected`: the message must not be accepted. */
async function checkByMode(
  { ports }: DispatchContext,
  { message, version }: { message: Message; version: string },
  mode: EventValidation,
): Promise<CheckedEvent | { kind: 'rejected'; fault: EventFault }> {
  if (mode === 'off') return { kind: 'valid' };
  const event = await checkEvent(ports, message);
  if (mode === 'warn' || event.kind !== 'invalid') return event;
  // Its type has changed since this version was accepted: a repeat completes its jobs.
  const record = await ports.messageRecords.find({ queue: message.queue, messageId: message.id });
  const wasAccepted = record !== undefined && (record.accepted?.digest ?? version) === version;
  return wasAccepted ? event : { kind: 'rejected', fault: event.fault };
}

/** Dead-letters a message that a retry cannot fix, so that it is not received again and again. */
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

/**
 * One received copy of a message. `body`: where its jobs read it. `isFromReference`: the data was read from its reference.
 */
type ReceivedCopy = {
  message: Message;
  body: BodyLocation;
  version: string;
  isFromReference: boolean;
  event: CheckedEvent;
};

async function accept(
  context: DispatchContext,
  copy: ReceivedCopy,
  page: SubscriptionPage,
  timing: SendTiming,
): Promise<void> {
  const { ports } = context;
  const { message, body } = copy;
  const content = toMatchContent(message);
  const acceptance = {
    acceptedAt: ports.clock.now(),
    listedAt: listedAt(page.readAt, page.subscriptions),
  };
  const first = matchSubscriptions(page.subscriptions, content, acceptance);
  const draft = await draftRecord(context, copy, page, { ...acceptance, ...first });
  const { kind, record } = await ports.messageRecords.accept(draft, timing.sentAt);
  // The message was erased after its first copy: remove what this copy stored.
  if (record.erasedAt !== undefined) await ports.payloads.remove(toPayloadKey(message));
  if (kind === 'duplicate') {
    await handleRepeat(context, record, { copy, page, timing });
    return;
  }
  const { kind: event } = copy.event;
  noteAccepted(ports.journal, record, {
    matched: first.matching.length,
    duplicate: false,
    ...(event === 'valid' ? {} : { event }),
  });
  const sent = { content, body, timing };
  await sendJobs(context, { record, part: record, match: first }, sent);
  await sendPages(context, record, sent);
}

/**
 * What the queue keeps; undefined: the deployment decides. Without an active subscription it keeps all, because the first
 * one may be late or the name of the queue mistyped: the message can then be sent by hand.
 */
function retainedFrom(
  { retainMessages, lastSubscriptionId }: SubscriptionPage,
  { matching, filtered }: MatchResult,
): RetainedMessages | undefined {
  const isLost = matching.length + filtered === 0 && lastSubscriptionId === undefined;
  return isLost ? 'all' : retainMessages;
}

async function handleRepeat(
  context: DispatchContext,
  record: MessageRecord,
  { copy, page, timing }: { copy: ReceivedCopy; page: SubscriptionPage; timing: SendTiming },
): Promise<void> {
  const { journal } = context.ports;
  const resent = await resolveRepeat(context, record, copy);
  if (!('message' in resent)) {
    noteAccepted(journal, record, { matched: 0, duplicate: true, ...resent });
    return;
  }
  const sent = { content: toMatchContent(resent.message), body: resent.body, timing };
  const last = await readLastPart(context, record, sent, page);
  noteAccepted(journal, record, { matched: last.match.matching.length, duplicate: true });
  const current = await resendLastPart(context, record, sent, last);
  if (current !== undefined) await sendPages(context, current, sent);
}

/** A redelivery within this time before the retention window's end sends nothing: its jobs may wait in SQS. */
const JOB_MARGIN_MS = DAY_MS;

/**
 * What to send for a redelivered message, to complete what a crash left undone. Only the accepted version is sent, so
 * that all deliveries and attempts send the same. A copy of another version, or one after the window, sends nothing.
 */
async function resolveRepeat(
  { ports, settings }: DispatchContext,
  record: MessageRecord,
  copy: ReceivedCopy,
): Promise<{ differs: true } | { late: true } | Pick<ReceivedCopy, 'message' | 'body'>> {
  const { acceptedAt, accepted } = record;
  if (accepted !== undefined && accepted.digest !== copy.version) return { differs: true };
  const forgottenAt = acceptedAt + computeRetention(record, settings);
  if (ports.clock.now() >= forgottenAt - JOB_MARGIN_MS) return { late: true };
  return acceptedCopy(ports.payloads, record, copy);
}

/**
 * The accepted message with the body stored in its record, if there is one. Referenced data may have changed since
 * the acceptance, so the stored copy replaces it.
 */
async function acceptedCopy(
  payloads: Payloads,
  { body, accepted }: MessageRecord,
  copy: ReceivedCopy,
): Promise<Pick<ReceivedCopy, 'message' | 'body'>> {
  if (body !== undefined) {
    const kept = copy.isFromReference ? await readMessage(payloads, body) : undefined;
    return { body, message: kept ?? copy.message };
  }
  // A body in the bucket was on the record from the start, so this one was erased since: deliver cancels its jobs.
  if (accepted === undefined || copy.body.kind === 'stored') return copy;
  const message = withAcceptedVersion(copy.message, accepted);
  return { message, body: { kind: 'inline', message } };
}

type AcceptedFields = Pick<
  Extract<Fact, { fact: 'message_accepted' }>,
  'matched' | 'duplicate' | 'differs' | 'late' | 'event'
>;

function noteAccepted(
  journal: Journal,
  { key, filtered, lastSubscriptionId }: MessageRecord,
  accepted: AcceptedFields,
): void {
  const more = lastSubscriptionId === undefined ? {} : { unfinished: true as const };
  journal.note({ fact: 'message_accepted', message: key, filtered, ...accepted, ...more });
}

async function draftRecord(
  { ports, settings }: DispatchContext,
  { message, body, version, isFromReference, event }: ReceivedCopy,
  page: SubscriptionPage,
  { acceptedAt, listedAt, ...match }: AcceptanceTimes & MatchResult,
): Promise<MessageRecord> {
  const { matching, filtered } = match;
  const retained = retainedFrom(page, match) ?? settings.retainMessages;
  const kept = await bodyForRecord(isFromReference ? 'all' : retained, ports.payloads, message, body);
  const { queueCreatedAt, lastSubscriptionId } = page;
  const buckets = bucketsFor(matching.length);
  const retention = retainedFor(page.retentionDays, settings);
  return {
    key: { queue: message.queue, messageId: message.id },
    acceptedAt,
    listedAt,
    queueCreatedAt,
    ...(lastSubscriptionId === undefined ? {} : { lastSubscriptionId }),
    ...(message.type === undefined ? {} : { type: message.type }),
    ...(event.kind === 'invalid' ? { eventFault: event.fault } : {}),
    matched: matching.length,
    filtered,
    duplicates: 0,
    buckets,
    ...divideIntoChunks(matching, buckets, settings.firstAttemptsPerJob),
    accepted: acceptedVersion(version, message),
    ...(kept === undefined ? {} : { body: kept }),
    ...retention,
    expiresAt:
      kept === undefined
        ? recordedUntil(acceptedAt, settings, retention)
        : acceptedAt + bodyRetentionMs(settings, retention),
  };
}

/** The body to store with the record; undefined: it is stored at a delivery's first failure. */
async function bodyForRecord(
  retainMessages: RetainedMessages,
  payloads: Payloads,
  message: Message,
  body: BodyLocation,
): Promise<BodyLocation | undefined> {
  if (body.kind === 'stored') return body;
  return retainMessages === 'all' ? storeBody(payloads, message, MAX_BODY_ON_RECORD) : undefined;
}
