import { ApiRefusal } from '../../../api-client/refusal.ts';
import { counted } from '../../../api-client/words.ts';
import { Problem } from '../../../local/install/problem.mjs';
import { REDRIVEN_QUEUES, type RedrivenQueue } from '../../../shared/domain/work-queues.ts';
import { parseJson } from '../../../shared/wire/json-slice.ts';
import type { DeadLetterDetail, DeadLetterView } from '../../../shared/wire/views/console.ts';
import { isQueue, noSuchQueue } from '../../api/find-subscription.ts';
import { type ChangeRequest, deleteDeadLetters, type DeleteRequest } from '../../dead-letters/change.ts';
import {
  DEAD_LETTERS_OF,
  type DeadLetterAccess,
  openDeadLetters,
} from '../../dead-letters/dead-letter-access.ts';
import {
  type DeadLetterFilter,
  findDeadLetter,
  type Look,
  lookAtDeadLetters,
  NO_REASON,
  withWholeIds,
} from '../../dead-letters/look.ts';
import type { RunResult } from '../../dead-letters/process-dead-letters.ts';
import {
  asJson,
  chooseExitStatus,
  describeOutcome,
  hiddenFields,
  hiddenSentence,
  progressText,
  type RunOutcome,
  runProblem,
  toRunOutcome,
} from '../../dead-letters/run-text.ts';
import { INTERRUPTED } from '../../interruption.ts';
import {
  argument,
  collect,
  option,
  parseId,
  parsePastTime,
  parseQueue,
  TIME_FORMS,
  wholeNumber,
} from '../../options/arguments.ts';
import { deployed, group, type Refuse, type Result } from '../../options/deployed.ts';
import type { DeploymentOptions } from '../../options/deployment-options.ts';
import { fieldLines, tableLines, right } from '../../output/list.ts';
import { clockTime, inWords, printable, printableJson } from '../../output/text.ts';
import { withProgress } from '../../output/progress-line.ts';
import type { Terminal } from '../../terminal.ts';

/** `since`: milliseconds since the epoch. */
export type ChosenOptions = DeploymentOptions & DeadLetterFilter & { since?: number };

/** The options that choose dead letters by what they say. */
export const DEAD_LETTER_FILTER = [
  option('--queue <QUEUE>', 'only messages of this queue', parseQueue),
  option('--subscription <ID>', 'only messages for this subscription, by the beginning of its id', parseId),
  option('--reason <REASON>', 'only messages with this reason; none: SQS moved them here', parseId),
];

export const ID = option(
  '--id <ID>',
  'only this message, by its SQS message id or the beginning of it; may be repeated',
  collect(parseId),
);

export const SINCE = option(
  '--since <TIME>',
  `only messages sent since this time: ${TIME_FORMS}`,
  parsePastTime,
);

/** The filter among the options of a command. */
export function pickFilter({ queue, subscription, reason, id }: DeadLetterFilter): DeadLetterFilter {
  return { queue, subscription, reason, id };
}

/** What runs over the dead letters of a queue, and what it does to each, in a word. */
type Run = { which: RedrivenQueue; access: DeadLetterAccess; what: string; done: string };

/** Runs over the chosen dead letters with a progress line. @throws Problem if the run stops with an error */
export function runOverChosen<Result extends RunResult>(
  { which, access, what, done }: Run,
  given: DeadLetterFilter,
  terminal: Terminal,
  run: (request: Pick<ChangeRequest, 'filter' | 'signal' | 'onProgress'>) => Promise<Result>,
): Promise<Result & RunOutcome> {
  return withProgress(terminal, async (signal, progress) => {
    progress.show(`Looking for ${DEAD_LETTERS_OF[which]} …`);
    const filter = await withWholeIds(access.portsOf(which), which, given, signal);
    const result = await run({
      filter,
      signal,
      onProgress: (tally) => {
        progress.show(progressText(which, tally, done));
      },
    });
    return toRunOutcome(result, filter);
  }).catch(runProblem(what, 'five minutes'));
}

const LOOK = `
A look receives the messages, so other programs do not see them meanwhile, and
SQS counts one more receive. They are visible again at the end, after Ctrl-C and
after a failure; only a killed look hides them, for a minute.

Exit status: 0 on success, 1 on failure or if another program hid messages, 130
if interrupted.
`;

