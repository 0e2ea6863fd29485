import type { RedrivenQueue } from '../../shared/domain/work-queues.ts';
import type { WorkQueues } from '../../shared/ports/queues.ts';
import { Problem } from '../../local/install/problem.mjs';
import type { ApiClient } from '../../api-client/api-client.ts';
import { resolveApi, queuesBelongTo, apiClient } from '../api/api-access.ts';
import { findDeployment, type Deployment, type DeploymentChoice } from '../deployment.ts';
import type { Terminal } from '../terminal.ts';
import type { DeadLetterPorts } from './process-dead-letters.ts';

/** The dead-letter queues of a deployment, and what a redrive needs besides. */
export type DeadLetterAccess = {
  /** Display name of the deployment. */
  name: string;
  /** The name with account and region, where these are known. */
  place: string;
  portsOf: (which: RedrivenQueue) => DeadLetterPorts;
  workQueues: WorkQueues;
  /** The API, which only undeliverable notices need. */
  api: () => Promise<ApiClient>;
};

const URLS = {
  ingress: 'ingressDeadLetterUrl',
  delivery: 'deliveryDeadLetterUrl',
  operation: 'operationDeadLetterUrl',
  undeliverable: 'undeliverableQueueUrl',
} as const satisfies Record<RedrivenQueue, keyof Deployment>;

/** What a dead letter of the queue is, in the plural. */
export const DEAD_LETTERS_OF: Record<RedrivenQueue, string> = {
  ingress: 'dead letters of the ingress queue',
  delivery: 'dead letters of the delivery queue',
  operation: 'dead letters of the operation queue',
  undeliverable: 'notices of undeliverable deliveries',
};

/** The queues that would be found may not belong to the API. */
export class DeploymentNotNamed extends Problem {}

/** @throws Problem with advice when there is no deployment, or its API may be another than that of the environment */
export async function openDeadLetters(
  choice: DeploymentChoice,
  { env, sleep }: Pick<Terminal, 'env' | 'sleep'>,
): Promise<DeadLetterAccess> {
  if (!queuesBelongTo(choice, env))
    throw new DeploymentNotNamed(
      'POSTHASTE_API_URL gives the API, but not the SQS queues: name the deployment by --deployment.',
    );
  const deployment = await findDeployment(choice);
  // Loaded only here: the SDK would slow down every command that may look at dead letters.
  const { sqsClient } = await import('../../shared/adapters/sqs/client.ts');
  const { sqsDeadLetterQueue } = await import('../../shared/adapters/sqs/dead-letter-queue.ts');
  const { sqsWorkQueues } = await import('../../shared/adapters/sqs/queues.ts');
  const sqs = sqsClient(deployment.client);
  const urls = {
    ingress: deployment.ingressQueueUrl,
    delivery: deployment.deliveryQueueUrl,
    retry: deployment.retryQueueUrl,
    operation: deployment.operationQueueUrl,
  };
  return {
    name: deployment.name,
    place: deployment.place ?? deployment.name,
    portsOf: (which) => ({
      deadLetters: sqsDeadLetterQueue({ sqs, queueUrl: deployment[URLS[which]], sleep }),
      clock: { sleep },
    }),
    workQueues: sqsWorkQueues({ sqs, sleep, random: Math.random }, urls),
    api: async () => apiClient(await resolveApi(deployment, env), sleep),
  };
}
