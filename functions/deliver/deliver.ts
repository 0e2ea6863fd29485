import {
  jobOfMember,
  type ChunkJob,
  type DeliveryJob,
  type FirstJob,
  type WakeUp,
} from '../../shared/domain/delivery/job.ts';
import type { Delivery } from '../../shared/domain/delivery/delivery.ts';
import { rateLimitOf, type Slot } from '../../shared/domain/subscription/rate-limit.ts';
import { messageFor, recordOf } from '../../shared/steps/keep-message.ts';
import { parseWork } from '../../shared/wire/jobs/delivery-job.ts';
import { makeAttempt } from './attempt.ts';
import { ChunkFaultError, claimMembers, isClaimed, SlowReadsError, SuccessRecorder } from './chunk.ts';
import { type Claimable, claimAttempt, claimToCancel, handleRefusal } from './claim.ts';
import { hasTimeForAttempt, ownerFor, type DeliverContext, type Receipt } from './context.ts';
import { recordAbsence } from './health.ts';
import { cancelHeld, releasedOnFault, type Held, type Loaded } from './held.ts';
import { withMemoryFor } from './memory-budget.ts';
import { canStandUnclaimed, joinLine } from './rate-limit.ts';
import { recipientOf, signableRecipientOf, type Recipient } from './recipient.ts';
import { sendAgain, sendAgainIfEarly } from './wake-up.ts';
import type { Context, SQSRecord } from 'aws-lambda';

/**
 * What deliver does for every SQS record. A throw means that one of our own services failed, and the message comes again.
 * A message that can never be understood is dead-lettered with its reason instead of being tried fifty times.
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
    owner: ownerFor(invocation.awsRequestId, id),
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
  else if (work.kind === 'wake_up') await deliverOne(context, work, receipt);
  else if (!(await withMemoryFor(context, work, receipt, () => deliverFirst(context, work, receipt))))
    await handBack(context, work);
}

function deliverFirst(context: DeliverContext, job: FirstJob, receipt: Receipt): Promise<void> {
  return job.kind === 'chunk' ? deliverChunk(context, job, receipt) : deliverOne(context, job, receipt);
}

/** As a new message, so that it does not count as a failed receive. */
async function handBack(context: DeliverContext, work: FirstJob | WakeUp): Promise<void> {
  const { clock, journal } = context.ports;
  for (const { key, attempt } of work.kind === 'chunk' ? jobsOf(work) : [work])
    journal.note({ fact: 'time_given_back', key, attempt });
  await sendAgain(context, work, clock.now());
}

/**
 * The first attempts of a chunk's members, side by side, each to its end. What can fail before the claim does: then nothing is
 * claimed. A member whose subscription cannot be read is left out of the claim, and gets a job of its own when this one comes again.
 * @throws ChunkFaultError, SlowReadsError
 */
async function deliverChunk(context: DeliverContext, job: ChunkJob, receipt: Receipt): Promise<void> {
  // A job that comes again is claimed as a rule, and then needs nothing of what is read here.
  if (receipt.receiveCount > 1 && (await isClaimed(context, job))) {
    await claimMembers(context, job, job.subscriptionIds, receipt);
    return;
  }
  const found = await messageFor(context.ports, job, job);
  const { done: known, faults } = await sideBySide(jobsOf(job), async (work) => ({
    work,
    recipient: await signableRecipientOf(context, work),
  }));
  if (known.length === 0) throw new ChunkFaultError(job.key, faults);
  // Not handed back: where that were the rule, each acknowledgement that got lost would leave one copy more.
  if (!hasTimeForAttempt(context, receipt)) throw new SlowReadsError(job.key);
  const members = known.map(({ work }) => work.key.subscriptionId);
  const chunk = await claimMembers(context, job, members, receipt);
  if (chunk === undefined) return;
  const successes = new SuccessRecorder(context, chunk, receipt.owner);
  const attempts = await sideBySide(known, ({ work, recipient }) =>
    deliverTo(context, { work, receipt, successes, message: () => Promise.resolve(found) }, recipient),
  );
  const all = [...faults, ...attempts.faults];
  if (all.length > 0) throw new ChunkFaultError(job.key, all);
}

/** Does the work of all items at once; one that fails holds up no other. */
async function sideBySide<Item, Result>(
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

/** One delivery: its subscription, its claim, its message, and then its attempts. */
async function deliverOne(
  context: DeliverContext,
  work: DeliveryJob | WakeUp,
  receipt: Receipt,
): Promise<void> {
  const recipient = await recipientOf(context, work);
  const message: Unclaimed['message'] = (delivery) => messageFor(context.ports, work, delivery);
  const unclaimed = await withTurn(context, { work, receipt, message }, recipient);
  if (unclaimed === undefined) return;
  if ((await deliverTo(context, unclaimed, recipient)) === 'due_now')
    await deliverOne(context, work, receipt);
}

/** With the slot of a first attempt, where its subscription limits the rate. Undefined: it waits for that on record. */
async function withTurn(
  context: DeliverContext,
  unclaimed: Unclaimed,
  { absence, subscription }: Recipient,
): Promise<Unclaimed | undefined> {
  const { work, receipt } = unclaimed;
  if (absence !== undefined || subscription === undefined) return unclaimed;
  if (rateLimitOf(subscription) === undefined || !canStandUnclaimed(work, receipt)) return unclaimed;
  const found = await messageFor(context.ports, work, work);
  if (found === undefined) return unclaimed;
  const slot = await joinLine(context, work, subscription, found.message);
  return slot === 'waits' ? undefined : { ...unclaimed, message: () => Promise.resolve(found), slot };
}

/** Work as it was received. */
type Unclaimed = Claimable & {
  slot?: Slot | undefined;
  /** The message, and where it came from; undefined where it cannot be found any more. */
  message: (delivery: Delivery) => ReturnType<typeof messageFor>;
};

/** `due_now`: its claim came a moment early, and can be made again. */
async function deliverTo(
  context: DeliverContext,
  { message, ...unclaimed }: Unclaimed,
  { absence, ...recipient }: Recipient,
): Promise<'done' | 'due_now'> {
  const { work, receipt, successes, slot } = unclaimed;
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
    if (recipient.subscription !== undefined) await recordAbsence(context, recipient.subscription);
  }
  return 'done';
}

/** The attempt that is due, and the immediate retries after it that this invocation makes. */
async function attemptClaimed(
  context: DeliverContext,
  claimed: Held,
  recipient: Omit<Recipient, 'absence'>,
  message: Unclaimed['message'],
): Promise<void> {
  const { work } = claimed;
  const found = await releasedOnFault(context, claimed, () => message(claimed.delivery));
  if (found === undefined) {
    await releasedOnFault(context, claimed, () => cancelWithoutMessage(context, claimed));
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
