import type { FirstJob } from '../../../shared/domain/delivery/job.ts';
import type { DeliveryQueue } from '../../../shared/ports/queues.ts';
import type { InMemoryQueue } from './in-memory-queue.ts';

/** The delivery queue, as dispatch and deliver see it. */
export const inMemoryDeliveryQueue = (queue: Pick<InMemoryQueue<FirstJob>, 'send'>): DeliveryQueue => ({
  send: (jobs, delaySeconds) => {
    for (const job of jobs) queue.send(job, delaySeconds);
    return Promise.resolve();
  },
});
