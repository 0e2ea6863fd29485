import { ApiRefusal } from '../../../api-client/refusal.ts';
import { counted } from '../../../api-client/words.ts';
import { Problem } from '../../../local/install/problem.mjs';
import { REDRIVEN_QUEUES, type RedrivenQueue } from '../../../shared/domain/work-queues.ts';
import { parseJson } from '../../../shared/wire/json-slice.ts';
import type { DeadLetterDetail, DeadLetterView } from '../../../shared/wire/views/console.ts';
import { isQueue, noSuchQueue } from '../../api/find-subscription.ts';
import { deleteDeadLetters, type DeleteRequest } from '../../dead-letters/change.ts';
import {
  DEAD_LETTERS_OF,
  type DeadLetterAccess,
  openDeadLetters,
} from '../../dead-letters/dead-letter-access.ts';
import { type DeadLetterFilter, NO_REASON, type Look, lookAtDeadLetters } from '../../dead-letters/look.ts';
import {
  asJson,
  progressText,
  sentenceOf,
  statusOf,
  hiddenFields,
  hiddenSentence,
  outcomeOf,
  type RunOutcome,
  runProblem,
} from '../../dead-letters/run-text.ts';
import type { Tally } from '../../dead-letters/run-result.ts';
import { findDeadLetter, withWholeIds } from '../../dead-letters/whole-ids.ts';
import { INTERRUPTED } from '../../interruption.ts';
import type { DeploymentOptions } from '../../options/deployment-options.ts';
import { printable, printableJson } from '../../output/printable.ts';
import { withProgress } from '../../output/progress-line.ts';
import { fieldLines, tableLines } from '../../output/list.ts';
import { clockTime, inWords } from '../../output/words.ts';
import type { Terminal } from '../../terminal.ts';
import { filterOf } from './filter-options.ts';

/** `since`: milliseconds since the epoch. */
export type ListOptions = DeploymentOptions & DeadLetterFilter & { since?: number; limit?: number };

const LIMIT = 100;

/** `posthaste deadletters list` */
export async function runList(
  which: RedrivenQueue | undefined,
  options: ListOptions,
  terminal: Terminal,
): Promise<number> {
  const access = await openDeadLetters(options, terminal);
  const { since, limit = LIMIT, json } = options;
  const queues = which === undefined ? REDRIVEN_QUEUES : [which];
  const looks = await withProgress(terminal, (signal, progress) => {
    progress.show('Looking for dead letters …');
    return Promise.all(
      queues.map(async (queue) => {
        const api = queue === 'undeliverable' ? await access.api() : undefined;
        const request = { which: queue, filter: filterOf(options), since, limit, signal, api };
        return [queue, await lookAtDeadLetters(access.portsOf(queue), request)] as const;
      }),
    );
  }).catch(runProblem('The look', 'a minute'));
  printItems(looks, json === true, terminal);
  const notes = looks.flatMap(([queue, look]) => notesOn(queue, look));
  for (const note of notes) terminal.printError(note);
  if (looks.some(([, { isInterrupted }]) => isInterrupted)) return INTERRUPTED;
  return looks.some(([, { result }]) => result.hidden > 0) ? 1 : 0;
}

type Looks = readonly (readonly [RedrivenQueue, Look])[];

function printItems(looks: Looks, json: boolean, { print, printJson }: Terminal): void {
  const items = looks.flatMap(([, look]) => look.items);
  const isEmpty = looks.every(([, { result }]) => result.total === 0);
  if (json) items.forEach(printJson);
  else if (items.length > 0) tableLines(COLUMNS, items.map(rowOf)).forEach(print);
  else print(isEmpty ? 'No dead letters.' : 'No matching dead letter is visible.');
}

/** What a list does not show. */
function notesOn(queue: RedrivenQueue, { items, result, isInterrupted, statesProblem }: Look): string[] {
  const { end, hidden, total, left } = result;
  const unseen = hiddenSentence(hiddenFields(hidden, Date.now()));
  const why = isInterrupted ? 'interrupted' : 'the look ended after 40 s';
  const notes = [
    end === 'emptied' || left === 0
      ? undefined
      : `showing ${items.length} of about ${counted(total, 'message', 'messages')}; ${end === 'limit_reached' ? 'for more, use --limit' : why}.`,
    unseen,
    statesProblem === undefined
      ? undefined
      : `what became of the deliveries could not be read: ${printable(statesProblem)}`,
  ];
  return notes.flatMap((note) => (note === undefined ? [] : [`${queue}: ${note}`]));
}

const COLUMNS = [
  { head: 'Of' },
  { head: 'Id' },
  { head: 'Age' },
  { head: 'Reason' },
  { head: 'Queue' },
  { head: 'Message' },
  { head: 'Subscription' },
  { head: 'State' },
  { head: 'Received', align: 'right' as const },
  { head: 'Excerpt' },
];

