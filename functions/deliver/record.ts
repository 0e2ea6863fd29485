import { type Attempt, attemptsInRound, endOfAttempt } from '../../shared/domain/delivery/attempt.ts';
import {
  isOpen,
  type Delivery,
  type Lease,
  type NextAttempt,
  type Revision,
  type WriteTime,
} from '../../shared/domain/delivery/delivery.ts';
import type { Reply } from '../../shared/domain/delivery/outcome.ts';
import {
  recordDelivered,
  recordExhausted,
  recordLateResult,
  recordRejected,
  recordRetry,
} from '../../shared/domain/delivery/transitions.ts';
import { nextAfterFailure } from '../../shared/domain/retry/next-attempt.ts';
import type { CompletedRetryPolicy, RetryPolicy } from '../../shared/domain/retry/policy.ts';
import { retryAfterMs } from '../../shared/domain/retry/retry-after.ts';
import type { Slot } from '../../shared/domain/subscription/rate-limit.ts';
import { keepMessage } from '../../shared/steps/keep-message.ts';
import { writeTime } from '../../shared/steps/retention.ts';
import { hasTimeForAttempt, leaseFor, type DeliverContext } from './context.ts';
import { writeHeld, type LoadedDelivery } from './held.ts';
import { completePendingSteps } from './pending-steps.ts';
import { reserveForRetry } from './rate-limit.ts';
import { returnAtLeaseEnd, scheduleNext } from './wake-up.ts';

/**
 * The result of one request. `dueAt`: milliseconds since the epoch; undefined for a first attempt without a delay.
 */
export type AttemptResult = { attempt: Attempt; reply: Reply; dueAt: number | undefined };

/**
 * The same invocation makes an immediate retry only after a failure faster than this
 * (docs/retry-policy.md#from-delay-to-wake-up).
 */
const QUICK_MS = 2_000;

/** What the decision depends on besides the delivery and the attempt's result. */
type DecisionRules = {
  policy: RetryPolicy;
  /** Owner of the lease that the attempt was made under. */
  owner: string;
  /** The lease for an immediate retry by this invocation; undefined: it cannot make one. */
  retryLease: Lease | undefined;
  schedulerThresholdSeconds: number;
  retryAfterCapMs: number;
  at: WriteTime;
};

/** The transition that follows from an attempt's result: delivered, rejected, retrying or exhausted. Pure. */
export function decideTransition(
  delivery: Delivery,
  { attempt, reply }: Pick<AttemptResult, 'attempt' | 'reply'>,
  { policy, owner, retryLease, at, ...rules }: DecisionRules,
): Revision {
  const attempted = { delivery, owner, attempt };
  switch (attempt.outcome) {
    case 'delivered':
      return recordDelivered(attempted, at, reply);
    case 'rejected':
      return recordRejected(attempted, { policy, reply }, at);
    case 'failed': {
      const next = nextAfterFailure({
        key: delivery.key,
        policy,
        failed: attempt,
        attemptsInRound: attemptsInRound(delivery) + 1,
        hintMs: hintMs(reply, endOfAttempt(attempt), rules.retryAfterCapMs),
        thresholdSeconds: rules.schedulerThresholdSeconds,
        canContinue: retryLease !== undefined,
      });
      if (next === undefined) return recordExhausted(attempted, policy, at);
      const lease = next.by === 'same_invocation' ? retryLease : undefined;
      return recordRetry(attempted, { next, policy, lease }, at);
    }
  }
}

/** The requested delay in milliseconds, counted from the end of the attempt like the policy's delays, and capped. */
export function hintMs(reply: Reply, endedAt: number, capMs: number): number {
  return reply.kind === 'answered' && reply.retryAfter !== undefined
    ? Math.min(capMs, retryAfterMs(reply.retryAfter, endedAt) ?? 0)
    : 0;
}

/** `next`: the recorded next attempt. `retried`: the delivery, still leased, if this invocation makes that attempt. */
type Recorded = { next?: NextAttempt | undefined; retried?: LoadedDelivery | undefined };

/**
 * Records an attempt's result: stores the message if needed, writes the record, then schedules the retry or does the
 * pending steps.
 * @throws OwedStepsFailedError
 */
export async function record(
  context: DeliverContext,
  held: LoadedDelivery,
  { policy, warning }: CompletedRetryPolicy,
  result: AttemptResult,
): Promise<Recorded> {
  const { ports, settings } = context;
  const { work, receipt, delivery } = held;
  const { attempt } = result;
  const canRetryNow = attempt.durationMs < QUICK_MS && hasTimeForAttempt(context, receipt);
  const retryLease = canRetryNow ? leaseFor(context, receipt) : undefined;
  if (attempt.outcome === 'failed' && warning !== undefined)
    ports.journal.note({ fact: 'policy_adjusted', queue: delivery.key.queue, warning });
  // Before the first failure or rejection is recorded: a retry or a recovery needs the message.
  if (attempt.outcome !== 'delivered' && delivery.attempts.length === 0) await keepMessage(context, work);
  const at = writeTime(context, delivery);
  const transition = decideTransition(delivery, result, {
    ...settings,
    policy,
    owner: receipt.owner,
    retryLease,
    at,
  });
  const written = await writeHeld(context, held, transition);
  if (written.kind === 'refused') {
    await recordLate(context, held, attempt, written.current);
    return {};
  }
  noteAttempt(context, held, result, written.delivery);
  const retried = await followUp(context, { ...held, delivery: written.delivery }, delivery.slot);
  return { next: written.delivery.next, retried };
}

/**
 * Does what the record requires next: an immediate retry, a scheduled retry, or the pending steps. `lastSlot`: the
 * rate-limit slot that the recorded attempt waited for on record.
 */
async function followUp(
  context: DeliverContext,
  held: LoadedDelivery,
  lastSlot: Slot | undefined,
): Promise<LoadedDelivery | undefined> {
  const { delivery, body } = held;
  if (!isOpen(delivery.status)) {
    await completePendingSteps(context, delivery, body);
    return undefined;
  }
  if (delivery.lease !== undefined) return { ...held, slot: undefined, trigger: 'same_invocation' };
  // The line may be longer than the retry's delay: without a slot the retry would wake up only to wait.
  const waitsForSlot = lastSlot !== undefined && (await reserveForRetry(context, held));
  if (!waitsForSlot) await scheduleNext(context, delivery);
  return undefined;
}

/** Records the result although the lease was lost: another invocation took over, or the delivery ended. */
async function recordLate(
  context: DeliverContext,
  { work }: LoadedDelivery,
  attempt: Attempt,
  current: Delivery | undefined,
): Promise<void> {
  const { ports } = context;
  let found = current;
  while (found !== undefined) {
    const result = await ports.deliveries.write(recordLateResult(found, attempt, writeTime(context, found)));
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
  { work, delivery }: LoadedDelivery,
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
