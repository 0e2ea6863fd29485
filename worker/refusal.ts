/** AWS refuses this worker, and no repeat can help: no permission, wrong keys, or no such queue in this region. */
export class WorkerRefusedError extends Error {
  override readonly name = 'WorkerRefusedError';
  constructor(what: string, cause: unknown) {
    super(`${what}: ${cause instanceof Error ? `${cause.name}: ${cause.message}` : String(cause)}`, {
      cause,
    });
  }
}

/** Errors that the SDK throws without a request. */
const OWN_ERRORS: ReadonlySet<string> = new Set(['CredentialsProviderError', 'TokenProviderError']);

/** Whether the answer was a refusal: of the caller or of what it asks for, rather than a failure that may pass. */
export function isRefusal(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  if (OWN_ERRORS.has(error.name) || error.message === 'Region is missing') return true;
  return '$fault' in error && error.$fault === 'client' && !isThrottled(error);
}

/** Error codes of throttled requests. SQS answers OverLimit while 120,000 messages of a queue are in flight. */
const THROTTLED = /Throttl|OverLimit|TooManyRequests|LimitExceeded|Throughput/;

export function isThrottled(error: unknown): boolean {
  return error instanceof Error && THROTTLED.test(error.name);
}
