import { StandardRetryStrategy } from '@smithy/core/retry';
import type { Journal } from '../../ports/journal.ts';
import { hasTimeAfter, OutOfTimeError, type CallDeadline } from '../lambda/invocation-deadline.ts';

/** The first request and two retries. */
export const MAX_ATTEMPTS = 3;

type RefreshRetryToken = StandardRetryStrategy['refreshRetryTokenForRetry'];
type RetryToken = Parameters<RefreshRetryToken>[0];
type RetryErrorInfo = Parameters<RefreshRetryToken>[1];

/**
 * The SDK's retry rules (throttling, 500, 502 to 504, timeouts, broken connections), limited by the deadline: no
 * retry starts that could not end before it. The caller then gets the error of the last request.
 */
export class RetriesUntilDeadline extends StandardRetryStrategy {
  readonly #deadline: CallDeadline;
  readonly #note: FailureNote;

  constructor(most: number, deadline: CallDeadline, note: FailureNote) {
    super({ maxAttempts: most, backoff: backoffUntil(deadline) });
    this.#deadline = deadline;
    this.#note = note;
  }

  /** The SDK calls this after every failed request and treats any exception as "do not retry". */
  override async refreshRetryTokenForRetry(token: RetryToken, given: RetryErrorInfo): Promise<RetryToken> {
    const failed = withConflictsTransient(given);
    try {
      const next = await this.#tokenFor(token, failed);
      this.#note(failed, true);
      return next;
    } catch (refusal) {
      this.#note(failed, false);
      throw refusal;
    }
  }

  async #tokenFor(token: RetryToken, failed: RetryErrorInfo): Promise<RetryToken> {
    const waitMs = (failed.retryAfterHint?.getTime() ?? 0) - Date.now();
    if (!hasTimeAfter(Math.max(0, waitMs), this.#deadline)) throw new OutOfTimeError();
    return super.refreshRetryTokenForRetry(token, failed);
  }
}

type FailureNote = (failed: RetryErrorInfo, repeated: boolean) => void;

/** Journals failures that are worth a retry. A response that rejects the request's content is not one. */
export function failureNoteFor(journal: Journal | undefined, awsService: string): FailureNote {
  return ({ errorType, error }, repeated) => {
    const throttled = errorType === 'THROTTLING';
    if (!throttled && errorType !== 'TRANSIENT') return;
    const reason = error instanceof Error ? error.name : errorType;
    journal?.note({ fact: 'aws_call_failed', awsService, reason, throttled, repeated });
  };
}

/** Full jitter: uniform up to a bound that doubles with each retry. Milliseconds. */
function backoffUntil(deadline: CallDeadline) {
  let base = 0;
  return {
    setDelayBase: (delay: number) => {
      base = delay;
    },
    computeNextBackoffDelay: (repeated: number) => {
      const delay = Math.floor(Math.random() * base * 2 ** repeated);
      if (!hasTimeAfter(delay, deadline)) throw new OutOfTimeError();
      return delay;
    },
  };
}

const CONFLICTS: ReadonlySet<string> = new Set([
  'TransactionConflictException',
  'ReplicatedWriteConflictException',
]);

/**
 * A write that meets a transaction on the same item is refused and can be retried ("Transaction conflict handling
 * in DynamoDB", DynamoDB developer guide). The SDK classifies it as an error of the caller.
 */
function withConflictsTransient(failed: RetryErrorInfo): RetryErrorInfo {
  return CONFLICTS.has(failed.error?.name ?? '') ? { ...failed, errorType: 'TRANSIENT' } : failed;
}