const list = deployed<ChosenOptions & { limit?: number }>({
  description: 'List dead letters and undeliverable notices, with their reasons.',
  arguments: [argument('[which]', 'which dead letters').choices(REDRIVEN_QUEUES)],
  options: [
    ...DEAD_LETTER_FILTER,
    SINCE,
    option('--limit <N>', 'maximum number of messages of each queue (default: 100)', wholeNumber(1, 10_000)),
  ],
  json: 'one dead letter per line',
  more: LOOK,
  examples: ['deadletters list', 'deadletters list ingress --reason not_json --since 2d'],
  run: async ({ options, terminal }, which: string | undefined) => {
    const access = await openDeadLetters(options, terminal);
    const { since, limit = 100 } = options;
    const looks = await withProgress(terminal, (signal, progress) => {
      progress.show('Looking for dead letters …');
      return Promise.all(
        REDRIVEN_QUEUES.filter((queue) => which === undefined || queue === which).map(async (queue) => {
          const api = queue === 'undeliverable' ? await access.api() : undefined;
          const request = { which: queue, filter: pickFilter(options), since, limit, signal, api };
          return { queue, ...(await lookAtDeadLetters(access.portsOf(queue), request)) };
        }),
      );
    }).catch(runProblem('The look', 'a minute'));
    printItems(looks, options.json === true, terminal);
    looks.flatMap(notesOn).forEach(terminal.printError);
    if (looks.some(({ result }) => result.hidden > 0)) terminal.exitStatus = 1;
    if (looks.some(({ isInterrupted }) => isInterrupted)) terminal.exitStatus = INTERRUPTED;
  },
});

function printItems(looks: readonly Look[], json: boolean, { print, printJson }: Terminal): void {
  const items = looks.flatMap((look) => look.items);
  const isEmpty = looks.every(({ result }) => result.total === 0);
  if (json) items.forEach(printJson);
  else if (items.length > 0) tableLines(COLUMNS, items.map(formatRow)).forEach(print);
  else print(isEmpty ? 'No dead letters.' : 'No matching dead letter is visible.');
}

/** What a list does not show. */
function notesOn(look: Look & { queue: RedrivenQueue }): string[] {
  const { queue, items, result, isInterrupted, statesProblem } = look;
  const { end, hidden, total, left } = result;
  const why = isInterrupted ? 'interrupted' : 'the look ended after 40 s';
  const notes = [
    end === 'emptied' || left === 0
      ? undefined
      : `showing ${items.length} of about ${counted(total, 'message', 'messages')}; ${end === 'limit_reached' ? 'for more, use --limit' : why}.`,
    hiddenSentence(hiddenFields(hidden, Date.now())),
    statesProblem && `what became of the deliveries could not be read: ${printable(statesProblem)}`,
  ];
  return notes.flatMap((note) => (note === undefined ? [] : [`${queue}: ${note}`]));
}

const COLUMNS = [
  'Of',
  'Id',
  'Age',
  'Reason',
  'Queue',
  'Message',
  'Subscription',
  'State',
  right('Received'),
  'Excerpt',
];

/** Enough of an id to name it to `show`, in all likelihood. */
const SHORT_ID = 8;
const SHORT_EXCERPT = 48;

