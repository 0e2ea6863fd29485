import { sqsClient } from '../../../shared/adapters/sqs/client.ts';
import { sqsDeadLetterQueue } from '../../../shared/adapters/sqs/dead-letter-queue.ts';
import { findDeployment, type DeploymentChoice } from '../../deployment.ts';
import { failureText } from '../../failure-text.ts';
import type { Sleep } from '../../terminal.ts';
import type { Finding } from './health-findings.ts';

/** Checks whether the caller may read the queues that redrive uses. */
export async function examineRedrive(choice: DeploymentChoice, sleep: Sleep): Promise<Finding> {
  const check = 'access for redrive';
  try {
    const { client, ...deployment } = await findDeployment(choice);
    const sqs = sqsClient(client);
    const queueUrls = [
      deployment.ingressDeadLetterUrl,
      deployment.deliveryDeadLetterUrl,
      deployment.operationDeadLetterUrl,
      deployment.undeliverableQueueUrl,
    ];
    for (const queueUrl of queueUrls) {
      await sqsDeadLetterQueue({ sqs, queueUrl, sleep }).count();
    }
    return { check, ok: true, detail: 'the dead-letter queues can be read' };
  } catch (error) {
    const advice =
      'Grant the SQS permissions that docs/operations.md, "Redrive", lists for posthaste redrive.';
    return { check, ok: false, detail: failureText(error), advice };
  }
}
