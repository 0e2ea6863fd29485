import {
  jobOfMember,
  type ChunkJob,
  type DeliveryJob,
  type FirstJob,
  type WakeUp,
} from '../../shared/domain/delivery/job.ts';
import { rateLimitOf } from '../../shared/domain/subscription/rate-limit.ts';
import { absenceOf, type Queue, type Subscription } from '../../shared/domain/subscription/subscription.ts';
import type { AbsenceReason } from '../../shared/domain/vocabulary.ts';
import type { Freshness } from '../../shared/ports/subscriptions.ts';
import { keepMessage, messageFor } from '../../shared/steps/keep-message.ts';
import { keptUntil } from '../../shared/steps/retention.ts';
import { parseWork } from '../../shared/wire/jobs/delivery-job.ts';
import { makeAttempt } from './attempt.ts';
import { ChunkFaultError, claimMembers, SuccessRecorder } from './chunk.ts';
import { claimDelivery, followRefusal, type ClaimResult } from './claim.ts';
import { hasTimeForAttempt, leaseFor, type DeliverContext, type Receipt } from './context.ts';
import { noteAbsence } from './health.ts';
import { cancelHeld, type Held, type Loaded } from './held.ts';
import { sendAgainIfEarly, sendAgain } from './wake-up.ts';
import type { Context, SQSRecord } from 'aws-lambda';

/**
 * What deliver does for every SQS record. A throw means that one of our own services failed, and the message comes again.
 * A message that can never be understood is dead-lettered with its reason instead of being tried ten times.
 */
export async function deliverRecord(
  context: DeliverContext,
  record: SQSRecord,
  invocation: Context,
): Promise<void> {
  const { deadLetters, journal } = context.ports;
  const { messageId: id, body: text } = record;
  const parsed = parseWork(text);
  if (!parsed.ok) {
    await deadLetters.send({ id, body: text }, parsed.reason);
    journal.note({ fact: 'dead_lettered', id, reason: parsed.reason });
    return;
  }
  await deliver(context, parsed.value, {
    id,
    text,
    receiveCount: Number(record.attributes.ApproximateReceiveCount),
    owner: `${invocation.awsRequestId}/${id}`,
    remainingMs: () => invocation.getRemainingTimeInMillis(),
  });
}

/** The ids of the delivery in a record, as far as it can be read; of a chunk those of its message. */
export function deliveryIdsIn({ body }: SQSRecord): Record<string, string> {
  const parsed = parseWork(body);
  if (!parsed.ok) return {};
  const { kind, key } = parsed.value;
  const { queue, messageId } = key;
  return kind === 'chunk' ? { queue, messageId } : { queue, messageId, subscriptionId: key.subscriptionId };
}

/**
 * One job or wake-up, to the end of what can be done about it now (docs/design.md#a-job-or-wake-up-step-by-step). It returns when the message may be
 * acknowledged, and throws when it must come again: nothing that a subscriber does throws, only our own services.
 */
export async function deliver(
  context: DeliverContext,
  work: FirstJob | WakeUp,
  receipt: Receipt,
): Promise<void> {
  if (await sendAgainIfEarly(context, work, work.dueAt)) return;
  if (!hasTimeForAttempt(context, receipt)) await handBack(context, work);
  else if (work.kind === 'chunk') await deliverChunk(context, work, receipt);
  else await deliverOne(context, work, receipt);
}

/** As a new message, so that it does not count as a failed receive. */
async function handBack(context: DeliverContext, work: FirstJob | WakeUp): Promise<void> {
  const { clock, journal } = context.ports;
  for (const { key, attempt } of work.kind === 'chunk' ? jobsOf(work) : [work])
    journal.note({ fact: 'time_given_back', key, attempt });
  await sendAgain(context, work, clock.now());
}

/**
 * The first attempts of a chunk's members, side by side, each to its end.
 * @throws ChunkFaultError
 */
async function deliverChunk(context: DeliverContext, job: ChunkJob, receipt: Receipt): Promise<void> {
  const chunk = await claimMembers(context, job, receipt);
  if (chunk === undefined) return;
  const successes = new SuccessRecorder(context, chunk, receipt.owner);
  const results = await Promise.allSettled(
    jobsOf(job).map((one) => deliverOne(context, one, receipt, successes)),
  );
  const faults = results.flatMap((result): unknown[] =>
    result.status === 'rejected' ? [result.reason] : [],
  );
  if (faults.length > 0) throw new ChunkFaultError(job.key, faults);
}

function jobsOf(job: ChunkJob): DeliveryJob[] {
  return job.subscriptionIds.map((id) => jobOfMember(job, id));
}

