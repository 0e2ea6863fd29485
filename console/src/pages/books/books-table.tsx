import type { JSX } from 'preact';
import type { Books } from '../../../../shared/domain/message/books.ts';
import { Table, type Column } from '../../parts/table.tsx';
import type { FlowLinks } from './flow-picture.tsx';

type Row = { name: keyof Books; meaning: string };

const ROWS: readonly Row[] = [
  { name: 'accepted', meaning: 'messages' },
  { name: 'duplicates', meaning: 'times that one of them came again' },
  { name: 'unmatched', meaning: 'messages that no subscription was for' },
  { name: 'unfinished', meaning: 'messages that were not sent to all subscriptions yet' },
  { name: 'filtered', meaning: 'times that a subscription did not want one' },
  { name: 'matched', meaning: 'deliveries that they asked for' },
  { name: 'delivered', meaning: 'of these, which the subscriber has taken' },
  { name: 'pending', meaning: 'on record, and not at an end' },
  { name: 'rejected', meaning: 'which the subscriber has refused' },
  { name: 'exhausted', meaning: 'whose policy has run out' },
  { name: 'cancelled', meaning: 'which nobody was there for, or somebody called off' },
];

/** The same in words. */
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
  return <Table caption="The books in figures" columns={columns} rows={ROWS} keyOf={({ name }) => name} />;
}
