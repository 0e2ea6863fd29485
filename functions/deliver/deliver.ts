import { randomUUID } from 'node:crypto';
import {
  jobOfMember,
  type ChunkJob,
  type DeliveryJob,
  type FirstJob,
  type WakeUp,
} from '../../shared/domain/delivery/job.ts';
import type { InvocationContext } from '../../shared/domain/receives.ts';
import { policyOfRound } from '../../shared/domain/subscription/delivery-policy.ts';
import { RequestNotSentError } from '../../shared/ports/subscriber.ts';
import { messageFor } from '../../shared/steps/keep-message.ts';
import { parseWork } from '../../shared/wire/jobs/delivery-job.ts';
import { ChunkFaultError, ChunkRecords, claimMembers, isClaimed, SlowReadsError } from './chunk.ts';
import {
  cancelHeld,
  cancelUnclaimed,
  cancelWithoutMessage,
  claimAttempt,
  hasTimeForRequest,
  type LeasedDelivery,
  postponeAttempt,
  type ReceivedWork,
  releaseLease,
} from './claim.ts';
import { commit } from './commit.ts';
import { hasTimeForAttempt, ownerFor, type DeliverContext, type SqsReceipt } from './context.ts';
import { sendLeftoverEvent } from './health.ts';
import { takeMemoryFor } from './memory-budget.ts';
import { waitForResume, waitHeld } from './paused.ts';
import {
  canSubscriptionReturn,
  findCancelReason,
  type Plan,
  planAttempt,
  planImmediateRetry,
  type RequestPlan,
} from './plan.ts';
import { leaveToPull } from './pull.ts';
import { send, type ReadyRequest } from './send.ts';
import { reserveBeforeClaim, waitForSlot, type LeasedRequest } from './slots.ts';
import { sendAgain, sendAgainIfEarly, sleepUntil } from './wake-up.ts';
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
    owner: ownerFor(randomUUID(), id),
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
  receipt: SqsReceipt,
): Promise<void> {
  if (await sendAgainIfEarly(context, work, work.dueAt)) return;
  const releaseMemory = hasTimeForAttempt(context, receipt)
    ? await takeMemoryFor(context, work, receipt)
    : undefined;
  if (releaseMemory === undefined) {
    await returnToQueue(context, work);
    return;
  }
  try {
    if (work.kind === 'chunk') await deliverChunk(context, work, receipt);
    else await deliverOne(context, { work, receipt });
  } finally {
    releaseMemory();
  }
}

/**
 * Sends the work as a new message, so that it does not count as a failed receive. A wake-up stays due since when it was:
 * a cancellation moves the expiry of the record by as much.
 */
async function returnToQueue(context: DeliverContext, work: FirstJob | WakeUp): Promise<void> {
  const { clock, journal } = context.ports;
  for (const { key, attempt } of work.kind === 'chunk' ? splitIntoJobs(work) : [work])
    journal.note({ fact: 'sent_again', key, attempt });
  await sendAgain(context, work, work.dueAt ?? clock.now());
}

async function deliverOne(context: DeliverContext, received: ReceivedWork): Promise<void> {
  const { work } = received;
  const plan = await planAttempt(context, work);
  // After the reads, so that the wake-ups of a batch share those of their subscription.
  await sleepUntil(work.dueAt, context.ports.clock);
  const result = await execute(context, received, plan);
  if (result === 'due_now') await deliverOne(context, received);
}

/**
 * Makes the first attempts of a chunk's members concurrently, under one claim. A member that cannot be planned is not
 * claimed; it gets a separate job when SQS redelivers this one.
 * @throws ChunkFaultError, SlowReadsError
 */
