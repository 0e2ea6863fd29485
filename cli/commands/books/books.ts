import type { Command } from 'commander';
import { DAY_MS } from '../../../shared/domain/duration.ts';
import { TERMINAL_STATUSES } from '../../../shared/domain/vocabulary.ts';
import { EMPTY_BOOKS, isBalanced, type Books, sumOfBooks } from '../../../shared/domain/message/books.ts';
import { openApi } from '../../api/api-client.ts';
import { booksPages } from '../../api/books.ts';
import { queueOf } from '../../options/arguments.ts';
import { onDeployment, type DeploymentOptions } from '../../options/deployment-options.ts';
import { TIME_FORMS, timeOf, timeText } from '../../options/time.ts';
import { progressLine } from '../../output/progress-line.ts';
import { tableLines } from '../../output/table.ts';
import type { Terminal } from '../../terminal.ts';

type Options = DeploymentOptions & { since?: number; until?: number; deleted?: boolean };

const MORE = `
Counted from the records of each message, so it takes a while for many. They balance when every subscription that a message
matched has a delivery in one of the states. Exit status: 1 if they do not. Messages that are still being taken in may not
balance yet; with an --until a minute ago they do.
`;

/** `posthaste books` */
export function addBooks(command: Command, terminal: Terminal): void {
  command
    .argument('<queue>', 'its name', queueOf)
    .option('--since <TIME>', `of messages accepted since: ${TIME_FORMS} (default: 24 h ago)`, timeOf)
    .option('--until <TIME>', 'of messages accepted before (default: now)', timeOf)
    .option('--deleted', 'of a queue that was deleted')
    .action(async (queue: string, { until = Date.now(), deleted, ...options }: Options) => {
      const since = options.since ?? until - DAY_MS;
      if (until <= since) command.error('error: --until has to be after --since');
      const window = { since: timeText(since), until: timeText(until) };
      const api = await openApi(options, terminal);
      const progress = progressLine(terminal.stderr, () => Date.now());
      const books = await terminal
        .untilInterrupted(async (signal) => {
          let sum = EMPTY_BOOKS;
          for await (const page of booksPages(api, queue, { ...window, deleted: deleted === true }, signal)) {
            sum = sumOfBooks(sum, page);
            progress.show(`${sum.accepted} messages counted`);
          }
          return sum;
        })
        .finally(progress.clear);
      const balances = isBalanced(books);
      if (options.json === true) terminal.printJson({ queue, ...window, books, balances });
      else terminal.print(describeBooks(books, balances));
      if (!balances) terminal.exitStatus = 1;
    });
  onDeployment(command, {
    json: 'queue, since, until, books, balances',
    more: MORE,
    examples: ['books orders', 'books orders --since 2026-11-01T00:00:00Z --until 2026-12-01T00:00:00Z'],
  });
}

const MEANINGS: Record<keyof Books, string> = {
  accepted: 'messages',
  duplicates: 'copies of them that came again',
  unmatched: 'messages that no subscription matched',
  unfinished: 'messages not sent to all subscriptions yet',
  filtered: 'subscriptions whose filter kept a message out',
  matched: 'deliveries to be made, of which',
  delivered: '',
  rejected: 'the subscriber said no',
  exhausted: 'the retries ran out',
  cancelled: '',
  pending: 'not over yet',
};

function describeBooks(books: Books, balances: boolean): string {
  const names = ['accepted', 'duplicates', 'unmatched', 'unfinished', 'filtered', 'matched'] as const;
  const ends = [...TERMINAL_STATUSES, 'pending'] as const;
  const row = (name: keyof Books, indent = ''): string[] => [
    indent + name,
    String(books[name]),
    MEANINGS[name],
  ];
  const rows = [...names.map((name) => row(name)), ...ends.map((name) => row(name, '  '))];
  const columns = [{ head: '' }, { head: '', align: 'right' as const }, { head: '' }];
  return [
    ...tableLines(columns, rows).slice(1),
    balances ? 'The books balance.' : 'The books do not balance.',
  ].join('\n');
}
