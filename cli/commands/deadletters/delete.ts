import type { RedrivenQueue } from '../../../shared/domain/vocabulary.ts';
import { deleteDeadLetters } from '../../dead-letters/change.ts';
import {
  DEAD_LETTERS_OF,
  type DeadLetterAccess,
  openDeadLetters,
} from '../../dead-letters/dead-letter-access.ts';
import { asJson, progressText, sentenceOf, statusOf } from '../../dead-letters/outcome-text.ts';
import type { Tally } from '../../dead-letters/run-result.ts';
import { outcomeOf, runProblem } from '../../dead-letters/run-text.ts';
import { withWholeIds } from '../../dead-letters/whole-ids.ts';
import { checkTerminal, isConfirmed } from '../../options/confirm.ts';
import type { DeploymentOptions } from '../../options/deployment-options.ts';
import { counted } from '../../output/counted.ts';
import { printable } from '../../output/printable.ts';
import { progressLine } from '../../output/progress-line.ts';
import type { Terminal } from '../../terminal.ts';
import { type FilterOptions, filterOf } from './filter-options.ts';

/** `since`: milliseconds since the epoch. */
export type DeleteOptions = DeploymentOptions &
  FilterOptions & { since?: number; settled?: true; all?: true; dryRun?: true; yes?: true };

/** `posthaste deadletters delete` */
export async function runDelete(
  which: RedrivenQueue,
  options: DeleteOptions,
  terminal: Terminal,
): Promise<number> {
  const startedAt = Date.now();
  const { dryRun = false, yes = false, settled = false, since, json } = options;
  const asks = !dryRun && !yes;
  if (asks) checkTerminal(terminal, 'Deleting dead letters');
  const access = await openDeadLetters(options, terminal);
  if (json !== true && !dryRun) terminal.printError(`→ ${printable(access.name)}`);
  const progress = progressLine(terminal.stderr, () => Date.now());
  progress.show(`Looking for ${DEAD_LETTERS_OF[which]} …`);
  const outcome = await terminal
    .untilInterrupted(async (signal) => {
      const filter = await withWholeIds(access.portsOf(which), which, filterOf(options), signal);
      const request = {
        startedAt,
        filter,
        settled,
        signal,
        ...(since !== undefined && { since }),
        onProgress: (tally: Tally) => {
          progress.show(progressText(which, tally, asks || dryRun ? 'found' : 'deleted'));
        },
      };
      if (!asks) return outcomeOf(await deleteDeadLetters(access, which, { ...request, dryRun }), filter);
      const found = await deleteDeadLetters(access, which, { ...request, dryRun: true });
      progress.clear();
      if (found.ids.length === 0 || found.end === 'interrupted')
        return outcomeOf({ ...found, handled: 0 }, filter);
      if (!(await isConfirmed(questionOn(which, access, found.ids.length), terminal, signal)))
        return undefined;
      // Exactly the counted ones: others may have come since.
      const chosen = { startedAt, filter: { id: found.ids }, limit: found.ids.length, signal };
      const deleted = await deleteDeadLetters(access, which, { ...chosen, onProgress: request.onProgress });
      return outcomeOf(deleted, chosen.filter);
    })
    .catch(runProblem('The command', 'five minutes'))
    .finally(progress.clear);
  if (outcome === undefined) {
    terminal.printError('Nothing was deleted.');
    return 1;
  }
  if (json === true) terminal.printJson({ which, deleted: outcome.handled, ...asJson(outcome, dryRun) });
  else terminal.print(sentenceOf(which, outcome, { done: 'deleted', deployment: access.name, dryRun }));
  return statusOf(outcome);
}

function questionOn(which: RedrivenQueue, { name }: DeadLetterAccess, count: number): string {
  return `Delete ${counted(count, 'message', 'messages')} from the ${DEAD_LETTERS_OF[which]} in ${name}? They cannot be restored.`;
}
