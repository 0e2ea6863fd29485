import { REDRIVEN_QUEUES } from '../../../shared/domain/work-queues.ts';
import type { ApiClient } from '../../../api-client/api-client.ts';
import type { Health } from '../../../api-client/operations.ts';
import { HEALTH_NAMES } from '../../../api-client/words.ts';
import { openDeadLetters } from '../../dead-letters/dead-letter-access.ts';
import { NO_REASON, lookAtDeadLetters } from '../../dead-letters/look.ts';
import { isSettled } from '../../dead-letters/undeliverable.ts';
import type { DeploymentChoice } from '../../deployment.ts';
import { failureText } from '../../failure-report.ts';
import type { Terminal } from '../../terminal.ts';
import type { Finding, Reasons } from './health-findings.ts';

/** Messages of each queue. */
const LIMIT = 200;

/** Counts the reasons of the queues that hold something. Best effort: without permission the counts have to do. */
export async function lookAtReasons(
  choice: DeploymentChoice,
  { api, queues = {} }: Pick<Health, 'queues'> & { api: ApiClient },
  terminal: Pick<Terminal, 'env' | 'sleep'>,
  signal: AbortSignal,
): Promise<Reasons> {
  const filled = REDRIVEN_QUEUES.filter((which) => (queues[HEALTH_NAMES[which]] ?? 0) > 0);
  if (filled.length === 0) return {};
  try {
    const { portsOf } = await openDeadLetters(choice, terminal);
    const found = filled.map(async (which) => {
      const { items, result } = await lookAtDeadLetters(portsOf(which), { which, limit: LIMIT, signal, api });
      const states = items.flatMap(({ state }) => (state === undefined ? [] : [state]));
      const counts = {
        read: items.length,
        isComplete: result.end === 'emptied' || result.left === 0,
        reasons: countsOf(items.map(({ reason = NO_REASON }) => reason)),
        ...(states.length > 0 && { settled: states.filter(isSettled).length }),
      };
      return [which, counts] as const;
    });
    return Object.fromEntries(await Promise.all(found));
  } catch (error) {
    if (signal.aborted) throw error;
    return {};
  }
}

function countsOf(reasons: readonly string[]): Record<string, number> {
  return Object.fromEntries(
    [...Map.groupBy(reasons, (reason) => reason)].map(([reason, { length }]) => [reason, length]),
  );
}

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
