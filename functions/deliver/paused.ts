import { contended, withRetriedWrites } from '../../shared/domain/contention.ts';
import { type ClaimRefusal, claimRefusal } from '../../shared/domain/delivery/claim.ts';
import {
  asLastRead,
  type Delivery,
  nameOfDelivery,
  whileLeased,
} from '../../shared/domain/delivery/delivery.ts';
import type { DeliveryJob, WakeUp } from '../../shared/domain/delivery/job.ts';
import { awaitResume, openPaused } from '../../shared/domain/delivery/paused.ts';
import type { PausedBy } from '../../shared/domain/subscription/vocabulary.ts';
import { findRecord, keepMessage, readKept } from '../../shared/steps/keep-message.ts';
import { writeTime } from '../../shared/steps/retention.ts';
import { endLease, handleRefusal, type LeasedDelivery, type ReceivedWork, type Refusal } from './claim.ts';
import type { DeliverContext } from './context.ts';

/** What waits is kept as long in all queues, because operate ends the longest wait by the index alone. */
const KEPT = { retentionDays: undefined };

/**
 * Lets a delivery wait on record for the end of a pause, in place of its next attempt: without a lease and a wake-up.
 * `due_now`: its wake-up came slightly early, and the caller plans it again.
 * @throws ContendedError, PendingStepsFailedError
 */
export async function waitForResume(
  context: DeliverContext,
  { work, receipt }: ReceivedWork,
  by: PausedBy,
): Promise<'done' | 'due_now'> {
  const { deliveries } = context.ports;
  const opened = await openedOrCurrent(context, work, by);
  if (opened === 'opened') return 'done';
  let current = opened;
  // Judged like a claim of the next attempt.
  const wait = async (): Promise<Refusal | 'waits' | 'again'> => {
    const at = writeTime(context, KEPT);
    const refusal = claimRefusal(work.attempt, current, at.now);
    if (refusal.kind !== 'claimable_now' && refusal.kind !== 'lease_expired') return refusal;
    const written = await deliveries.write(awaitResume(refusal.delivery, by, expectationOf(refusal), at));
    if (written.kind === 'written') return 'waits';
    current = written.current;
    return 'again';
  };
  const result = await withRetriedWrites(wait, contended(nameOfDelivery(work.key)));
  return result === 'waits' ? 'done' : handleRefusal(context, work, receipt, result);
}

function expectationOf(judged: Extract<ClaimRefusal, { kind: 'claimable_now' | 'lease_expired' }>) {
  const { delivery } = judged;
  return judged.kind === 'claimable_now'
    ? asLastRead(delivery)
    : ({ kind: 'lease_expired', recorded: delivery.attempts.length, lease: judged.lease } as const);
}

/** The same for a delivery whose lease this invocation holds. */
export async function waitHeld(context: DeliverContext, held: LeasedDelivery, by: PausedBy): Promise<void> {
  const { delivery, receipt } = held;
  const leased = whileLeased(delivery, receipt.owner);
  await endLease(context, held, awaitResume(delivery, by, leased, writeTime(context, KEPT)));
}

/** Opens the record of a first attempt, after storing its message. Otherwise returns the current record. */
async function openedOrCurrent(
  context: DeliverContext,
  work: DeliveryJob | WakeUp,
  by: PausedBy,
): Promise<Delivery | 'opened' | undefined> {
  const { ports } = context;
  if (work.kind === 'job') {
    await keepMessage(context, { ...work, ...KEPT });
    const result = await ports.deliveries.write(openPaused(work, by, writeTime(context, KEPT)));
    return result.kind === 'written' ? 'opened' : result.current;
  }
  const current = await ports.deliveries.find(work.key);
  // Of a queue that keeps messages for a shorter time.
  if (current?.retentionDays !== undefined) await readKept(context, await findRecord(ports, current), KEPT);
  return current;
}
