import type { JSX } from 'preact';
import type { Books } from '../../../../shared/domain/message/books.ts';
import { Table, type Column } from '../../parts/table.tsx';
import type { FlowLinks } from './flow-picture.tsx';

type Row = { name: keyof Books; meaning: string };

const ROWS: readonly Row[] = [
  { name: 'accepted', meaning: 'messages accepted' },
  { name: 'duplicates', meaning: 'copies of these messages, dropped' },
  { name: 'unmatched', meaning: 'messages that matched no subscription' },
  { name: 'unfinished', meaning: 'messages not sent to all subscriptions yet' },
  { name: 'filtered', meaning: 'deliveries that a filter prevented' },
  { name: 'matched', meaning: 'deliveries to make, one per message and matching subscription' },
  { name: 'delivered', meaning: 'accepted by the subscriber' },
  { name: 'pending', meaning: 'recorded and not ended yet' },
  { name: 'rejected', meaning: 'refused by the subscriber, and not retried' },
  { name: 'exhausted', meaning: 'failed after all retries' },
  {
    name: 'cancelled',
    meaning: 'cancelled manually, or because they could not be sent any more',
  },
];

/** The figures of the flow chart as a table. */
export function BooksTable({ books, links }: { books: Books; links: FlowLinks }): JSX.Element {
  const columns: readonly Column<Row>[] = [
    {
      head: 'Figure',
      cell: ({ name }) =>
        name === 'duplicates' || name === 'unfinished' ? name : <a href={links[name]}>{name}</a>,
    },
    { head: 'Count', numeric: true, cell: ({ name }) => books[name].toLocaleString('en') },
    { head: 'What it counts', wide: true, cell: ({ meaning }) => meaning },
  ];
  return <Table caption="Reconciliation figures" columns={columns} rows={ROWS} keyOf={({ name }) => name} />;
}
