import { encodeDeliveryJob } from '../messages/delivery-job.ts';
import type { DeliveryQueue } from '../ports/delivery-queue.ts';
import { sendInBatches, type BatchTarget } from './sqs-batches.ts';

/** The delivery queue. Jobs are grouped by subscription, so that one with many waits longer, and not the others. */
export const sqsDeliveryQueue = (target: BatchTarget): DeliveryQueue => ({
  send: (jobs, delaySeconds = 0) =>
    sendInBatches(
      target,
      jobs.map((job) => ({ body: encodeDeliveryJob(job), delaySeconds, group: job.key.subscriptionId })),
    ),
});
