import { groupOf } from '../domain/delivery-job.ts';
import { encodeFirstJob } from '../messages/delivery-job.ts';
import type { DeliveryQueue } from '../ports/delivery-queue.ts';
import type { BatchTarget } from './sqs-batches.ts';
import { joinedSends } from './sqs-joined-sends.ts';

/** The delivery queue. Whoever has many jobs there waits longer, and not the others: a subscription, or a queue with all its subscriptions. */
export const sqsDeliveryQueue = (target: BatchTarget): DeliveryQueue => {
  const send = joinedSends(target);
  return {
    send: (jobs, delaySeconds = 0) =>
      send(jobs.map((job) => ({ body: encodeFirstJob(job), delaySeconds, group: groupOf(job) }))),
  };
};
