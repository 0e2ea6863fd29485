import { useState } from 'preact/hooks';
import { readBooks } from '../../../../api-client/operations.ts';
import { EMPTY_BOOKS, isBalanced, type Books, sumOfBooks } from '../../../../shared/domain/delivery/books.ts';
import { timeText } from '../../../../shared/wire/fields.ts';
import { useConsole } from '../../live/console-context.tsx';
import { useLive } from '../../live/use-live.ts';
import { Loaded } from '../../parts/loaded.tsx';
import { Empty, Notice } from '../../parts/notice.tsx';
import { Section } from '../../parts/page-heading.tsx';
import { WindowFields, windowIn } from '../../parts/windows.tsx';
import { hrefTo, type Query } from '../../route.ts';
import { PageOfQueue } from '../queue/page-of-queue.tsx';
import { FlowPicture, type FlowLinks } from './flow-picture.tsx';
import { BOOKS_MEANINGS } from '../../../../api-client/words.ts';
import { Table, type Column } from '../../parts/table.tsx';

/** Compares the messages that a queue accepted in a window with the outcomes of their deliveries. */
export function BooksPage({ queue, query }: { queue: string; query: Query }) {
  const { api } = useConsole();
  const [window, setWindow] = useState(() => windowIn(query));
  const [counted, setCounted] = useState<Books>();
  const books = useLive(`books/${queue}/${window.since}/${window.until ?? ''}`, async (signal) => {
    const times = { since: timeText(window.since), until: timeText(window.until ?? Date.now()) };
    let sum = EMPTY_BOOKS;
    for await (const page of api.pages(readBooks, { path: { queue }, query: times, signal })) {
      sum = sumOfBooks(sum, page.books);
      setCounted(sum);
    }
    setCounted(undefined);
    return sum;
  });
  const links = linksTo(queue, {
    since: timeText(window.since),
    until: window.until === undefined ? undefined : timeText(window.until),
  });
  return (
    <PageOfQueue title="Reconciliation" queue={queue} live={books}>
      <WindowFields window={window} onChange={setWindow} />
      <Section title="From accepted to delivered">
        {books.value === undefined && counted !== undefined ? (
          <p class="muted" role="status">
            {counted.accepted.toLocaleString('en')} messages counted so far
          </p>
        ) : null}
        <Loaded live={books} lines={8}>
          {(value) => <Report books={value} links={links} />}
        </Loaded>
      </Section>
    </PageOfQueue>
  );
}

function Report({ books, links }: { books: Books; links: FlowLinks }) {
  return books.accepted === 0 ? (
    <Empty title="No messages accepted in this window">
      <p>Choose another window above, or publish a message on the queue’s page.</p>
    </Empty>
  ) : (
    <div class="stack">
      <FlowPicture books={books} links={links} />
      {isBalanced(books) ? (
        <p>
          <span class="tone-delivered">Balanced:</span> every matched delivery is recorded.
        </p>
      ) : (
        <Notice tone="warning" title="Not balanced yet">
          <p>
            Deliveries that wait for their first attempt are not recorded yet. If the difference remains,
            deliveries are lost.
          </p>
        </Notice>
      )}
      <BooksTable books={books} links={links} />
    </div>
  );
}

function linksTo(queue: string, window: { since: string; until: string | undefined }): FlowLinks {
  const messages = (show?: string): string => hrefTo({ page: 'messages', queue, query: { ...window, show } });
  const deliveries = (status: string): string =>
    hrefTo({ page: 'deliveries', queue, query: { ...window, status } });
  return {
    accepted: messages(),
    matched: messages('matched'),
    unmatched: messages('unmatched'),
    filtered: messages('filtered'),
    delivered: messages('delivered'),
    pending: messages('pending'),
    rejected: deliveries('rejected'),
    exhausted: deliveries('exhausted'),
    cancelled: deliveries('cancelled'),
    missing: messages('matched'),
  };
}

const FIGURES: readonly (keyof Books)[] = [
  'accepted',
  'duplicates',
  'unmatched',
  'unfinished',
  'filtered',
  'matched',
  'delivered',
  'pending',
  'rejected',
  'exhausted',
  'cancelled',
];

/** The figures of the flow chart as a table. */
export function BooksTable({ books, links }: { books: Books; links: FlowLinks }) {
  const columns: readonly Column<keyof Books>[] = [
    {
      head: 'Figure',
      cell: (name) =>
        name === 'duplicates' || name === 'unfinished' ? name : <a href={links[name]}>{name}</a>,
    },
    { head: 'Count', numeric: true, cell: (name) => books[name].toLocaleString('en') },
    { head: 'What it counts', wide: true, cell: (name) => BOOKS_MEANINGS[name] },
  ];
  return <Table caption="Reconciliation figures" columns={columns} rows={FIGURES} keyOf={String} />;
}
