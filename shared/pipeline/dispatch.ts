import type { DeliveryJob } from '../domain/delivery-job.ts';
import { bucketOf, bucketsFor } from '../domain/fan-out.ts';
import { MAX_BODY_IN_JOB, MAX_BODY_ON_RECORD, type MessageBody } from '../domain/message-body.ts';
import type { Message } from '../domain/message.ts';
import type { Subscription } from '../domain/subscription.ts';
import { planHop } from '../domain/wake-up-plan.ts';
import type { Clock } from '../ports/clock.ts';
import type { DeadLetters } from '../ports/dead-letters.ts';
import type { DeliveryQueue } from '../ports/delivery-queue.ts';
import type { Journal } from '../ports/journal.ts';
import type { MessageRecord, MessageRecords } from '../ports/message-records.ts';
import type { Payloads } from '../ports/payloads.ts';
import type { SubscriptionList, Subscriptions } from '../ports/subscriptions.ts';
import { keptUntil, placeOf } from './message-keeping.ts';

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
  settings: { retentionMs: number; retryAfterCapMs: number; retainMessages: 'failed' | 'all' };
};

/** An ingress message as it came, to be buried verbatim if it can never be delivered. */
export type IngressOriginal = { id: string; body: string; attributes: Record<string, string> };

/** What the ingress message says, or why it says nothing (shared/messages/ingress-message.ts). */
export type IngressReading =
  { ok: true; message: Message; delaySeconds?: number } | { ok: false; reason: string };

/**
 * One ingress message: its record first, then a job for every matching subscription (design §4). It returns when the
 * message may be acknowledged, and throws when it must come again, which is always safe: the record is written once,
 * and a repeat sends the jobs again, so that it completes whatever a crash left undone.
 */
export const dispatch = async (
  context: DispatchContext,
  reading: IngressReading,
  original: IngressOriginal,
): Promise<void> => {
  if (!reading.ok) {
    await bury(context, original, reading.reason);
    return;
  }
  const { message } = reading;
  const list = await context.ports.subscriptions.list(message.queue, 'cached');
  if (list === undefined) {
    await bury(context, original, 'unknown_queue');
    return;
  }
  await accept(context, message, list, (reading.delaySeconds ?? 0) * 1000);
};

/** A fault that no repeat can mend: ours to bury, so that it neither blocks the batch nor is tried ten times. */
const bury = async ({ ports }: DispatchContext, original: IngressOriginal, reason: string): Promise<void> => {
  await ports.deadLetters.bury(original, reason);
  ports.journal.note({ fact: 'message_refused', id: original.id, reason });
};

const accept = async (
  context: DispatchContext,
  message: Message,
  list: SubscriptionList,
  delayMs: number,
): Promise<void> => {
  const { ports } = context;
  const body = await placeOf(ports.payloads, message, MAX_BODY_IN_JOB);
  const drafted = await draftRecord(context, message, list, body);
  const { kind, record } = await ports.messageRecords.accept(drafted);
  // A repeat may meet another function's cache: the membership on record counts, so it is read afresh.
  const members =
    kind === 'accepted' ? list : ((await ports.subscriptions.list(message.queue, 'fresh')) ?? list);
  const matching = membersOf(members, record);
  ports.journal.note({
    fact: 'message_accepted',
    message: record.key,
    matched: matching.length,
    filtered: record.filtered,
    duplicate: kind === 'duplicate',
  });
  // A repeat waits for what is left of the delay, not for all of it once more.
  const { delaySeconds: leftSeconds } = planHop(record.acceptedAt + delayMs, ports.clock.now());
  const jobs = matching.map((subscription) => jobFor(subscription, record, body, delayMs));
  await ports.deliveryQueue.send(jobs, leftSeconds);
};

const draftRecord = async (
  { ports, settings }: DispatchContext,
  message: Message,
  list: SubscriptionList,
  body: MessageBody,
): Promise<MessageRecord> => {
  const acceptedAt = ports.clock.now();
  const matched = unexpiredAt(list.subscriptions, acceptedAt).length;
  const kept = await keptFromStart(settings.retainMessages, ports.payloads, message, body);
  return {
    key: { queue: message.queue, messageId: message.id },
    acceptedAt,
    listedAt: listedAt(list),
    ...(message.type === undefined ? {} : { type: message.type }),
    matched,
    filtered: 0,
    duplicates: 0,
    buckets: bucketsFor(matched),
    ...(kept === undefined ? {} : { body: kept }),
    expiresAt: kept === undefined ? acceptedAt + settings.retentionMs : keptUntil(acceptedAt, settings),
  };
};

/** A body is kept at a delivery's first failure; from the start only if it is stored anyway, or by setting. */
const keptFromStart = async (
  retainMessages: 'failed' | 'all',
  payloads: Payloads,
  message: Message,
  body: MessageBody,
): Promise<MessageBody | undefined> => {
  if (body.kind === 'stored') return body;
  return retainMessages === 'all' ? placeOf(payloads, message, MAX_BODY_ON_RECORD) : undefined;
};

/** Those that had not expired when the message was accepted. */
const unexpiredAt = (subscriptions: readonly Subscription[], acceptedAt: number): Subscription[] =>
  subscriptions.filter(({ expiresAt }) => expiresAt === undefined || expiresAt > acceptedAt);

/** What a repeat may address: the members of the list that the first acceptance read. */
const membersOf = (list: SubscriptionList, record: MessageRecord): Subscription[] =>
  unexpiredAt(list.subscriptions, record.acceptedAt).filter(({ createdAt }) => createdAt <= record.listedAt);

/** Clocks differ between functions: whatever is on the list was created by then, whatever its own clock said. */
const listedAt = ({ readAt, subscriptions }: SubscriptionList): number =>
  subscriptions.reduce((latest, { createdAt }) => Math.max(latest, createdAt), readAt);

const jobFor = (
  subscription: Subscription,
  record: MessageRecord,
  body: MessageBody,
  delayMs: number,
): DeliveryJob => ({
  kind: 'job',
  key: { ...record.key, subscriptionId: subscription.id, bucket: bucketOf(subscription.id, record.buckets) },
  attempt: 1,
  acceptedAt: record.acceptedAt,
  ...(delayMs > 0 ? { dueAt: record.acceptedAt + delayMs } : {}),
  body,
});
