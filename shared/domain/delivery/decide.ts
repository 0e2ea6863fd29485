import { type Attempt, attemptsInRound, endOfAttempt } from './attempt.ts';
import type { Delivery, Lease, NextAttempt, Revision, WriteTime } from './delivery.ts';
import { type Sent, retryAfterMs } from '../retry/outcome.ts';
import {
  recordDelivered,
  recordExhausted,
  recordExpired,
  recordLateResult,
  recordRejected,
  recordRetry,
} from './transitions.ts';
import { followingAttempt, nextAfterFailure } from './next-attempt.ts';
import { isExpired } from '../message/message.ts';
import type { RenderFault } from '../message/payload.ts';
import type { RetryPolicy } from '../retry/policy.ts';

/** An attempt that was made under the lease of `owner`, by a request or by pull, or one whose lease was lost. */
export type Attempted = RequestAttempted | PullAttempted | UnrenderedAttempted | LateAttempted;

type Common = { delivery: Delivery; owner: string; policy: RetryPolicy };

type RequestAttempted = Common & {
  kind: 'request';
  attempt: Attempt;
  reply: Sent;
  /** Version of the subscription that was called. */
  version: number | undefined;
  /** When its message expires, in milliseconds since the epoch. */
  messageExpiresAt: number | undefined;
  /** The lease for an immediate retry by this invocation; undefined: it cannot make one. */
  retryLease: Lease | undefined;
  schedulerThresholdSeconds: number;
  retryAfterCapMs: number;
};

type PullAttempted = Common & { kind: 'pull'; attempt: Attempt };

/** Received by pull, where there was nothing to receive. */
type UnrenderedAttempted = Pick<Common, 'delivery' | 'owner'> & {
  kind: 'unrendered';
  attempt: Attempt;
  fault: RenderFault;
};

/** `delivery`: as it is now. */
type LateAttempted = { kind: 'late'; delivery: Delivery; attempt: Attempt };

/** What follows from an attempt: delivered, rejected, retrying or exhausted; a late failure changes nothing but the record. */
export function decide(attempted: Attempted, at: WriteTime): Revision {
  switch (attempted.kind) {
    case 'request':
      return afterRequest(attempted, at);
    // Nothing that a receiver does is final, except a success.
    case 'pull':
      return attempted.attempt.outcome === 'delivered'
        ? recordDelivered(attempted, at)
        : afterFailure(attempted, followingByPull(attempted), at);
    case 'unrendered': {
      const { delivery, fault } = attempted;
      return recordRejected(attempted, { policy: delivery.policy, reply: fault }, at);
    }
    case 'late':
      return recordLateResult(attempted.delivery, attempted.attempt, at);
  }
}

function afterRequest(attempted: RequestAttempted, at: WriteTime): Revision {
  switch (attempted.attempt.outcome) {
    case 'delivered':
      return recordDelivered(attempted, at, attempted.reply);
    case 'rejected':
      return recordRejected(attempted, attempted, at);
    case 'failed': {
      const { policy, messageExpiresAt: expiresAt } = attempted;
      const next = followingByRequest(attempted);
      if (next !== undefined && isExpired({ expiresAt }, next.dueAt))
        return recordExpired(attempted, policy, at);
      const lease = next?.by === 'same_invocation' ? attempted.retryLease : undefined;
      return afterFailure(attempted, next, at, lease);
    }
  }
}

function afterFailure(
  attempted: RequestAttempted | PullAttempted,
  next: NextAttempt | undefined,
  at: WriteTime,
  lease?: Lease,
): Revision {
  const { policy } = attempted;
  return next === undefined
    ? recordExhausted(attempted, policy, at)
    : recordRetry(attempted, { next, policy, lease }, at);
}

function followingByRequest(attempted: RequestAttempted): NextAttempt | undefined {
  const { attempt, reply, retryLease, schedulerThresholdSeconds, retryAfterCapMs } = attempted;
  return nextAfterFailure({
    ...buildFailure(attempted),
    retryAfterMs: requestedDelayMs(reply, endOfAttempt(attempt), retryAfterCapMs),
    thresholdSeconds: schedulerThresholdSeconds,
    canContinue: retryLease !== undefined,
  });
}

function followingByPull(attempted: PullAttempted): NextAttempt | undefined {
  const next = followingAttempt({ ...buildFailure(attempted), retryAfterMs: 0 });
  return next && { ...next, by: 'pull' };
}

function buildFailure({ delivery, attempt, policy }: RequestAttempted | PullAttempted) {
  return { key: delivery.key, policy, failed: attempt, attemptsInRound: attemptsInRound(delivery) + 1 };
}

/** The requested delay in milliseconds, counted from the end of the attempt like the policy's delays, and capped. */
function requestedDelayMs(reply: Sent, endedAt: number, capMs: number): number {
  return reply.kind === 'answered' && reply.retryAfter !== undefined
    ? Math.min(capMs, retryAfterMs(reply.retryAfter, endedAt) ?? 0)
    : 0;
}
