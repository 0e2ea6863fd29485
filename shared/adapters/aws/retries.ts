import { StandardRetryStrategy } from '@smithy/core/retry';
import type { Journal } from '../../ports/journal.ts';
import { hasTimeAfter, OutOfTimeError, type CallDeadline } from '../lambda/invocation-deadline.ts';

/** The request itself and two repeats. */
export const MAX_ATTEMPTS = 3;

type RefreshRetryToken = StandardRetryStrategy['refreshRetryTokenForRetry'];
type RetryToken = Parameters<RefreshRetryToken>[0];
type RetryErrorInfo = Parameters<RefreshRetryToken>[1];

/**
 * The SDK's own rules of what is repeated (throttling, 500, 502 to 504, timeouts, broken connections) and how often, up to
 * the deadline: no repeat is begun that could not end before it, and the caller gets the error of the last request.
 */
export class RetriesUntilDeadline extends StandardRetryStrategy {
  readonly #deadline: CallDeadline;
  readonly #note: FailureNote;

  constructor(most: number, deadline: CallDeadline, note: FailureNote) {
    super({ maxAttempts: most, backoff: backoffUntil(deadline) });
    this.#deadline = deadline;
    this.#note = note;
  }

  /** The SDK asks after every request that failed, and takes whatever is thrown for a no. */
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
    const hintMs = (failed.retryAfterHint?.getTime() ?? 0) - Date.now();
    if (!hasTimeAfter(Math.max(0, hintMs), this.#deadline)) throw new OutOfTimeError();
    return super.refreshRetryTokenForRetry(token, failed);
  }
}

type FailureNote = (failed: RetryErrorInfo, repeated: boolean) => void;

/** Notes failures that are worth a repeat; an answer that refuses a request for what it says is no failure. */
export function failureNoteFor(journal: Journal | undefined, awsService: string): FailureNote {
  return ({ errorType, error }, repeated) => {
    const throttled = errorType === 'THROTTLING';
    if (!throttled && errorType !== 'TRANSIENT') return;
    const reason = error instanceof Error ? error.name : errorType;
    journal?.note({ fact: 'aws_call_failed', awsService, reason, throttled, repeated });
  };
}

/** "Full jitter": evenly drawn up to a bound that doubles with each repeat. Milliseconds. */
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

/** What else can be repeated, though the SDK takes it for a fault of the caller, or knows it by the model of a service. */
const CONFLICTS: ReadonlySet<string> = new Set([
  'TransactionConflictException',
  'ReplicatedWriteConflictException',
]);

/**
 * A write that meets a transaction on the same item is refused, and can be repeated ("Transaction conflict handling in
 * DynamoDB", DynamoDB developer guide). The SDK takes it for a fault of the caller.
 */
function withConflictsTransient(failed: RetryErrorInfo): RetryErrorInfo {
  return CONFLICTS.has(failed.error?.name ?? '') ? { ...failed, errorType: 'TRANSIENT' } : failed;
}
