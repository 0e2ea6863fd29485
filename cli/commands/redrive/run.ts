import { sqsClient } from '../../../shared/adapters/sqs/client.ts';
import { sqsDeadLetterQueue } from '../../../shared/adapters/sqs/dead-letter-queue.ts';
import { sqsWorkQueues } from '../../../shared/adapters/sqs/queues.ts';
import {
  readDeliveryDeadLetter,
  readIngressDeadLetter,
  readOperationDeadLetter,
  readUndeliverableNotice,
} from '../../../shared/wire/jobs/dead-letter.ts';
import {
  redrive,
  redriveBy,
  RedriveFailedError,
  type RedriveRequest,
  type RedriveResult,
  type RedriveTally,
} from './redrive-dead-letters.ts';
import { apiOf } from '../../api/api-access.ts';
import { apiClient } from '../../api/api-client.ts';
import { findDeployment, type Deployment, type DeploymentChoice } from '../../deployment.ts';
import { failureText } from '../../failure-text.ts';
import { Problem } from '../../../local/install/problem.mjs';
import { progressLine } from '../../output/progress-line.ts';
import type { Terminal } from '../../terminal.ts';
import type { RedrivenQueue } from '../../../shared/domain/vocabulary.ts';
import { asJson, countsOf, sentenceOf, statusOf } from './redrive-text.ts';
import { retryUndeliverable } from './undeliverable.ts';

/** `since`: milliseconds since the epoch. */
export type RedriveOptions = DeploymentChoice & { since?: number; limit?: number; json?: true };

type RunRequest = Omit<RedriveRequest, 'read'>;

const DEAD_LETTER_QUEUES = {
  ingress: { read: readIngressDeadLetter, from: 'ingressDeadLetterUrl' },
  delivery: { read: readDeliveryDeadLetter, from: 'deliveryDeadLetterUrl' },
  operation: { read: readOperationDeadLetter, from: 'operationDeadLetterUrl' },
} as const;

/** Redrives a queue, prints the result and returns the exit status. */
export async function runRedrive(
  queue: RedrivenQueue,
  { since, limit, json, ...choice }: RedriveOptions,
  terminal: Terminal,
): Promise<number> {
  const startedAt = Date.now();
  const deployment = await findDeployment(choice);
  const progress = progressLine(terminal.stderr, () => Date.now());
  const request = {
    startedAt,
    ...(since === undefined ? {} : { since }),
    ...(limit === undefined ? {} : { limit }),
    onProgress: (tally: RedriveTally) => {
      progress.show(`Redriving ${queue}: ${countsOf(tally)}`);
    },
  };
  const work = (all: RunRequest): Promise<RedriveResult> =>
    queue === 'undeliverable'
      ? reopen(deployment, all, terminal)
      : sendBack(queue, deployment, all, terminal);
  const result = await terminal
    .untilInterrupted((signal) => work({ ...request, signal }))
    .catch((failure: unknown) => {
      throw failure instanceof RedriveFailedError ? redriveProblem(failure) : failure;
    })
    .finally(progress.clear);
  terminal.print(json === true ? asJson(queue, result) : sentenceOf(queue, deployment.name, result));
  return statusOf(result);
}

function sendBack(
  queue: Exclude<RedrivenQueue, 'undeliverable'>,
  deployment: Deployment,
  request: RunRequest,
  { sleep }: Terminal,
): Promise<RedriveResult> {
  const sqs = sqsClient(deployment.client);
  const { read, from } = DEAD_LETTER_QUEUES[queue];
  const workQueues = sqsWorkQueues(
    { sqs, sleep, random: Math.random },
    {
      ingress: deployment.ingressQueueUrl,
      delivery: deployment.deliveryQueueUrl,
      retry: deployment.retryQueueUrl,
      operation: deployment.operationQueueUrl,
    },
  );
  const deadLetters = sqsDeadLetterQueue({ sqs, queueUrl: deployment[from], sleep });
  return redrive({ clock: { sleep }, deadLetters, workQueues }, { ...request, read });
}

/** Retries undeliverable deliveries by the API: only the API can reopen an ended delivery. */
async function reopen(
  deployment: Deployment,
  request: RunRequest,
  { env, sleep }: Terminal,
): Promise<RedriveResult> {
  const api = apiClient(await apiOf(deployment, env), sleep);
  const queueUrl = deployment.undeliverableQueueUrl;
  const deadLetters = sqsDeadLetterQueue({ sqs: sqsClient(deployment.client), queueUrl, sleep });
  return redriveBy(
    { clock: { sleep }, deadLetters, redriveMessages: (ended) => retryUndeliverable(api, ended) },
    { ...request, read: readUndeliverableNotice },
  );
}

function redriveProblem(failure: RedriveFailedError): Problem {
  const why = failure.causes.map(failureText).join('; ');
  return new Problem(
    `The redrive stopped after ${failure.redriven} messages: ${why}. ` +
      'Repeat the command to continue; messages it held may stay hidden for five minutes.',
    { cause: failure },
  );
}
