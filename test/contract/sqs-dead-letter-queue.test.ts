import { randomUUID } from 'node:crypto';
import { CreateQueueCommand, DeleteQueueCommand, SendMessageCommand } from '@aws-sdk/client-sqs';
import { afterAll } from 'vitest';
import { sqsDeadLetterQueue } from '../../shared/adapters/sqs-dead-letter-queue.ts';
import { systemClock } from '../../shared/adapters/system-clock.ts';
import type { LetterAttribute } from '../../shared/domain/dead-letter.ts';
import { deployment } from '../support/deployment.ts';
import { describeDeadLetterQueueContract } from './dead-letter-queue.contract.ts';

const { sqs } = deployment;
const queueUrls: string[] = [];

afterAll(async () => {
  for (const QueueUrl of queueUrls) await sqs.send(new DeleteQueueCommand({ QueueUrl }));
});

const privateQueue = async (): Promise<string> => {
  const { QueueUrl } = await sqs.send(new CreateQueueCommand({ QueueName: `dead-letters-${randomUUID()}` }));
  if (QueueUrl === undefined) throw new Error('SQS gave no queue URL');
  queueUrls.push(QueueUrl);
  return QueueUrl;
};

const valueOf = (attribute: LetterAttribute) =>
  'text' in attribute
    ? { DataType: attribute.type, StringValue: attribute.text }
    : { DataType: attribute.type, BinaryValue: attribute.bytes };

describeDeadLetterQueueContract('in SQS', async () => {
  const queueUrl = await privateQueue();
  return {
    queue: sqsDeadLetterQueue({ sqs, queueUrl, sleep: (milliseconds) => systemClock.sleep(milliseconds) }),
    put: async (body, attributes = {}) => {
      const values = Object.entries(attributes).map(
        ([name, attribute]) => [name, valueOf(attribute)] as const,
      );
      const { MessageId } = await sqs.send(
        new SendMessageCommand({
          QueueUrl: queueUrl,
          MessageBody: body,
          MessageAttributes: Object.fromEntries(values),
        }),
      );
      if (MessageId === undefined) throw new Error('SQS gave no message id');
      return MessageId;
    },
  };
});
