import { Problem } from '../../../local/install/problem.mjs';
import type { RedrivenQueue } from '../../../shared/domain/work-queues.ts';
import { deleteDeadLetters, type DeleteRequest } from '../../dead-letters/change.ts';
import {
  DEAD_LETTERS_OF,
  type DeadLetterAccess,
  openDeadLetters,
} from '../../dead-letters/dead-letter-access.ts';
import { asJson, progressText, sentenceOf, statusOf } from '../../dead-letters/outcome-text.ts';
import type { DeadLetterFilter } from '../../dead-letters/filter.ts';
import type { Tally } from '../../dead-letters/run-result.ts';
import { outcomeOf, type RunOutcome, runProblem } from '../../dead-letters/run-text.ts';
import { withWholeIds } from '../../dead-letters/whole-ids.ts';
import type { DeploymentOptions } from '../../options/deployment-options.ts';
import { counted } from '../../../api-client/words.ts';
import { printable } from '../../output/printable.ts';
import { progressLine } from '../../output/progress-line.ts';
import type { Terminal } from '../../terminal.ts';
import { filterOf } from './filter-options.ts';

/** `since`: milliseconds since the epoch. */
export type DeleteOptions = DeploymentOptions &
  DeadLetterFilter & { since?: number; settled?: true; all?: true; dryRun?: true; yes?: true };

/** `posthaste deadletters delete` */
export async function runDelete(
  which: RedrivenQueue,
  options: DeleteOptions,
  terminal: Terminal,
): Promise<number> {
  const { since, settled, dryRun = false, yes, json } = options;
  const access = await openDeadLetters(options, terminal);
  if (json !== true && !dryRun) terminal.printError(`→ ${printable(access.place)}`);
  const chosen = { filter: filterOf(options), settled, since };
  const deletion = { which, access, startedAt: Date.now(), terminal };
  const outcome =
    dryRun || yes === true
      ? (await deleteNow(deletion, { ...chosen, dryRun })).outcome
      : await deleteAfterQuestion(deletion, chosen);
  if (outcome === undefined) {
    terminal.printError('Nothing was deleted.');
    return 1;
  }
  if (json === true) terminal.printJson({ which, deleted: outcome.handled, ...asJson(outcome, dryRun) });
  else terminal.print(sentenceOf(which, outcome, { done: 'deleted', deployment: access.name, dryRun }));
  return statusOf(outcome);
}

type Deletion = { which: RedrivenQueue; access: DeadLetterAccess; startedAt: number; terminal: Terminal };

type Chosen = Pick<DeleteRequest, 'settled' | 'since' | 'limit' | 'dryRun'> & { filter: DeadLetterFilter };

/** Undefined if the answer is no. */
async function deleteAfterQuestion(deletion: Deletion, chosen: Chosen): Promise<RunOutcome | undefined> {
  const { ids, outcome } = await deleteNow(deletion, { ...chosen, dryRun: true });
  if (ids.length === 0 || outcome.end === 'interrupted') return { ...outcome, handled: 0 };
  if (!(await isConfirmed(deletion, ids.length))) return undefined;
  // Exactly the counted ones: others may have come since.
  return (await deleteNow(deletion, { filter: { id: ids }, limit: ids.length })).outcome;
}

/** The ids are those of the deleted dead letters; with `dryRun` of those that would be. */
async function deleteNow(
  { which, access, startedAt, terminal }: Deletion,
  { filter: given, ...chosen }: Chosen,
): Promise<{ ids: readonly string[]; outcome: RunOutcome }> {
  const progress = progressLine(terminal.stderr, () => Date.now());
  const done = chosen.dryRun === true ? 'found' : 'deleted';
  progress.show(`Looking for ${DEAD_LETTERS_OF[which]} …`);
  const onProgress = (tally: Tally): void => {
    progress.show(progressText(which, tally, done));
  };
  return terminal
    .untilInterrupted(async (signal) => {
      const filter = await withWholeIds(access.portsOf(which), which, given, signal);
      const request = { ...chosen, startedAt, filter, signal, onProgress };
      const deleted = await deleteDeadLetters(access, which, request);
      return { ids: deleted.ids, outcome: outcomeOf(deleted, filter) };
    })
    .catch(runProblem('The command', 'five minutes'))
    .finally(progress.clear);
}

/** @throws Problem where no terminal can be asked */
async function isConfirmed({ which, access, terminal }: Deletion, count: number): Promise<boolean> {
  const what = `${counted(count, 'message', 'messages')} from the ${DEAD_LETTERS_OF[which]} in ${printable(access.name)}`;
  const answer = await terminal.confirm(`Delete ${what}? They cannot be restored.`);
  if (answer === undefined)
    throw new Problem(`To delete ${what}, add --yes: there is no terminal to ask on.`);
  return answer;
}
