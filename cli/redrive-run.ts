import { sqsClient } from '../shared/adapters/aws-clients.ts';
import { sqsDeadLetterQueue } from '../shared/adapters/sqs-dead-letter-queue.ts';
import { sqsWorkQueues } from '../shared/adapters/sqs-work-queues.ts';
import { systemClock as clock } from '../shared/adapters/system-clock.ts';
import { readDeliveryLetter, readIngressLetter } from '../shared/messages/dead-letter-reading.ts';
import {
  redrive,
  RedriveFailedError,
  type RedriveEnd,
  type RedrivePorts,
  type RedriveResult,
  type RedriveTally,
} from '../shared/pipeline/redrive.ts';
import { findDeployment, type Deployment, type DeploymentChoice } from './deployment.ts';
import { failureText } from './failure-text.ts';
import { untilInterrupted } from './interruption.ts';
import { Problem } from './local/install/problem.mjs';
import { progressLine } from './progress-line.ts';

/** `since`: milliseconds since the epoch. */
export type RedriveOptions = DeploymentChoice & { since?: number; limit?: number; json?: true };

type RedrivenQueue = 'ingress' | 'delivery';

const LETTERS = { ingress: readIngressLetter, delivery: readDeliveryLetter };

/** Redrives, prints what came of it, and answers with the exit status. */
export const runRedrive = async (
  queue: RedrivenQueue,
  { since, limit, json, ...choice }: RedriveOptions,
): Promise<number> => {
  const startedAt = Date.now();
  const deployment = await findDeployment(choice);
  const progress = progressLine(process.stderr, () => Date.now());
  const order = {
    read: LETTERS[queue],
    startedAt,
    ...(since === undefined ? {} : { since }),
    ...(limit === undefined ? {} : { limit }),
    onProgress: (tally: RedriveTally) => {
      progress.show(`Redriving ${queue}: ${countsOf(tally)}`);
    },
  };
  const result = await untilInterrupted((signal) => redrive(portsOf(queue, deployment), { ...order, signal }))
    .catch((failure: unknown) => {
      throw failure instanceof RedriveFailedError ? brokenOff(failure) : failure;
    })
    .finally(progress.clear);
  console.log(json === true ? asJson(queue, result) : sentenceOf(queue, deployment, result));
  return STATUS[result.end];
};

const brokenOff = (failure: RedriveFailedError): Problem => {
  const why = failure.causes.map(failureText).join('; ');
  return new Problem(
    `The redrive broke off after ${failure.redriven} messages: ${why}. ` +
      'Repeat it to go on; what it was looking at may take five minutes to show up again.',
    { cause: failure },
  );
};

const STATUS: Record<RedriveEnd, number> = { emptied: 0, limit_reached: 0, interrupted: 130, crowded: 1 };

const portsOf = (queue: RedrivenQueue, deployment: Deployment): RedrivePorts => {
  const sqs = sqsClient(deployment.client);
  const sleep = (milliseconds: number): Promise<void> => clock.sleep(milliseconds);
  const queueUrl = queue === 'ingress' ? deployment.ingressDeadLetterUrl : deployment.deliveryDeadLetterUrl;
  return {
    clock,
    deadLetters: sqsDeadLetterQueue({ sqs, queueUrl, sleep }),
    workQueues: sqsWorkQueues(
      { sqs, sleep, random: Math.random },
      {
        ingress: deployment.ingressQueueUrl,
        delivery: deployment.deliveryQueueUrl,
        retry: deployment.retryQueueUrl,
      },
    ),
  };
};

const skippedIn = (skipped: RedriveTally['skipped']): number =>
  Object.values(skipped).reduce((sum, count) => sum + count, 0);

const asJson = (queue: RedrivenQueue, { redriven, skipped, left }: RedriveResult): string =>
  JSON.stringify({ queue, redriven, skipped: skippedIn(skipped), left });

const countsOf = ({ redriven, skipped, left }: RedriveTally): string =>
  `${redriven} redriven, ${skippedIn(skipped)} skipped, ${left} left`;

const BEFORE: Record<RedriveEnd, string> = {
  emptied: '',
  limit_reached: '',
  interrupted: 'Interrupted. ',
  crowded: 'Stopped, because so many messages are left that SQS would not show those behind them. ',
};

/** Only of a queue that was emptied is it known how many are left. */
const sentenceOf = (queue: RedrivenQueue, { name }: Deployment, { end, ...tally }: RedriveResult): string => {
  const { redriven, skipped, left } = tally;
  const reasons = Object.entries(skipped).map(([reason, count]) => `${reason} ${count}`);
  const counts = [
    `${redriven} redriven`,
    `${skippedIn(skipped)} skipped${reasons.length === 0 ? '' : ` (${reasons.join(', ')})`}`,
    `${end === 'emptied' ? '' : 'about '}${left} left`,
  ];
  return `${BEFORE[end]}Dead letters of the ${queue} queue, ${name}: ${counts.join(', ')}.`;
};
