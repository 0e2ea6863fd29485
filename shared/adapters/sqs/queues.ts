import type { WorkQueueName } from '../../domain/vocabulary.ts';
import type {
  DeadLetterAttribute,
  DeadLetterAttributes,
  RedrivenMessage,
} from '../../domain/delivery/dead-letter.ts';
import { groupOf } from '../../domain/delivery/job.ts';
import type {
  DeliveryQueue,
  Ingress,
  Operations,
  QueueDepth,
  QueueDepths,
  WorkQueues,
} from '../../ports/queues.ts';
import type { WakeUps } from '../../ports/wake-ups.ts';
import { encodeFirstJob, encodeWakeUp } from '../../wire/jobs/delivery-job.ts';
import { encodeOperation } from '../../wire/jobs/operation.ts';
import type { SQS } from '@aws-sdk/client-sqs';
import { type BatchTarget, sendInBatches, sendMessage } from './batches.ts';
import { joinedSends } from './joined-sends.ts';
import type { MessageAttributeValue, QueueAttributeName } from '@aws-sdk/client-sqs';

/** The delivery queue. Whoever has many jobs there waits longer, and not the others: a subscription, or a queue with all its subscriptions. */
export function sqsDeliveryQueue(target: BatchTarget): DeliveryQueue {
  const send = joinedSends(target);
  return {
    send: (jobs, delaySeconds = 0) =>
      send(jobs.map((job) => ({ body: encodeFirstJob(job), delaySeconds, group: groupOf(job) }))),
  };
}

/** The ingress queue, as one who publishes sees it. */
export function sqsIngress(target: BatchTarget): Ingress {
  return {
    publish: (messages) => sendInBatches(target, messages),
  };
}

/** The operation queue. Errors of AWS pass through: the order may not have been sent. Grouped, so that one queue's orders do not hold up the others'. */
export function sqsOperations(sqs: SQS, queueUrl: string): Operations {
  return {
    send: async (operation, delaySeconds = 0) => {
      const message = { body: encodeOperation(operation), delaySeconds, group: operation.queue };
      await sendMessage({ sqs, queueUrl }, message);
    },
  };
}

/**
 * Wake-ups by DelaySeconds on the retry queue.
 * @throws MessagesNotSentError: the wake-up may not have been sent
 */
export function sqsWakeUps(retryQueue: BatchTarget): Pick<WakeUps, 'sendDelayed'> {
  const send = joinedSends(retryQueue);
  return {
    sendDelayed: (wakeUp, delaySeconds) =>
      send([{ body: encodeWakeUp(wakeUp), delaySeconds, group: wakeUp.key.subscriptionId }]),
  };
}

/** The queues that our functions consume, by name. Attributes go back with the types that they came with. */
export function sqsWorkQueues(
  target: Omit<BatchTarget, 'queueUrl'>,
  urls: Readonly<Record<WorkQueueName, string>>,
): WorkQueues {
  return {
    send: async (messages) => {
      for (const [to, together] of Map.groupBy(messages, (message) => message.to)) {
        await sendInBatches({ ...target, queueUrl: urls[to] }, together.map(outgoing));
      }
    },
  };
}

function outgoing({ body, attributes, group }: RedrivenMessage) {
  return {
    body,
    ...(Object.keys(attributes).length === 0 ? {} : { attributes: valuesOf(attributes) }),
    ...(group === undefined ? {} : { group }),
  };
}

function valuesOf(attributes: DeadLetterAttributes): Record<string, MessageAttributeValue> {
  return Object.fromEntries(
    Object.entries(attributes).map(([name, attribute]) => [name, valueOf(attribute)]),
  );
}

function valueOf(attribute: DeadLetterAttribute): MessageAttributeValue {
  return 'text' in attribute
    ? { DataType: attribute.type, StringValue: attribute.text }
    : { DataType: attribute.type, BinaryValue: attribute.bytes };
}

const COUNTS = [
  'ApproximateNumberOfMessages',
  'ApproximateNumberOfMessagesDelayed',
  'ApproximateNumberOfMessagesNotVisible',
] as const satisfies readonly QueueAttributeName[];

/** `queueUrls` by the names that the answer uses. */
export function sqsQueueDepths(sqs: SQS, queueUrls: Readonly<Record<string, string>>): QueueDepths {
  return {
    approximate: async () => {
      const depths = Object.entries(queueUrls).map(
        async ([name, QueueUrl]): Promise<[string, QueueDepth]> => {
          const { Attributes } = await sqs.getQueueAttributes({ QueueUrl, AttributeNames: [...COUNTS] });
          const [visible, delayed, inFlight] = COUNTS.map((count) => Number(Attributes?.[count] ?? 0));
          return [name, { waiting: (visible ?? 0) + (inFlight ?? 0), delayed: delayed ?? 0 }];
        },
      );
      return Object.fromEntries(await Promise.all(depths));
    },
  };
}
