import type { ComponentChildren, JSX } from 'preact';

export type Column<Row> = {
  head: string;
  cell: (row: Row) => ComponentChildren;
  /** Numbers stand to the right. */
  numeric?: boolean;
  /** Takes what room is left. */
  wide?: boolean;
};

/**
 * A table; on a narrow screen a list, each cell with the head of its column. The roles are said, because a table that is
 * laid out otherwise is none any more to a screen reader.
 */
export function Table<Row>({
  caption,
  columns,
  rows,
  keyOf,
  rowClass,
}: {
  caption: string;
  columns: readonly Column<Row>[];
  rows: readonly Row[];
  keyOf: (row: Row) => string;
  rowClass?: (row: Row) => string | undefined;
}): JSX.Element {
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
