import type { ConnectionFault, DeliveryRequest, Outcome, RejectReason } from './vocabulary.ts';

/** An answer. `asks`: the value of its header `webhook-delivery`. */
type Answer = { statusCode: number; retryAfter?: string; asks?: DeliveryRequest; snippet?: string };

/** Result of a request, before it is classified. `detail` never contains an address. */
export type Reply =
  | ({ kind: 'answered' } & Answer)
  | { kind: 'unanswered'; error: ConnectionFault; detail?: string }
  | { kind: 'forbidden' };

/** What came of an attempt to send: a reply, or nothing, because there is no payload. */
export type Sent = Reply | { kind: 'unrendered'; detail: string };

/** Recorded errors where nothing was sent. */
export const ADDRESS_FORBIDDEN = 'address_forbidden' satisfies RejectReason;
export const PAYLOAD_FAILED = 'payload_failed' satisfies RejectReason;

const GONE = 410;
export const TOO_MANY_REQUESTS = 429;

/** Classifies a reply (docs/retry-policy.md#what-is-retried). `retryOnStatus`: 3xx and 4xx to retry. */
export function outcomeOf(reply: Sent, retryOnStatus: readonly number[]): Outcome {
  switch (reply.kind) {
    case 'forbidden':
    case 'unrendered':
      return 'rejected';
    case 'unanswered':
      return 'failed';
    case 'answered':
      return outcomeOfAnswer(reply, retryOnStatus);
  }
}

/** A subscriber that asks for no further attempts gets none. */
function outcomeOfAnswer({ statusCode, asks }: Answer, retryOnStatus: readonly number[]): Outcome {
  const outcome = outcomeOfStatus(statusCode, retryOnStatus);
  return outcome === 'failed' && asks !== undefined ? 'rejected' : outcome;
}

function outcomeOfStatus(statusCode: number, retryOnStatus: readonly number[]): Outcome {
  if (statusCode >= 200 && statusCode <= 299) return 'delivered';
  if (statusCode >= 300 && statusCode <= 499) {
    return statusCode !== GONE && retryOnStatus.includes(statusCode) ? 'failed' : 'rejected';
  }
  return 'failed';
}

export type DisablingReason = 'gone' | 'disable_requested';

/** Why an answer disables its subscription, if it does: a 410 (RFC 9110 §15.5.11), or the subscriber asks for it. */
export function disablingReason(reply: Sent): DisablingReason | undefined {
  if (reply.kind !== 'answered') return undefined;
  if (reply.statusCode === GONE) return 'gone';
  return reply.asks === 'disable' ? 'disable_requested' : undefined;
}

/** Why the reply of a rejected attempt is final. */
export function rejectionReason(reply: Sent): RejectReason {
  if (reply.kind === 'unrendered') return PAYLOAD_FAILED;
  if (reply.kind !== 'answered') return ADDRESS_FORBIDDEN;
  const asked = reply.asks === 'abort-message' ? 'abort_requested' : undefined;
  return disablingReason(reply) ?? asked ?? `http_${reply.statusCode}`;
}
