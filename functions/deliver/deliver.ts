import {
  jobOfMember,
  type ChunkJob,
  type DeliveryJob,
  type FirstJob,
  type WakeUp,
} from '../../shared/domain/delivery/job.ts';
import type { Delivery } from '../../shared/domain/delivery/delivery.ts';
import type { Slot } from '../../shared/domain/subscription/rate-limit.ts';
import { messageFor, recordOf } from '../../shared/steps/keep-message.ts';
import { parseWork } from '../../shared/wire/jobs/delivery-job.ts';
import { makeAttempt } from './attempt.ts';
import { ChunkFaultError, claimMembers, isClaimed, SlowReadsError, SuccessRecorder } from './chunk.ts';
import { type ReceivedWork, claimAttempt, claimToCancel, handleRefusal } from './claim.ts';
import { hasTimeForAttempt, ownerFor, type DeliverContext, type Receipt } from './context.ts';
import { sendLeftoverEvent } from './health.ts';
import { cancelHeld, releaseOnFault, type HeldDelivery, type LoadedDelivery } from './held.ts';
import { withMemoryFor } from './memory-budget.ts';
import { leaveToPull } from './pull.ts';
import { canReserveBeforeClaim, paceFor, reserveBeforeClaim } from './rate-limit.ts';
import { isFetched, recipientOf, signableRecipientOf, type Recipient } from './recipient.ts';
import { sendAgain, sendAgainIfEarly } from './wake-up.ts';
import type { InvocationContext } from '../../shared/domain/receives.ts';
import type { SQSRecord } from 'aws-lambda';

/**
 * Handles one SQS record. Dead-letters a record that cannot be parsed, because a retry cannot help.
 * @throws if an AWS service fails: SQS redelivers the record
 */
export async function deliverRecord(
  context: DeliverContext,
  record: SQSRecord,
  invocation: InvocationContext,
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
    owner: ownerFor(invocation.awsRequestId, id),
    remainingMs: () => invocation.getRemainingTimeInMillis(),
  });
}

/**
 * The ids of the record's delivery for the log; for a chunk those of its message. Empty if the record cannot be
 * parsed.
 */
export function deliveryIdsIn({ body }: SQSRecord): Record<string, string> {
  const parsed = parseWork(body);
  if (!parsed.ok) return {};
  const { kind, key } = parsed.value;
  const { queue, messageId } = key;
  return kind === 'chunk' ? { queue, messageId } : { queue, messageId, subscriptionId: key.subscriptionId };
}

/**
 * Handles one job or wake-up (docs/architecture.md#a-job-or-wake-up-step-by-step). Returns when the SQS message can be
 * acknowledged.
 * @throws if an AWS service fails: SQS redelivers the message. A subscriber's failure is never an error
 */
export async function deliver(
  context: DeliverContext,
  work: FirstJob | WakeUp,
  receipt: Receipt,
): Promise<void> {
  if (await sendAgainIfEarly(context, work, work.dueAt)) return;
  if (!hasTimeForAttempt(context, receipt)) await returnToQueue(context, work);
  else if (work.kind === 'wake_up') await deliverOne(context, work, receipt);
  else if (!(await withMemoryFor(context, work, receipt, () => deliverFirst(context, work, receipt))))
    await returnToQueue(context, work);
}

function deliverFirst(context: DeliverContext, job: FirstJob, receipt: Receipt): Promise<void> {
  return job.kind === 'chunk' ? deliverChunk(context, job, receipt) : deliverOne(context, job, receipt);
}

/**
 * Sends the work as a new message, so that it does not count as a failed receive. A wake-up stays due since when it was:
 * a cancellation moves the expiry of the record by as much.
 */
async function returnToQueue(context: DeliverContext, work: FirstJob | WakeUp): Promise<void> {
  const { clock, journal } = context.ports;
  for (const { key, attempt } of work.kind === 'chunk' ? jobsOf(work) : [work])
    journal.note({ fact: 'sent_again', key, attempt });
  await sendAgain(context, work, work.dueAt ?? clock.now());
}

/**
 * Makes the first attempts of a chunk's members concurrently. Everything that can fail is read before the claim. A
 * member whose subscription cannot be read is not claimed; it gets a separate job when SQS redelivers this one.
 * @throws ChunkFaultError, SlowReadsError
 */
async function deliverChunk(context: DeliverContext, job: ChunkJob, receipt: Receipt): Promise<void> {
  // A redelivered job is usually claimed already and then needs no reads.
  if (receipt.receiveCount > 1 && (await isClaimed(context, job))) {
    await claimMembers(context, job, job.subscriptionIds, receipt);
    return;
  }
  const found = await messageFor(context, job, job);
  const { done: known, faults } = await runAll(jobsOf(job), async (work) => ({
    work,
    recipient: await signableRecipientOf(context, work),
  }));
  if (known.length === 0) throw new ChunkFaultError(job.key, faults);
  // A throw, not a new message: each lost acknowledgement would otherwise leave one more copy of the job.
  if (!hasTimeForAttempt(context, receipt)) throw new SlowReadsError(job.key);
  const members = known.map(({ work }) => work.key.subscriptionId);
  const chunk = await claimMembers(context, job, members, receipt);
  if (chunk === undefined) return;
  const successes = new SuccessRecorder(context, chunk, receipt.owner);
  const attempts = await runAll(known, ({ work, recipient }) =>
    claimAndAttempt(context, { work, receipt, successes, message: () => Promise.resolve(found) }, recipient),
  );
  const all = [...faults, ...attempts.faults];
  if (all.length > 0) throw new ChunkFaultError(job.key, all);
}

