import { SendMessageCommand } from '@aws-sdk/client-sqs';
import { afterAll } from 'vitest';
import { sqsDeadLetterQueue } from '../../shared/adapters/sqs/dead-letter-queue.ts';
import { systemClock } from '../../shared/adapters/system-clock.ts';
import type { DeadLetterAttribute } from '../../shared/domain/delivery/dead-letter.ts';
import { deployment } from '../support/deployment.ts';
import { privateQueues } from '../support/private-queues.ts';
import { describeDeadLetterQueueContract } from './queues.contract.ts';

const { sqs } = deployment;
const queues = privateQueues(sqs);
afterAll(queues.deleteAll);

const valueOf = (attribute: DeadLetterAttribute) =>
  'text' in attribute
    ? { DataType: attribute.type, StringValue: attribute.text }
    : { DataType: attribute.type, BinaryValue: attribute.bytes };

describeDeadLetterQueueContract('in SQS', async () => {
  const queueUrl = await queues.create();
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
