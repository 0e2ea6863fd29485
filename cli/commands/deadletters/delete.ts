import { Problem } from '../../../local/install/problem.mjs';
import type { RedrivenQueue } from '../../../shared/domain/vocabulary.ts';
import { deleteDeadLetters, type DeleteRequest } from '../../dead-letters/change.ts';
import {
  DEAD_LETTERS_OF,
  type DeadLetterAccess,
  openDeadLetters,
} from '../../dead-letters/dead-letter-access.ts';
import { asJson, progressText, sentenceOf, statusOf } from '../../dead-letters/outcome-text.ts';
import type { DeadLetterFilter } from '../../dead-letters/filter.ts';
import { outcomeOf, type RunOutcome, runProblem } from '../../dead-letters/run-text.ts';
import { withWholeIds } from '../../dead-letters/whole-ids.ts';
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
  const access = await openDeadLetters(options, terminal);
  if (json !== true && !dryRun) terminal.printError(`→ ${printable(access.place)}`);
  const run = (
    given: DeadLetterFilter,
    request: Pick<DeleteRequest, 'dryRun' | 'settled' | 'limit'>,
  ): Promise<Deleted> => {
    const progress = progressLine(terminal.stderr, () => Date.now());
    progress.show(`Looking for ${DEAD_LETTERS_OF[which]} …`);
    const work = async (signal: AbortSignal): Promise<Deleted> => {
      const filter = await withWholeIds(access.portsOf(which), which, given, signal);
      const deleted = await deleteDeadLetters(access, which, {
        ...request,
        startedAt,
        filter,
        signal,
        ...(since !== undefined && { since }),
        onProgress: (tally) => {
          progress.show(progressText(which, tally, request.dryRun === true ? 'found' : 'deleted'));
        },
      });
      return { ids: deleted.ids, outcome: outcomeOf(deleted, filter) };
    };
    return terminal
      .untilInterrupted(work)
      .catch(runProblem('The command', 'five minutes'))
      .finally(progress.clear);
  };

  let { ids, outcome } = await run(filterOf(options), { dryRun: dryRun || asks, settled });
  if (asks && ids.length > 0 && outcome.end !== 'interrupted') {
    if (!(await isConfirmed(which, access, ids.length, terminal))) {
      terminal.printError('Nothing was deleted.');
      return 1;
    }
    // Exactly the counted ones: others may have come since.
    ({ outcome } = await run({ id: ids }, { limit: ids.length }));
  } else if (asks) outcome = { ...outcome, handled: 0 };
  if (json === true) terminal.printJson({ which, deleted: outcome.handled, ...asJson(outcome, dryRun) });
  else terminal.print(sentenceOf(which, outcome, { done: 'deleted', deployment: access.name, dryRun }));
  return statusOf(outcome);
}

type Deleted = { ids: readonly string[]; outcome: RunOutcome };

/** @throws Problem where no terminal can be asked */
async function isConfirmed(
  which: RedrivenQueue,
  { name }: DeadLetterAccess,
  count: number,
  { ask }: Terminal,
): Promise<boolean> {
  const what = `${counted(count, 'message', 'messages')} from the ${DEAD_LETTERS_OF[which]} in ${printable(name)}`;
  const answer = await ask(`Delete ${what}? They cannot be restored. [y/N] `);
  if (answer === undefined)
    throw new Problem(`To delete ${what}, add --yes: there is no terminal to ask on.`);
  return /^y(?:es)?$/i.test(answer.trim());
}
