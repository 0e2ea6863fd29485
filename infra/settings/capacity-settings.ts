import { wholeNumber } from './rules.ts';

function concurrency() {
  return wholeNumber('concurrent invocations', 2, 1000);
}

/** How much is done at once. */
export const capacitySettings = {
  /** Most concurrent invocations of dispatch, 2 to 1000. Default 50. */
  dispatchConcurrency: concurrency().default(50),
  /** Most concurrent invocations of deliver for first attempts, 2 to 1000; each makes up to 10 at once. Default 100. */
  deliverConcurrency: concurrency().default(100),
  /**
   * Most messages and first jobs that an invocation takes at once, 1 to 100; over 10 only with a batch window (AWS Lambda
   * developer guide, "Creating and configuring an Amazon SQS event source mapping"). Retries: 10. Default 10.
   */
  messagesPerBatch: wholeNumber('messages', 1, 100).default(10),
  /** Seconds that Lambda gathers messages, and then jobs, for a batch, 0 to 60; retries are never gathered. Default 0. */
  batchWindowSeconds: wholeNumber('seconds', 0, 60).default(0),
  /** Most concurrent invocations of deliver for retries, 2 to 1000. Default 50. */
  retryConcurrency: concurrency().default(50),
};
