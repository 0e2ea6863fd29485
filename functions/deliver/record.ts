import type { Attempt } from '../../shared/domain/delivery/attempt.ts';
import {
  isOpen,
  type Delivery,
  type Lease,
  type Revision,
  type WriteTime,
} from '../../shared/domain/delivery/delivery.ts';
import { isGone, type Reply } from '../../shared/domain/delivery/outcome.ts';
import {
  recordDelivered,
  recordExhausted,
  recordLateResult,
  recordRejected,
  recordRetry,
} from '../../shared/domain/delivery/transitions.ts';
import { nextAfterFailure } from '../../shared/domain/retry/next-attempt.ts';
import type { RetryPolicy } from '../../shared/domain/retry/policy.ts';
import { retryAfterMs } from '../../shared/domain/retry/retry-after.ts';
import type { Slot } from '../../shared/domain/subscription/rate-limit.ts';
import { keepMessage } from '../../shared/steps/keep-message.ts';
import { keptUntil, writeTime } from '../../shared/steps/retention.ts';
import { hasTimeForAttempt, leaseFor, type DeliverContext } from './context.ts';
import { writeHeld, type Loaded } from './held.ts';
import { settleOwed } from './owed.ts';
import { scheduleRetry } from './rate-limit.ts';
import { returnAtLeaseEnd } from './wake-up.ts';

/** `dueAt`: when it was due, in milliseconds since the epoch; undefined for a first attempt that nothing delayed. */
export type AttemptResult = { attempt: Attempt; reply: Reply; dueAt: number | undefined };

/** The policy that a delivery follows. `warning`: what had to be changed to make one of it. */
export type FollowedPolicy = { policy: RetryPolicy; warning?: string };

/** An immediate retry is made by the same invocation only after a failure that was quicker than this (docs/design.md#three-mechanisms). */
const QUICK_MS = 2_000;

/** What a decision depends on beside the delivery and the result of its attempt. */
type DecisionRules = {
  policy: RetryPolicy;
  /** The owner of the lease that the attempt was made under. */
  owner: string;
  /** The lease under which this invocation would make an immediate retry; undefined: it cannot make one. */
  retryLease: Lease | undefined;
  schedulerThresholdSeconds: number;
  retryAfterCapMs: number;
  at: WriteTime;
};

/** What the result of an attempt makes of its delivery: delivered, rejected, retrying or exhausted. */
export function decide(
  delivery: Delivery,
  { attempt, reply }: Pick<AttemptResult, 'attempt' | 'reply'>,
  { policy, owner, retryLease, at, ...rules }: DecisionRules,
): Revision {
  const made = { delivery, owner, attempt };
  switch (attempt.outcome) {
    case 'delivered':
      return recordDelivered(made, at);
    case 'rejected':
      return recordRejected(made, { policy, gone: isGone(reply) }, at);
    case 'failed': {
      const next = nextAfterFailure({
        key: delivery.key,
        policy,
        failed: attempt,
        madeInRound: delivery.attempts.filter(({ round }) => round === delivery.round).length + 1,
        hintMs: hintMs(reply, attempt.startedAt + attempt.durationMs, rules.retryAfterCapMs),
        thresholdSeconds: rules.schedulerThresholdSeconds,
        canContinue: retryLease !== undefined,
      });
      if (next === undefined) return recordExhausted(made, policy, at);
      const lease = next.by === 'same_invocation' ? retryLease : undefined;
      return recordRetry(made, { next, policy, lease }, at);
    }
  }
}

/** Counted from the end of the attempt, as the delays are: a date that was asked for is not undercut. */
function hintMs(reply: Reply, endedAt: number, capMs: number): number {
  return reply.kind === 'answered' && reply.retryAfter !== undefined
    ? Math.min(capMs, retryAfterMs(reply.retryAfter, endedAt) ?? 0)
    : 0;
}

/**
 * Puts the result of an attempt on record, and does what follows from it: the message is kept first, then the record is
 * written, then the wake-up is set or what is owed is settled; the caller acknowledges last. Returns the delivery, still held, where this invocation
 * makes an immediate retry next.
 * @throws OwedStepsFailedError
 */
export async function record(
  context: DeliverContext,
  held: Loaded,
  { policy, warning }: FollowedPolicy,
  result: AttemptResult,
): Promise<Loaded | undefined> {
  const { ports, settings } = context;
  const { work, receipt, delivery } = held;
  const { attempt } = result;
  const canRetryNow = attempt.durationMs < QUICK_MS && hasTimeForAttempt(context, receipt);
  const retryLease = canRetryNow ? leaseFor(context, receipt) : undefined;
  if (attempt.outcome === 'failed' && warning !== undefined)
    ports.journal.note({ fact: 'policy_adjusted', queue: delivery.key.queue, warning });
  // Kept once, before the first failure is on record.
  if (attempt.outcome !== 'delivered' && delivery.attempts.length === 0)
    await keepMessage(ports, work, keptUntil(ports.clock.now(), settings));
  const at = writeTime(context);
  const transition = decide(delivery, result, { ...settings, policy, owner: receipt.owner, retryLease, at });
  const written = await writeHeld(context, held, transition);
  if (written.kind === 'refused') {
    await recordLate(context, held, attempt, written.current);
    return undefined;
  }
  noteAttempt(context, held, result, written.delivery);
  return followUp(context, { ...held, delivery: written.delivery }, delivery.slot);
}

/** What the record says is to be done next: go on, schedule the wake-up, or settle what is owed. */
async function followUp(
  context: DeliverContext,
  held: Loaded,
  lastSlot: Slot | undefined,
): Promise<Loaded | undefined> {
  const { delivery, body } = held;
  if (!isOpen(delivery.status)) {
    await settleOwed(context, delivery, body);
    return undefined;
  }
  if (delivery.lease !== undefined) return { ...held, slot: undefined, broughtBy: 'same_invocation' };
  await scheduleRetry(context, held, lastSlot);
  return undefined;
}

/** The lease is gone: another invocation took over, or the delivery was ended meanwhile. The result goes on record all the same. */
async function recordLate(
  context: DeliverContext,
  { work }: Loaded,
  attempt: Attempt,
  current: Delivery | undefined,
): Promise<void> {
  const { ports } = context;
  let found = current;
  while (found !== undefined) {
    const result = await ports.deliveries.write(recordLateResult(found, attempt, writeTime(context)));
    if (result.kind === 'written') {
      const decisive = result.delivery.status !== found.status;
      ports.journal.note({ fact: 'late_result', key: work.key, attempt, decisive });
      await returnAtLeaseEnd(context, work, result.delivery);
      return;
    }
    // Another invocation delivered it between our read and our write: then the result is simply added.
    found = result.current;
  }
}

function noteAttempt(
  { ports }: DeliverContext,
  { work, delivery }: Loaded,
  { attempt, ...result }: AttemptResult,
  { key, status, next }: Delivery,
): void {
  const sentAt = work.kind === 'job' ? work.sentAt : undefined;
  const dueAt = result.dueAt ?? work.dueAt ?? sentAt ?? delivery.acceptedAt;
  ports.journal.note({
    fact: 'attempt_made',
    key,
    attempt,
    status,
    dueAt,
    latenessMs: attempt.startedAt - dueAt,
    ...(next === undefined ? {} : { nextAt: next.dueAt, nextBy: next.by }),
  });
}
