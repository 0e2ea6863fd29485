import type { RedrivenQueue } from '../../../shared/domain/work-queues.ts';
import { redriveDeadLetters } from '../../dead-letters/change.ts';
import { DEAD_LETTERS_OF, openDeadLetters } from '../../dead-letters/dead-letter-access.ts';
import type { DeadLetterFilter } from '../../dead-letters/look.ts';
import {
  asJson,
  progressText,
  sentenceOf,
  statusOf,
  outcomeOf,
  runProblem,
} from '../../dead-letters/run-text.ts';
import { withWholeIds } from '../../dead-letters/whole-ids.ts';
import { requireQueue } from '../../api/find-subscription.ts';
import type { DeploymentOptions } from '../../options/deployment-options.ts';
import { sumOf } from '../../output/words.ts';
import { printable } from '../../output/printable.ts';
import { withProgress } from '../../output/progress-line.ts';
import type { Terminal } from '../../terminal.ts';
import { filterOf } from '../deadletters/filter-options.ts';

/** `since`: milliseconds since the epoch. */
export type RedriveOptions = DeploymentOptions &
  DeadLetterFilter & {
    since?: number;
    limit?: number;
    dryRun?: true;
    toQueue?: string;
    evenUnmatched?: true;
  };

/** Redrives a queue, prints the result and returns the exit status. */
export async function runRedrive(
  which: RedrivenQueue,
  options: RedriveOptions,
  terminal: Terminal,
): Promise<number> {
  const startedAt = Date.now();
  const { since, limit, dryRun = false, toQueue, evenUnmatched, json } = options;
  const access = await openDeadLetters(options, terminal);
  if (json !== true && !dryRun) terminal.printError(`→ ${printable(access.place)}`);
  if (toQueue !== undefined) await requireQueue(await access.api(), toQueue);
  const outcome = await withProgress(terminal, async (signal, progress) => {
    progress.show(`Looking for ${DEAD_LETTERS_OF[which]} …`);
    const filter = await withWholeIds(access.portsOf(which), which, filterOf(options), signal);
    const result = await redriveDeadLetters(access, which, {
      startedAt,
      filter,
      dryRun,
      signal,
      since,
      limit,
      toQueue,
      evenUnmatched,
      onProgress: (tally) => {
        progress.show(progressText(which, tally, 'redriven'));
      },
    });
    return outcomeOf(result, filter);
  }).catch(runProblem('The redrive', 'five minutes'));
  const { handled: redriven, settled } = outcome;
  const counts = { redriven, ...(which === 'undeliverable' && { settled: sumOf(settled) }) };
  terminal.printResult({ json }, { queue: which, ...counts, ...asJson(outcome, dryRun) }, () =>
    sentenceOf(which, outcome, { done: 'redriven', deployment: access.name, dryRun }),
  );
  return statusOf(outcome);
}
