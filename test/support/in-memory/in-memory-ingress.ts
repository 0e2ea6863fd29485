import type { Ingress } from '../../../shared/ports/queues.ts';
import type { ModelledSqs } from '../modelled-sqs.ts';

export type PublishedMessage = Parameters<Ingress['publish']>[0][number];

/** The ingress queue, as one who publishes sees it. */
export const inMemoryIngress = (queue: Pick<ModelledSqs<PublishedMessage>, 'send'>): Ingress => ({
  publish: (messages) => {
    for (const message of messages) queue.send(message, message.delaySeconds);
    return Promise.resolve();
  },
});
