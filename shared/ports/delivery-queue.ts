import type { FirstJob } from '../domain/delivery-job.ts';

/** Where first attempts wait. */
export interface DeliveryQueue<Job extends FirstJob = FirstJob> {
  /**
   * Sends every job, in batches; entries that the queue refused are sent again within bounds.
   * @throws when some could not be sent: the caller repeats all, claims make the copies harmless.
   */
  send(jobs: readonly Job[], delaySeconds?: number): Promise<void>;
}
