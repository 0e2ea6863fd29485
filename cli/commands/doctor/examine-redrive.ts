import { REDRIVEN_QUEUES } from '../../../shared/domain/vocabulary.ts';
import { openDeadLetters } from '../../dead-letters/dead-letter-access.ts';
import type { DeploymentChoice } from '../../deployment.ts';
import { failureText } from '../../failure-text.ts';
import type { Terminal } from '../../terminal.ts';
import type { Finding } from './health-findings.ts';

/** Checks whether the caller may read the queues that redrive uses. */
export async function examineRedrive(
  choice: DeploymentChoice,
  terminal: Pick<Terminal, 'env' | 'sleep'>,
): Promise<Finding> {
  const check = 'access for redrive';
  try {
    const { portsOf } = await openDeadLetters(choice, terminal);
    for (const which of REDRIVEN_QUEUES) await portsOf(which).deadLetters.counts();
    return { check, ok: true, detail: 'the dead-letter queues can be read' };
  } catch (error) {
    const advice =
      'Grant the SQS permissions that docs/operations.md, "Redrive", lists for posthaste redrive.';
    return { check, ok: false, detail: failureText(error), advice };
  }
}
