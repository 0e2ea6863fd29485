import type { JSX } from 'preact';
import { BOOKS_MEANINGS } from '../../../../api-client/words.ts';
import type { Books } from '../../../../shared/domain/delivery/books.ts';
import { Table, type Column } from '../../parts/table.tsx';
import type { FlowLinks } from './flow-picture.tsx';

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
export function BooksTable({ books, links }: { books: Books; links: FlowLinks }): JSX.Element {
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
