import type { Ingress } from '../ports/ingress.ts';
import { sendInBatches, type BatchTarget } from './sqs-batches.ts';

/** The ingress queue, as one who publishes sees it. */
export const sqsIngress = (target: BatchTarget): Ingress => ({
  publish: (messages) => sendInBatches(target, messages),
});
