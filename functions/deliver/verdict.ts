import type { Attempt } from '../../shared/domain/delivery/attempt.ts';
import type { Verdict } from '../../shared/domain/delivery/result.ts';
import { nextAfterFailure } from '../../shared/domain/retry/next-attempt.ts';
import { isGone, type Reply } from '../../shared/domain/delivery/outcome.ts';
import { policyInForce, type PolicyInForce, type RetryPolicy } from '../../shared/domain/retry/policy.ts';
import { retryAfterMs } from '../../shared/domain/retry/retry-after.ts';
import { type DeliverContext, hasTimeForAttempt, type HeldDelivery, leaseUntil } from './context.ts';

/** An immediate retry is made by the same invocation only after a failure that was quicker than this (design §5). */
const QUICK_MS = 2_000;

/** The policy kept since the round's first failure; before that, the one in force now. */
export function policyFor({ settings }: DeliverContext, { delivery, target }: HeldDelivery): RetryPolicy {
  return delivery.policy ?? inForce(settings.defaultRetryPolicy, target).policy;
}

function inForce(defaults: RetryPolicy, { queue, subscription }: HeldDelivery['target']): PolicyInForce {
  return policyInForce({
    subscription: subscription?.options._retry_policy,
    queue: queue?.retryPolicy,
    defaults,
  });
}

/** What an attempt leads to: the end, or the next attempt and by which mechanism. */
export function judge(context: DeliverContext, held: HeldDelivery, attempt: Attempt, reply: Reply): Verdict {
  switch (attempt.outcome) {
    case 'delivered':
      return { kind: 'delivered' };
    case 'rejected':
      return { kind: 'rejected', gone: isGone(reply), policy: policyFor(context, held) };
    case 'failed':
      return afterFailure(context, held, attempt, reply);
  }
}

function afterFailure(context: DeliverContext, held: HeldDelivery, attempt: Attempt, reply: Reply): Verdict {
  const { ports, settings } = context;
  const { delivery, received } = held;
  const policy = policyFor(context, held);
  if (delivery.policy === undefined) warnOfAdjustment(context, held);
  const next = nextAfterFailure({
    key: delivery.key,
    policy,
    failed: attempt,
    madeInRound: delivery.attempts.filter(({ round }) => round === delivery.round).length + 1,
    hintMs: hintOf(reply, attempt.startedAt + attempt.durationMs, settings.retryAfterCapMs),
    thresholdSeconds: settings.schedulerThresholdSeconds,
    canContinue: attempt.durationMs < QUICK_MS && hasTimeForAttempt(received, settings),
  });
  if (next === undefined) return { kind: 'exhausted', policy };
  const lease =
    next.by === 'same_invocation'
      ? { owner: received.owner, until: leaseUntil(ports.clock.now(), settings) }
      : undefined;
  return { kind: 'retry', next, policy, lease };
}

/** Counted from the end of the attempt, as the delays are: a date that was asked for is not undercut. */
function hintOf(reply: Reply, endedAt: number, capMs: number): number {
  return reply.kind === 'answered' && reply.retryAfter !== undefined
    ? Math.min(capMs, retryAfterMs(reply.retryAfter, endedAt) ?? 0)
    : 0;
}

function warnOfAdjustment({ ports, settings }: DeliverContext, held: HeldDelivery): void {
  const { warning } = inForce(settings.defaultRetryPolicy, held.target);
  if (warning !== undefined)
    ports.journal.note({ fact: 'policy_adjusted', queue: held.delivery.key.queue, warning });
}
