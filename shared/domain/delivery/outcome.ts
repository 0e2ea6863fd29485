import type { ConnectionFault, Outcome, RejectReason } from '../vocabulary.ts';

/** Result of a request, before it is classified. `detail` never contains an address. */
export type Reply =
  | { kind: 'answered'; statusCode: number; retryAfter?: string; snippet?: string }
  | { kind: 'unanswered'; error: ConnectionFault; detail?: string }
  | { kind: 'forbidden' };

/** Recorded error when our address guard refused to connect. */
export const ADDRESS_FORBIDDEN = 'address_forbidden' satisfies RejectReason;

const GONE = 410;

/** Classifies a reply (README.md#what-counts-as-delivered). `retryOnStatus`: 3xx and 4xx to retry. */
export function outcomeOf(reply: Reply, retryOnStatus: readonly number[]): Outcome {
  switch (reply.kind) {
    case 'forbidden':
      return 'rejected';
    case 'unanswered':
      return 'failed';
    case 'answered':
      return outcomeOfStatus(reply.statusCode, retryOnStatus);
  }
}

function outcomeOfStatus(statusCode: number, retryOnStatus: readonly number[]): Outcome {
  if (statusCode >= 200 && statusCode <= 299) return 'delivered';
  if (statusCode >= 300 && statusCode <= 499) {
    return statusCode !== GONE && retryOnStatus.includes(statusCode) ? 'failed' : 'rejected';
  }
  return 'failed';
}

/** 410 Gone: the subscriber asks for no further requests (RFC 9110 §15.5.11). */
export function isGone(reply: Reply): boolean {
  return reply.kind === 'answered' && reply.statusCode === GONE;
}
