import type { WorkQueueName } from '../../domain/work-queues.ts';
import type { DeadLetterAttributes, RedrivenMessage } from '../../domain/delivery/dead-letter.ts';
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
import type { SQS, MessageAttributeValue, QueueAttributeName } from '@aws-sdk/client-sqs';
import { type BatchTarget, sendInBatches, sendMessage } from './batches.ts';
import { joinedSends } from './joined-sends.ts';

/**
 * The delivery queue. The message group is the subscription of a job, or the queue of a chunk, so that a large backlog
 * of one does not delay the others (SQS fair queues).
 */
export function sqsDeliveryQueue(target: BatchTarget): DeliveryQueue {
  const send = joinedSends(target);
  return {
    send: (jobs, delaySeconds = 0) =>
      send(jobs.map((job) => ({ body: encodeFirstJob(job), delaySeconds, group: groupOf(job) }))),
  };
}

export function sqsIngress(target: BatchTarget): Ingress {
  return {
    publish: (messages) => sendInBatches(target, messages),
  };
}

/**
 * The operation queue. AWS errors pass through; the operation may or may not have been sent. Grouped by queue, so
 * that the operations of one queue do not delay those of others.
 */
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
 * @throws MessagesNotSentError if SQS did not confirm the wake-up; it may have been sent all the same
 */
export function sqsWakeUps(retryQueue: BatchTarget): Pick<WakeUps, 'sendDelayed'> {
  const send = joinedSends(retryQueue);
  return {
    sendDelayed: (wakeUp, delaySeconds) =>
      send([{ body: encodeWakeUp(wakeUp), delaySeconds, group: wakeUp.key.subscriptionId }]),
  };
}

/** The queues that the functions consume, by name. Attributes keep the types they were received with. */
export function sqsWorkQueues(
  target: Omit<BatchTarget, 'queueUrl'>,
  urls: Readonly<Record<WorkQueueName, string>>,
): WorkQueues {
  return {
    send: async (messages) => {
      for (const [to, together] of Map.groupBy(messages, (message) => message.to)) {
        await sendInBatches({ ...target, queueUrl: urls[to] }, together.map(outgoingMessage));
      }
    },
  };
}

function outgoingMessage({ body, attributes, group }: RedrivenMessage) {
  return {
    body,
    ...(Object.keys(attributes).length === 0 ? {} : { attributes: toAttributeValues(attributes) }),
    ...(group === undefined ? {} : { group }),
  };
}

function toAttributeValues(attributes: DeadLetterAttributes): Record<string, MessageAttributeValue> {
  return Object.fromEntries(
    Object.entries(attributes).map(([name, { type, ...value }]) => [
      name,
      { DataType: type, ...('text' in value ? { StringValue: value.text } : { BinaryValue: value.bytes }) },
    ]),
  );
}

const COUNTS = [
  'ApproximateNumberOfMessages',
  'ApproximateNumberOfMessagesDelayed',
  'ApproximateNumberOfMessagesNotVisible',
] as const satisfies readonly QueueAttributeName[];

/** Approximate depths of queues, under the names of `queueUrls`. */
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
