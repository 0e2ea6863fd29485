import { readBooks } from '../../../api-client/operations.ts';
import { DAY_MS } from '../../../shared/domain/duration.ts';
import { TERMINAL_STATUSES } from '../../../shared/domain/delivery/vocabulary.ts';
import { EMPTY_BOOKS, isBalanced, type Books, sumOfBooks } from '../../../shared/domain/delivery/books.ts';
import { timeText } from '../../../shared/wire/fields.ts';
import { BOOKS_MEANINGS } from '../../../api-client/words.ts';
import { resolveSubscription } from '../../api/find-subscription.ts';
import { openApi } from '../../api/api-access.ts';
import {
  option,
  parseSince,
  parseSubscription,
  parseTime,
  QUEUE,
  SUBSCRIPTION,
  TIME_FORMS,
} from '../../options/arguments.ts';
import { deployed } from '../../options/deployed.ts';
import { progressBar, withProgress } from '../../output/progress-line.ts';
import { tableLines, right } from '../../output/list.ts';
import { grouped } from '../../output/text.ts';

type Options = { since?: number; until?: number; subscription?: string; deleted?: true };

/** `posthaste books` */
export const books = deployed<Options>({
  arguments: [QUEUE],
  options: [
    option(
      '--since <TIME>',
      `count messages accepted since this time: ${TIME_FORMS} (default: 24 h before --until)`,
      parseSince,
    ),
    option('--until <TIME>', 'count messages accepted before this time (default: now)', parseTime),
    option(
      '--subscription <ID>',
      `count only the deliveries to this one: ${SUBSCRIPTION}`,
      parseSubscription,
    ),
    option('--deleted', 'report on a deleted queue or subscription'),
  ],
  json: 'queue, since, until, subscription, books, balances',
  more: `
The report reads the records of every message, so many messages take a while.
It balances when each subscription that a message matched has one recorded
delivery. Messages accepted in the last seconds may still be in progress: leave
them out with --until 1m.

With --subscription, matched are the messages with a delivery to it, unmatched
those without, and filtered those of them that its options excluded. A message
is unfinished while a delivery to it may be missing.

Exit status: 0 if the report balances, otherwise 1.
`,
  examples: [
    'books orders',
    'books orders --subscription billing',
    'books orders --since 2026-11-01T00:00:00Z --until 2026-12-01T00:00:00Z',
  ],
  run: async ({ options, terminal, refuse }, queue) => {
    const { until = Date.now(), since = until - DAY_MS, deleted, subscription: given } = options;
    if (until <= since) refuse('--until must be after --since');
    const api = await openApi(options, terminal);
    const subscription = given && (await resolveSubscription(api, queue, given));
    const window = {
      since: timeText(since),
      until: timeText(until),
      ...(subscription && { subscription }),
    };
    const books = await withProgress(terminal, async (signal, progress) => {
      let sum = EMPTY_BOOKS;
      const query = { ...window, deleted };
      for await (const page of api.pages(readBooks, { path: { queue }, query, signal })) {
        sum = sumOfBooks(sum, page.books);
        progress.show(runningTotals(sum, page, { since, until }));
      }
      return sum;
    });
    const balances = isBalanced(books);
    if (!balances) terminal.exitStatus = 1;
    return [{ queue, ...window, books, balances }, () => describeBooks(books, balances)];
  },
});

const ENDS = [...TERMINAL_STATUSES, 'pending'] as const;

/** How much of the window is counted, and the counts so far that are not zero. */
function runningTotals(
  books: Books,
  { countedUntil }: { countedUntil?: string },
  { since, until }: { since: number; until: number },
): string {
  const part = countedUntil === undefined ? undefined : (Date.parse(countedUntil) - since) / (until - since);
  const counts = ENDS.filter((name) => books[name] > 0).map((name) => `${grouped(books[name])} ${name}`);
  const bar = part === undefined ? '' : `${progressBar(part)}  `;
  return bar + [`${grouped(books.accepted)} messages counted`, ...counts].join(', ');
}

function describeBooks(books: Books, balances: boolean): string {
  const names = ['accepted', 'duplicates', 'unmatched', 'unfinished', 'filtered', 'matched'] as const;
  const row = (name: keyof Books, indent = ''): string[] => [
    indent + name,
    String(books[name]),
    `${BOOKS_MEANINGS[name]}${name === 'matched' ? ':' : ''}`,
  ];
  const rows = [...names.map((name) => row(name)), ...ENDS.map((name) => row(name, '  '))];
  const columns = ['', right(''), ''];
  return [
    ...tableLines(columns, rows).slice(1),
    balances
      ? 'The report balances.'
      : 'The report does not balance. If messages were accepted just now, try again with --until 1m. ' +
        'If the difference remains, deliveries are lost.',
  ].join('\n');
}
