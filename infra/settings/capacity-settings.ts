import { wholeNumber } from './rules.ts';

const concurrency = () => wholeNumber('concurrent invocations', 2, 1000);

/** How much is done at once. */
export const capacitySettings = {
  /** Most concurrent invocations of dispatch, 2 to 1000. Default 50. */
  dispatchConcurrency: concurrency().default(50),
  /** Most concurrent invocations of deliver for first attempts, 2 to 1000; each makes up to 10 at once. Default 100. */
  deliverConcurrency: concurrency().default(100),
  /** Most concurrent invocations of deliver for retries, 2 to 1000. Default 50. */
  retryConcurrency: concurrency().default(50),
};
