/** SQS queues that the functions consume. */
export type WorkQueueName = 'ingress' | 'delivery' | 'retry' | 'operation';

/** Dead-letter queues that `posthaste redrive` empties. */
export const REDRIVEN_QUEUES = ['ingress', 'delivery', 'operation', 'undeliverable'] as const;
export type RedrivenQueue = (typeof REDRIVEN_QUEUES)[number];