/** Enough of an id to name it to `show`, in all likelihood. */
const SHORT_ID = 8;
const SHORT_EXCERPT = 48;

function rowOf(deadLetter: DeadLetterView): string[] {
  const { which, id, sentAt, reason = NO_REASON, queue = '', messageId = '', subscriptionIds } = deadLetter;
  const { state = '', receives, excerpt } = deadLetter;
  return [
    which,
    printable(id.slice(0, SHORT_ID)),
    inWords((Date.now() - Date.parse(sentAt)) / 1000).replace(/^(\S+ \S+ \S+ \S+) .*$/, '$1'),
    printable(reason),
    printable(queue),
    printable(messageId),
    subscriptionsText(subscriptionIds),
    state.replaceAll('_', ' '),
    receives === undefined ? '' : String(receives),
    excerpt.length > SHORT_EXCERPT ? `${excerpt.slice(0, SHORT_EXCERPT - 1)}…` : excerpt,
  ];
}

/** `s1 and 9 more` */
export function subscriptionsText([first, ...others]: readonly string[]): string {
  if (first === undefined) return '';
  return printable(first) + (others.length === 0 ? '' : ` and ${others.length} more`);
}

/** `posthaste deadletters show` */
export async function runShow(
  which: RedrivenQueue,
  id: string,
  options: DeploymentOptions,
  terminal: Terminal,
): Promise<void> {
  const access = await openDeadLetters(options, terminal);
  const found = await withProgress(terminal, (signal, progress) => {
    progress.show(`Looking for ${id} …`);
    return findDeadLetter(access.portsOf(which), which, id, signal);
  }).catch(runProblem('The look', 'a minute'));
  if (options.json === true) terminal.printJson(found);
  else {
    const missing = await missingQueue(access, found);
    terminal.print(textOf(found));
    if (missing !== undefined) terminal.print(`\n${printable(missing)}`);
  }
}

/** Says that the queue of a dead letter is still missing, and which name was probably meant. Best effort. */
async function missingQueue(
  access: DeadLetterAccess,
  { reason, queue }: DeadLetterDetail,
): Promise<string | undefined> {
  if (reason !== 'unknown_queue' || queue === undefined) return undefined;
  try {
    const api = await access.api();
    return (await isQueue(api, queue)) ? undefined : (await noSuchQueue(api, queue)).message;
  } catch (error) {
    if (error instanceof ApiRefusal || error instanceof Problem) return undefined;
    throw error;
  }
}

function textOf(found: DeadLetterDetail): string {
  const { id, sentAt, receives, reason, queue, messageId, subscriptionIds, attributes, body } = found;
  const fields = fieldLines([
    ['Id', printable(id)],
    ['Sent', clockTime(sentAt)],
    ['Received', receives === undefined ? undefined : `${receives} times`],
    ['Reason', printable(reason ?? NO_REASON)],
    ['Queue', queue === undefined ? undefined : printable(queue)],
    ['Message', messageId === undefined ? undefined : printable(messageId)],
    ['Subscription', subscriptionIds.length === 0 ? undefined : subscriptionIds.map(printable).join(', ')],
    ...Object.entries(attributes).map(
      ([name, value]) => [`Attribute ${printable(name)}`, printable(value)] as const,
    ),
  ]);
  // JSON may be on several lines.
  const text = parseJson(body) === undefined ? printable(body) : printableJson(body);
  return [...fields, '', text].join('\n');
}

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
  terminal.printResult({ json }, { which, deleted: outcome.handled, ...asJson(outcome, dryRun) }, () =>
    sentenceOf(which, outcome, { done: 'deleted', deployment: access.name, dryRun }),
  );
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
  const done = chosen.dryRun === true ? 'found' : 'deleted';
  return withProgress(terminal, async (signal, progress) => {
    progress.show(`Looking for ${DEAD_LETTERS_OF[which]} …`);
    const onProgress = (tally: Tally): void => {
      progress.show(progressText(which, tally, done));
    };
    const filter = await withWholeIds(access.portsOf(which), which, given, signal);
    const request = { ...chosen, startedAt, filter, signal, onProgress };
    const deleted = await deleteDeadLetters(access, which, request);
    return { ids: deleted.ids, outcome: outcomeOf(deleted, filter) };
  }).catch(runProblem('The command', 'five minutes'));
}

/** @throws Problem where no terminal can be asked */
async function isConfirmed({ which, access, terminal }: Deletion, count: number): Promise<boolean> {
  const what = `${counted(count, 'message', 'messages')} from the ${DEAD_LETTERS_OF[which]} in ${printable(access.name)}`;
  const answer = await terminal.confirm(`Delete ${what}? They cannot be restored.`);
  if (answer === undefined)
    throw new Problem(`To delete ${what}, add --yes: there is no terminal to ask on.`);
  return answer;
}
