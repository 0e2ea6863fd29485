import type { MessageAttributeValue } from '@aws-sdk/client-sqs';
import type { LetterAttribute, LetterAttributes, Redriven, WorkQueueName } from '../domain/dead-letter.ts';
import type { WorkQueues } from '../ports/dead-letter-queue.ts';
import { sendInBatches, type BatchTarget } from './sqs-batches.ts';

/** The queues that our functions consume, by name. Attributes go back with the types that they came with. */
export const sqsWorkQueues = (
  target: Omit<BatchTarget, 'queueUrl'>,
  urls: Readonly<Record<WorkQueueName, string>>,
): WorkQueues => ({
  send: async (messages) => {
    for (const [to, together] of Map.groupBy(messages, (message) => message.to)) {
      await sendInBatches({ ...target, queueUrl: urls[to] }, together.map(outgoing));
    }
  },
});

const outgoing = ({ body, attributes, group }: Redriven) => ({
  body,
  ...(Object.keys(attributes).length === 0 ? {} : { attributes: valuesOf(attributes) }),
  ...(group === undefined ? {} : { group }),
});

const valuesOf = (attributes: LetterAttributes): Record<string, MessageAttributeValue> =>
  Object.fromEntries(Object.entries(attributes).map(([name, attribute]) => [name, valueOf(attribute)]));

const valueOf = (attribute: LetterAttribute): MessageAttributeValue =>
  'text' in attribute
    ? { DataType: attribute.type, StringValue: attribute.text }
    : { DataType: attribute.type, BinaryValue: attribute.bytes };