/** Runs `work` for all items concurrently and collects results and errors. A failed item does not stop the others. */
async function runAll<Item, Result>(
  items: readonly Item[],
  work: (item: Item) => Promise<Result>,
): Promise<{ done: Result[]; faults: unknown[] }> {
  const done: Result[] = [];
  const faults: unknown[] = [];
  for (const settled of await Promise.allSettled(items.map(work))) {
    if (settled.status === 'fulfilled') done.push(settled.value);
    else faults.push(settled.reason);
  }
  return { done, faults };
}

function jobsOf(job: ChunkJob): DeliveryJob[] {
  return job.subscriptionIds.map((id) => jobOfMember(job, id));
}

/** Handles one delivery: reads its subscription, claims it, reads its message, makes its attempts. */
async function deliverOne(
  context: DeliverContext,
  work: DeliveryJob | WakeUp,
  receipt: Receipt,
): Promise<void> {
  const recipient = await recipientOf(context, work);
  const message: Unclaimed['message'] = (delivery) => messageFor(context, work, delivery);
  const unclaimed = await withSlot(context, { work, receipt, message }, recipient);
  if (unclaimed === undefined) return;
  if ((await claimAndAttempt(context, unclaimed, recipient)) === 'due_now')
    await deliverOne(context, work, receipt);
}

/**
 * Reserves a first attempt's slot if the subscription is paced. Undefined: the delivery waits on record for
 * its slot.
 */
async function withSlot(
  context: DeliverContext,
  unclaimed: Unclaimed,
  { absence, queue, subscription }: Recipient,
): Promise<Unclaimed | undefined> {
  const { work, receipt } = unclaimed;
  if (absence !== undefined || subscription === undefined) return unclaimed;
  const recipient = { queue, subscription };
  if (paceFor(context, recipient) === undefined || !canReserveBeforeClaim(work, receipt)) return unclaimed;
  const found = await messageFor(context, work, work);
  if (found === undefined) return unclaimed;
  const slot = await reserveBeforeClaim(context, work, recipient, found.message);
  return slot === 'waits' ? undefined : { ...unclaimed, message: () => Promise.resolve(found), slot };
}

/** Work that is not claimed yet. */
type Unclaimed = ReceivedWork & {
  slot?: Slot | undefined;
  /** Reads the message and where it is stored. Undefined: it no longer exists. */
  message: (delivery: Delivery) => ReturnType<typeof messageFor>;
};

/**
 * Claims one delivery and makes its attempts. `due_now`: the claim came slightly early; the delivery is due now, and
 * the caller repeats the claim.
 */
async function claimAndAttempt(
  context: DeliverContext,
  { message, ...unclaimed }: Unclaimed,
  { absence, ...recipient }: Recipient,
): Promise<'done' | 'due_now'> {
  const { work, receipt, successes, slot } = unclaimed;
  if (absence === undefined && isFetched(recipient)) {
    await leaveToPull(context, work, recipient);
    successes?.markSeparate(work.key.subscriptionId);
    return 'done';
  }
  const result =
    absence === undefined
      ? await claimAttempt(context, unclaimed)
      : await claimToCancel(context, unclaimed, absence);
  if (result.kind !== 'claimed') return handleRefusal(context, work, receipt, result);
  if (absence === undefined) {
    await attemptClaimed(
      context,
      { work, receipt, delivery: result.delivery, successes, slot },
      recipient,
      message,
    );
  } else {
    context.ports.journal.note({ fact: 'delivery_cancelled', key: work.key, reason: absence });
    if (recipient.subscription !== undefined) await sendLeftoverEvent(context, recipient.subscription);
  }
  return 'done';
}

/** Makes the due attempt and the immediate retries that this invocation has time for. */
async function attemptClaimed(
  context: DeliverContext,
  claimed: HeldDelivery,
  recipient: Omit<Recipient, 'absence'>,
  message: Unclaimed['message'],
): Promise<void> {
  const { work } = claimed;
  const found = await releaseOnFault(context, claimed, () => message(claimed.delivery));
  if (found === undefined) {
    await releaseOnFault(context, claimed, () => cancelWithoutMessage(context, claimed));
    return;
  }
  const trigger = work.kind === 'wake_up' ? work.by : undefined;
  let held: LoadedDelivery | undefined = { ...claimed, ...recipient, ...found, trigger };
  while (held !== undefined) held = await makeAttempt(context, held);
}

/**
 * Cancels a delivery whose message no longer exists. An erased message is expected; any other missing one is
 * dead-lettered for an operator.
 */
async function cancelWithoutMessage(context: DeliverContext, claimed: HeldDelivery): Promise<void> {
  const { deadLetters, journal } = context.ports;
  const { id, text } = claimed.receipt;
  const { key } = claimed.work;
  const isErased = (await recordOf(context.ports, claimed.delivery))?.erasedAt !== undefined;
  if (isErased) {
    await cancelHeld(context, claimed, 'body_erased');
    return;
  }
  const reason = 'body_missing';
  await deadLetters.send({ id, body: text }, reason);
  journal.note({ fact: 'dead_lettered', id, reason, key });
  await cancelHeld(context, claimed, reason);
}