function formatRow(deadLetter: DeadLetterView): string[] {
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
function subscriptionsText([first, ...others]: readonly string[]): string {
  if (first === undefined) return '';
  return printable(first) + (others.length === 0 ? '' : ` and ${others.length} more`);
}

const WHICH = argument('<which>', 'which dead letters').choices(REDRIVEN_QUEUES);

const show = deployed({
  description: 'Show a dead letter with its body and attributes. Credentials are redacted.',
  arguments: [WHICH, argument('<id>', 'SQS message id, or the beginning of it', parseId)],
  json: 'the dead letter',
  more: LOOK,
  examples: ['deadletters show ingress 0b8d4c4e'],
  run: async ({ options, terminal }, which: RedrivenQueue, id) => {
    const access = await openDeadLetters(options, terminal);
    const found = await withProgress(terminal, (signal, progress) => {
      progress.show(`Looking for ${id} …`);
      return findDeadLetter(access.portsOf(which), which, id, signal);
    }).catch(runProblem('The look', 'a minute'));
    const missing = options.json === true ? undefined : await missingQueue(access, found);
    const more = missing === undefined ? '' : `\n\n${printable(missing)}`;
    return [found, () => formatDetail(found) + more];
  },
});

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

function formatDetail(found: DeadLetterDetail): string {
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

type DeleteOptions = ChosenOptions & { settled?: true; all?: true; dryRun?: true; yes?: true };

const remove = deployed<DeleteOptions>({
  description: 'Delete dead letters: chosen ones, settled notices, or all of a queue.',
  arguments: [WHICH],
  options: [
    ...DEAD_LETTER_FILTER,
    ID,
    SINCE,
    option('--settled', 'only undeliverable notices that need nothing more'),
    option('--all', 'all messages of the queue'),
    option('--dry-run', 'change nothing, and say what would be deleted'),
    option('--yes', 'do not ask'),
  ],
  json: 'which, deleted, skipped, left, hidden; also hiddenUntil, missing, dryRun',
  more: `
Deleted dead letters cannot be restored. On a terminal the command asks first,
with their number; otherwise it needs --yes.

--settled deletes undeliverable notices that need nothing more: those of
deliveries that were delivered or cancelled since, or ended again, which made
a newer notice, and those of deleted subscriptions.

Exit status: 0 on success, 1 on failure, if another program hid messages or if
the answer was no, 2 for a usage error, 130 if interrupted.
`,
  examples: [
    'deadletters delete ingress --reason not_json --dry-run',
    'deadletters delete undeliverable --settled --yes',
  ],
  run: ({ options, terminal, refuse }, which: RedrivenQueue) => {
    const { id, queue, subscription, reason, since, settled, all } = options;
    const chosen = [id, queue, subscription, reason, since, settled].some((given) => given !== undefined);
    if (chosen === (all === true)) refuse(all === true ? CONFLICT : NOTHING_CHOSEN);
    if (settled === true && which !== 'undeliverable') refuse('--settled is for undeliverable notices only');
    return deleteChosen(which, options, refuse, terminal);
  },
});

/** `posthaste deadletters list`, `show` and `delete` */
export const deadLetterCommands = group({ list, show, delete: remove });

const NOTHING_CHOSEN = 'choose messages with --id, a filter or --settled, or delete all of them with --all';
const CONFLICT = '--all cannot be combined with options that choose messages';

async function deleteChosen(
  which: RedrivenQueue,
  options: DeleteOptions,
  refuse: Refuse,
  terminal: Terminal,
): Promise<Result> {
  const { since, settled, dryRun = false, yes } = options;
  const access = await openDeadLetters(options, terminal);
  if (options.json !== true && !dryRun) terminal.printError(`→ ${printable(access.place)}`);
  const startedAt = Date.now();
  const run = (filter: DeadLetterFilter, chosen: Partial<DeleteRequest>) => {
    const done = chosen.dryRun === true ? 'found' : 'deleted';
    return runOverChosen({ which, access, what: 'The command', done }, filter, terminal, (request) =>
      deleteDeadLetters(access, which, { ...request, ...chosen, startedAt }),
    );
  };
  const isAsked = !dryRun && yes !== true;
  const found = await run(pickFilter(options), { settled, since, dryRun: dryRun || isAsked });
  /** Undefined if the answer is no. */
  const deleteFound = async (): Promise<RunOutcome | undefined> => {
    const { ids, end } = found;
    if (ids.length === 0 || end === 'interrupted') return { ...found, handled: 0 };
    const what = `${counted(ids.length, 'message', 'messages')} from the ${DEAD_LETTERS_OF[which]} in ${printable(access.name)}`;
    const answer = await terminal.confirm(`Delete ${what}? They cannot be restored.`);
    if (answer === undefined) return refuse(`to delete ${what}, add --yes`);
    // Exactly the counted ones: others may have come since.
    return answer ? run({ id: ids }, { limit: ids.length }) : undefined;
  };
  const outcome = isAsked ? await deleteFound() : found;
  if (outcome === undefined) {
    terminal.printError('Nothing was deleted.');
    terminal.exitStatus = 1;
    return undefined;
  }
  terminal.exitStatus = chooseExitStatus(outcome);
  return [
    { which, deleted: outcome.handled, ...asJson(outcome, dryRun) },
    () => describeOutcome(which, outcome, { done: 'deleted', deployment: access.name, dryRun }),
  ];
}
