import { type RedrivenQueue, REDRIVEN_QUEUES } from '../../../shared/domain/work-queues.ts';
import type { DeadLetterView } from '../../../shared/wire/views/console.ts';
import { openDeadLetters } from '../../dead-letters/dead-letter-access.ts';
import { type DeadLetterFilter, NO_REASON } from '../../dead-letters/filter.ts';
import { type Look, lookAtDeadLetters } from '../../dead-letters/look.ts';
import { hiddenFields, hiddenSentence, runProblem } from '../../dead-letters/run-text.ts';
import { INTERRUPTED } from '../../interruption.ts';
import type { DeploymentOptions } from '../../options/deployment-options.ts';
import { counted } from '../../../api-client/words.ts';
import { printable } from '../../output/printable.ts';
import { progressLine } from '../../output/progress-line.ts';
import { tableLines } from '../../output/table.ts';
import { inWords } from '../../output/time-text.ts';
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
  const progress = progressLine(terminal.stderr, () => Date.now());
  progress.show('Looking for dead letters …');
  const looks = await terminal
    .untilInterrupted((signal) =>
      Promise.all(
        queues.map(async (queue) => {
          const api = queue === 'undeliverable' ? await access.api() : undefined;
          const request = { which: queue, filter: filterOf(options), since, limit, signal, api };
          return [queue, await lookAtDeadLetters(access.portsOf(queue), request)] as const;
        }),
      ),
    )
    .catch(runProblem('The look', 'a minute'))
    .finally(progress.clear);
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