async function deliverChunk(context: DeliverContext, job: ChunkJob, receipt: SqsReceipt): Promise<void> {
  // A redelivered job is usually claimed already and then needs no reads.
  if (receipt.receiveCount > 1 && (await isClaimed(context, job))) {
    await claimMembers(context, job, job.subscriptionIds, receipt);
    return;
  }
  const message = await messageFor(context, job);
  const { done: planned, faults } = await runAll(splitIntoJobs(job), async (work) => ({
    work,
    plan: await planAttempt(context, work, () => Promise.resolve(message)),
  }));
  if (planned.length === 0) throw new ChunkFaultError(job.key, faults);
  await sleepUntil(job.dueAt, context.ports.clock);
  // A throw, not a new message: each lost acknowledgement would otherwise leave one more copy of the job.
  if (!hasTimeForAttempt(context, receipt)) throw new SlowReadsError(job.key);
  const members = planned.map(({ work }) => work.key.subscriptionId);
  const chunk = await claimMembers(context, job, members, receipt);
  if (chunk === undefined) return;
  const records = new ChunkRecords(context, chunk, receipt.owner);
  const attempts = await runAll(planned, async ({ work, plan }) => {
    const id = work.key.subscriptionId;
    const delivery = records.pendingMember(id);
    await execute(context, { work, receipt }, plan, delivery && { work, receipt, delivery, records });
    // A member without a success in the chunk has a separate record by now.
    records.markSeparate(id);
  });
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

function splitIntoJobs(job: ChunkJob): DeliveryJob[] {
  return job.subscriptionIds.map((id) => jobOfMember(job, id));
}

/**
 * Does what was planned. `claimed`: the delivery, if a chunk's claim covers it. `due_now`: a claim came slightly early;
 * the delivery is due now, and the caller plans it again.
 */
async function execute(
  context: DeliverContext,
  received: ReceivedWork,
  plan: Plan,
  claimed?: LeasedDelivery,
): Promise<'done' | 'due_now'> {
  switch (plan.kind) {
    case 'request':
      return request(context, received, plan, claimed);
    case 'pull':
      await leaveToPull(context, received.work, plan);
      return 'done';
    case 'paused':
      return waitForResume(context, received, plan.by);
    case 'cancel': {
      const canReturn = canSubscriptionReturn(context, plan);
      const result = await cancelUnclaimed(context, received, { reason: plan.reason, canReturn });
      if (result !== 'cancelled') return result;
      if (plan.subscription !== undefined) await sendLeftoverEvent(context, plan.subscription);
      return 'done';
    }
    case 'missing_message': {
      const held = claimed ?? (await claimAttempt(context, received));
      if (held === 'done' || held === 'due_now') return held;
      await releaseOnFault(context, held, () => cancelWithoutMessage(context, held));
      return 'done';
    }
  }
}

/** Claims the delivery and makes the due attempt and the immediate retries that this invocation has time for. */
async function request(
  context: DeliverContext,
  received: ReceivedWork,
  plan: RequestPlan,
  claimed: LeasedDelivery | undefined,
): Promise<'done' | 'due_now'> {
  const slot = claimed === undefined ? await reserveBeforeClaim(context, received, plan) : undefined;
  if (slot === 'waits') return 'done';
  const held = claimed ?? (await claimAttempt(context, received));
  if (held === 'done' || held === 'due_now') return held;
  if (isOfAnotherMessage(held, plan)) {
    await releaseOnFault(context, held, () => cancelWithoutMessage(context, held));
    return 'done';
  }
  let next: LeasedRequest | undefined = { ...held, ...plan, slot };
  while (next !== undefined) next = await makeAttempt(context, next);
  return 'done';
}

/** A wake-up finds its message by key: the id can belong to a later message by now. */
function isOfAnotherMessage({ delivery }: LeasedDelivery, { stored }: RequestPlan): boolean {
  return stored.acceptedAt !== undefined && stored.acceptedAt !== delivery.acceptedAt;
}

/** Sends, decides and commits one attempt. Returns the delivery, still leased and planned anew, for an immediate retry. */
async function makeAttempt(context: DeliverContext, held: LeasedRequest): Promise<LeasedRequest | undefined> {
  const ready = await releaseOnFault(context, held, () => readyToSend(context, held));
  if (ready === undefined) return undefined;
  const result = await releaseOnFault(context, held, () => send(context, ready), wasNotSent);
  const retrying = await commit(context, ready, result);
  return retrying && releaseOnFault(context, retrying, () => planRetry(context, retrying));
}

/** Undefined: no request now; the delivery waits for a slot, was released and sent again, or is cancelled. */
async function readyToSend(context: DeliverContext, held: LeasedRequest): Promise<ReadyRequest | undefined> {
  const slot = await waitForSlot(context, held);
  if (slot === undefined) return undefined;
  // The calls since the claim may have been slow. If the lease ended during the request, a second request could
  // start.
  if (!hasTimeForRequest(context, held)) {
    await postponeAttempt(context, held);
    return undefined;
  }
  const expiry = findCancelReason(held, context.ports.clock.now());
  if (expiry !== undefined) {
    await cancelHeld(context, held, expiry);
    return undefined;
  }
  const policy = policyOfRound(held.delivery, held, context.settings);
  return { ...held, policy, slotAt: slot.slotAt };
}

async function planRetry(context: DeliverContext, held: LeasedRequest): Promise<LeasedRequest | undefined> {
  const plan = await planImmediateRetry(context, held.delivery, held);
  switch (plan.kind) {
    case 'request':
      return { ...held, ...plan };
    case 'cancel':
      await cancelHeld(context, held, plan.reason);
      return undefined;
    case 'paused':
      await waitHeld(context, held, plan.by);
      return undefined;
    case 'pull':
    case 'missing_message':
      await postponeAttempt(context, held);
      return undefined;
  }
}

/** After any other error the request may have reached the subscriber. */
function wasNotSent(fault: unknown): boolean {
  return fault instanceof RequestNotSentError;
}

/**
 * Runs `step`, and releases the lease if it throws and no request was sent. The attempt then does not count as lost
 * and need not wait for the lease to end. `isUnsent`: whether the error means that no request was sent.
 */
async function releaseOnFault<Result>(
  context: DeliverContext,
  held: LeasedDelivery,
  step: () => Promise<Result>,
  isUnsent: (fault: unknown) => boolean = () => true,
): Promise<Result> {
  try {
    return await step();
  } catch (fault) {
    if (isUnsent(fault)) await releaseLease(context, held);
    throw fault;
  }
}
