import { setTimeout as pause } from 'node:timers/promises';
import { sqsDeadLetterQueue } from '../../shared/adapters/sqs/dead-letter-queue.ts';
import { sqsWorkQueues } from '../../shared/adapters/sqs/queues.ts';
import {
  readDeliveryDeadLetter,
  readIngressDeadLetter,
  readOperationDeadLetter,
} from '../../shared/wire/jobs/dead-letter.ts';
import { sendBack } from '../../cli/dead-letters/change.ts';
import { processDeadLetters } from '../../cli/dead-letters/process-dead-letters.ts';
import { messagesOn, type System } from './deployed-system.ts';

const sleep = (milliseconds: number): Promise<void> => pause(milliseconds);

/** Redrives all dead letters as an operator would. Returns how many there were. */
export const redriveAll = async (system: System, signal: AbortSignal): Promise<number> => {
  const { endpoints, sqs } = system;
  const urls = {
    ingress: endpoints.ingressQueueUrl,
    delivery: endpoints.deliveryQueueUrl,
    retry: endpoints.retryQueueUrl,
    operation: endpoints.operationQueueUrl,
  };
  const sources = [
    { queueUrl: endpoints.ingressDeadLetterUrl, read: readIngressDeadLetter },
    { queueUrl: endpoints.deliveryDeadLetterUrl, read: readDeliveryDeadLetter },
    { queueUrl: endpoints.operationDeadLetterUrl, read: readOperationDeadLetter },
  ];
  let redriven = 0;
  for (const { queueUrl, read } of sources) {
    if ((await messagesOn(system, queueUrl)) === 0) continue;
    const result = await processDeadLetters(
      { clock: { sleep }, deadLetters: sqsDeadLetterQueue({ sqs, queueUrl, sleep }) },
      {
        read,
        handle: sendBack(sqsWorkQueues({ sqs, sleep, random: Math.random }, urls)),
        startedAt: Date.now(),
        signal,
        onProgress: () => undefined,
      },
    );
    redriven += result.handled;
  }
  return redriven;
};