/** One delivery: its subscription, its claim, its message, and then its attempts. */
async function deliverOne(
  context: DeliverContext,
  work: DeliveryJob | WakeUp,
  receipt: Receipt,
  successes?: SuccessRecorder,
): Promise<void> {
  const { absence, ...recipient } = await recipientOf(context, work);
  const result =
    absence === undefined
      ? await claimAttempt(context, work, receipt, successes)
      : await claimToCancel(context, work, absence, successes);
  if (result.kind !== 'claimed') {
    if ((await followRefusal(context, work, receipt, result)) === 'due_now')
      await deliverOne(context, work, receipt, successes);
  } else if (absence === undefined) {
    await attemptClaimed(context, { work, receipt, delivery: result.delivery, successes }, recipient);
  } else {
    context.ports.journal.note({ fact: 'delivery_cancelled', key: work.key, reason: absence });
    if (recipient.subscription !== undefined) await noteAbsence(context, recipient.subscription);
  }
}

/** The attempt that is due, and the immediate retries after it that this invocation makes. */
async function attemptClaimed(context: DeliverContext, claimed: Held, recipient: Recipient): Promise<void> {
  const { work } = claimed;
  const found = await messageFor(context.ports, work);
  if (found === undefined) {
    await cancelWithoutMessage(context, claimed);
    return;
  }
  const broughtBy = work.kind === 'wake_up' ? work.by : undefined;
  let held: Loaded | undefined = { ...claimed, ...recipient, ...found, broughtBy };
  while (held !== undefined) held = await makeAttempt(context, held);
}

/**
 * A retry that finds no body can never succeed, and its record says why. One that was erased was meant to be gone; any other
 * is dead-lettered for a person to see.
 */
async function cancelWithoutMessage(context: DeliverContext, claimed: Held): Promise<void> {
  const { messageRecords, deadLetters, journal } = context.ports;
  const { id, text } = claimed.receipt;
  const { key } = claimed.work;
  const isErased = (await messageRecords.find(key))?.erasedAt !== undefined;
  if (isErased) {
    await cancelHeld(context, claimed, 'body_erased');
    return;
  }
  const reason = 'body_missing';
  await deadLetters.send({ id, body: text }, reason);
  journal.note({ fact: 'dead_lettered', id, reason, key });
  await cancelHeld(context, claimed, reason);
}

type Recipient = { queue: Queue | undefined; subscription: Subscription | undefined };

/**
 * Who is to be called, or why nobody can be. What a cache says against a subscription is asked again: it may have been
 * enabled or confirmed since. So is one that limits its rate: two readers of different limits would not stand in one line.
 */
async function recipientOf(
  { ports }: DeliverContext,
  { kind, key }: DeliveryJob | WakeUp,
): Promise<Recipient & { absence: AbsenceReason | undefined }> {
  const { queue, subscriptionId, messageId } = key;
  const read = async (freshness: Freshness) => {
    const found = await ports.subscriptions.find(queue, subscriptionId, freshness);
    return { ...found, absence: absenceOf(found.subscription, ports.clock.now(), messageId) };
  };
  if (kind === 'wake_up') return read('fresh');
  const cached = await read('cached');
  const isLimited = cached.subscription !== undefined && rateLimitOf(cached.subscription) !== undefined;
  return cached.absence === undefined && !isLimited ? cached : read('fresh');
}

/** A member of a chunk needs no claim of its own while it is pending: the claim of the chunk covers it. */
async function claimAttempt(
  context: DeliverContext,
  work: DeliveryJob | WakeUp,
  receipt: Receipt,
  successes: SuccessRecorder | undefined,
): Promise<ClaimResult> {
  const delivery = successes?.pending(work.key.subscriptionId);
  return delivery === undefined
    ? claimDelivery(context, work, { kind: 'attempt', lease: leaseFor(context, receipt) })
    : { kind: 'claimed', delivery };
}

async function claimToCancel(
  context: DeliverContext,
  work: DeliveryJob | WakeUp,
  reason: AbsenceReason,
  successes: SuccessRecorder | undefined,
): Promise<ClaimResult> {
  const { ports, settings } = context;
  // What was not sent to a subscription that may come back can be recovered then, so its message has to be there.
  if (reason === 'disabled' || reason === 'subscription_unconfirmed')
    await keepMessage(ports, work, keptUntil(ports.clock.now(), settings));
  const result = await claimDelivery(context, work, { kind: 'cancel', reason });
  successes?.leave(work.key.subscriptionId);
  return result;
}
