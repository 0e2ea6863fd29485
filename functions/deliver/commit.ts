import type { Attempt } from '../../shared/domain/delivery/attempt.ts';
import { decide } from '../../shared/domain/delivery/decide.ts';
import { isOpen, type Delivery } from '../../shared/domain/delivery/delivery.ts';
import { disablingReason } from '../../shared/domain/retry/outcome.ts';
import { keepMessage } from '../../shared/steps/keep-message.ts';
import { writeTime } from '../../shared/steps/retention.ts';
import { hasTimeForAttempt, leaseFor, type DeliverContext } from './context.ts';
import { recordHealth } from './health.ts';
import { completePendingSteps } from './pending-steps.ts';
import type { AttemptResult, ReadyRequest } from './send.ts';
import { reserveForRetry, type LeasedRequest } from './slots.ts';
import { returnAtLeaseEnd, scheduleNext } from './wake-up.ts';

/**
 * The same invocation makes an immediate retry only after a failure faster than this
 * (docs/retry-policy.md#from-delay-to-wake-up).
 */
const QUICK_MS = 2_000;

/**
 * Decides what follows from an attempt's result and commits it: the message is kept if needed, the record is written,
 * then the retry is scheduled or the pending steps are done, then the health of the subscription is recorded. Returns
 * the delivery, still leased, if this invocation makes the next attempt.
 * @throws PendingStepsFailedError
 */
export async function commit(
  context: DeliverContext,
  ready: ReadyRequest,
  result: AttemptResult,
): Promise<LeasedRequest | undefined> {
  const retrying = await record(context, ready, result);
  const { queue, subscription } = ready;
  // The health of a disabled subscription no longer matters.
  if (disablingReason(result.reply) === undefined)
    await recordHealth(context, { queue, subscription, result });
  return retrying;
}

async function record(
  context: DeliverContext,
  ready: ReadyRequest,
  result: AttemptResult,
): Promise<LeasedRequest | undefined> {
  const { ports, settings } = context;
  const { receipt, delivery, stored } = ready;
  const { policy, warning } = ready.policy;
  const { attempt, reply } = result;
  if (attempt.outcome === 'failed' && warning !== undefined)
    ports.journal.note({ fact: 'policy_adjusted', queue: delivery.key.queue, warning });
  await keepForFailure(context, ready, attempt);
  const canRetryNow = attempt.durationMs < QUICK_MS && hasTimeForAttempt(context, receipt);
  const retryLease = canRetryNow ? leaseFor(context, receipt) : undefined;
  const { owner } = receipt;
  const { version } = ready.subscription;
  const made = { delivery, owner, policy, attempt, reply, version, retryLease } as const;
  const transition = decide(
    { kind: 'request', ...made, messageExpiresAt: stored.message.expiresAt, ...settings },
    writeTime(context, delivery),
  );
  const written = await ready.records.write(transition);
  if (written.kind === 'refused') {
    await recordLate(context, ready, attempt, written.current);
    return undefined;
  }
  noteAttempt(context, ready, result, written.delivery);
  return followUp(context, ready, written.delivery);
}

/** Before the first failure or rejection is recorded: a retry or a recovery needs the message. */
async function keepForFailure(
  context: DeliverContext,
  { work, delivery, records }: ReadyRequest,
  { outcome }: Attempt,
): Promise<void> {
  if (outcome === 'delivered' || delivery.attempts.length > 0) return;
  await (records.keepMessage?.(work) ?? keepMessage(context, work));
}

/** Does what the record requires next: an immediate retry, a scheduled retry, or the pending steps. */
async function followUp(
  context: DeliverContext,
  attempted: LeasedRequest,
  delivery: Delivery,
): Promise<LeasedRequest | undefined> {
  if (!isOpen(delivery)) {
    await completePendingSteps(context, delivery, attempted.stored.body);
    return undefined;
  }
  const retrying = { ...attempted, delivery };
  if (delivery.lease !== undefined) return { ...retrying, slot: undefined };
  // The recorded attempt waited in a line, which may be longer than the retry's delay: without a slot the retry would
  // wake up only to wait.
  const waitedInLine = attempted.delivery.slot !== undefined;
  const waitsForSlot = waitedInLine && (await reserveForRetry(context, retrying));
  if (!waitsForSlot) await scheduleNext(context, delivery);
  return undefined;
}

/** Records the result although the lease was lost: another invocation took over, or the delivery ended. */
async function recordLate(
  context: DeliverContext,
  { work }: LeasedRequest,
  attempt: Attempt,
  current: Delivery | undefined,
): Promise<void> {
  const { ports } = context;
  let found = current;
  while (found !== undefined) {
    const result = await ports.deliveries.write(
      decide({ kind: 'late', delivery: found, attempt }, writeTime(context, found)),
    );
    if (result.kind === 'written') {
      const decisive = result.delivery.status !== found.status;
      const { acceptedAt } = found;
      ports.journal.note({ fact: 'late_result', key: work.key, attempt, decisive, acceptedAt });
      await returnAtLeaseEnd(context, work, result.delivery);
      return;
    }
    // The record changed between the read and this write: repeat with the current one.
    found = result.current;
  }
}

function noteAttempt(
  { ports }: DeliverContext,
  { work, delivery }: LeasedRequest,
  { attempt, ...result }: AttemptResult,
  { key, status, next, acceptedAt }: Delivery,
): void {
  const sentAt = work.kind === 'job' ? work.sentAt : undefined;
  const dueAt = result.dueAt ?? work.dueAt ?? sentAt ?? delivery.acceptedAt;
  ports.journal.note({
    fact: 'attempt_made',
    key,
    attempt,
    status,
    acceptedAt,
    dueAt,
    latenessMs: attempt.startedAt - dueAt,
    ...(next === undefined ? {} : { nextAt: next.dueAt, nextBy: next.by }),
  });
}
