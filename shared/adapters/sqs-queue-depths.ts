import type { QueueAttributeName } from '@aws-sdk/client-sqs';
import type { QueueClient } from './aws/queue-client.ts';
import type { QueueDepths } from '../ports/queue-depths.ts';

const COUNTS = [
  'ApproximateNumberOfMessages',
  'ApproximateNumberOfMessagesDelayed',
  'ApproximateNumberOfMessagesNotVisible',
] as const satisfies readonly QueueAttributeName[];

/** `queueUrls` by the names that the answer uses. */
export const sqsQueueDepths = (
  sqs: QueueClient,
  queueUrls: Readonly<Record<string, string>>,
): QueueDepths => ({
  approximate: async () => {
    const depths = Object.entries(queueUrls).map(async ([name, QueueUrl]): Promise<[string, number]> => {
      const { Attributes } = await sqs.getQueueAttributes({ QueueUrl, AttributeNames: [...COUNTS] });
      return [name, COUNTS.reduce((sum, count) => sum + Number(Attributes?.[count] ?? 0), 0)];
    });
    return Object.fromEntries(await Promise.all(depths));
  },
});
