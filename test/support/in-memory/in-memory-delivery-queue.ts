import type { FirstJob } from '../../../shared/domain/delivery/job.ts';
import type { DeliveryQueue } from '../../../shared/ports/queues.ts';
import type { ModelledSqs } from '../modelled-sqs.ts';

/** The delivery queue, as dispatch and deliver see it. */
export const inMemoryDeliveryQueue = <Job extends FirstJob>(
  queue: Pick<ModelledSqs<Job>, 'send'>,
): DeliveryQueue<Job> => ({
  send: (jobs, delaySeconds) => {
    for (const job of jobs) queue.send(job, delaySeconds);
    return Promise.resolve();
  },
});
