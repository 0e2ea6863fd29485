import type { JSX } from 'preact';
import type { Books } from '../../../../shared/domain/message/books.ts';
import { Table, type Column } from '../../parts/table.tsx';
import type { FlowLinks } from './flow-picture.tsx';

type Row = { name: keyof Books; meaning: string };

const ROWS: readonly Row[] = [
  { name: 'accepted', meaning: 'messages accepted' },
  { name: 'duplicates', meaning: 'duplicates of these messages' },
  { name: 'unmatched', meaning: 'messages that matched no subscription' },
  { name: 'unfinished', meaning: 'messages that are not dispatched to all subscriptions yet' },
  { name: 'filtered', meaning: 'times that a subscription’s filter excluded a message' },
  { name: 'matched', meaning: 'deliveries to make: one for each message and matching subscription' },
  { name: 'delivered', meaning: 'deliveries that the subscriber accepted' },
  { name: 'pending', meaning: 'recorded deliveries that are not finished' },
  { name: 'rejected', meaning: 'deliveries that the subscriber rejected' },
  { name: 'exhausted', meaning: 'deliveries that ran out of retries' },
  {
    name: 'cancelled',
    meaning: 'deliveries cancelled manually, or because the subscription was no longer active',
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
