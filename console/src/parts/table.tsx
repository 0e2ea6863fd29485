import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import { PAGE_SIZE } from '../api/listed.ts';
import { Button } from './form.tsx';

export type Column<Row> = {
  head: string;
  cell: (row: Row) => ComponentChildren;
  /** Aligned to the right. */
  numeric?: boolean;
  /** Takes the remaining width. */
  wide?: boolean;
};

type TableProps<Row> = {
  caption: string;
  columns: readonly Column<Row>[];
  rows: readonly Row[];
  keyOf: (row: Row) => string;
  rowClass?: (row: Row) => string | undefined;
  /** In place of a table without rows. @default its head */
  empty?: ComponentChildren;
};

/**
 * A table; on a narrow screen a list of cards, each cell with the head of its column. The roles are explicit because
 * CSS that changes the display of a table removes them for screen readers.
 */
export function Table<Row>({ caption, columns, rows, keyOf, rowClass, empty }: TableProps<Row>) {
  if (rows.length === 0 && empty !== undefined) return empty;
  return (
    <table class="table" role="table">
      <caption class="unseen">{caption}</caption>
      <thead role="rowgroup">
        <tr role="row">
          {columns.map((column) => (
            <th key={column.head} role="columnheader" scope="col" class={cellClass(column)}>
              {column.head}
            </th>
          ))}
        </tr>
      </thead>
      <tbody role="rowgroup">
        {rows.map((row) => (
          <tr key={keyOf(row)} role="row" class={rowClass?.(row)}>
            {columns.map((column) => (
              <td key={column.head} role="cell" class={cellClass(column)} data-head={column.head}>
                <div class="cell">{column.cell(row)}</div>
              </td>
            ))}
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function cellClass<Row>({ numeric, wide }: Column<Row>): string {
  return [numeric === true ? 'numeric' : '', wide === true ? 'wide' : ''].join(' ').trim();
}

/** How many items of a list to show: a page, and one more with each click on `LoadMore`. */
export function useMost(): { most: number; showMore: () => void } {
  const [most, setMost] = useState(PAGE_SIZE);
  return { most, showMore: () => setMost(most + PAGE_SIZE) };
}

/** A button below a list that has more items. */
export function LoadMore({ what, more, onMore }: { what: string; more: boolean; onMore: () => void }) {
  return more ? (
    <p class="load-more">
      <Button onClick={onMore}>Show more {what}</Button>
    </p>
  ) : null;
}
