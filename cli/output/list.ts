import type { Terminal } from '../terminal.ts';
import { tableLines, type Column } from './table.ts';

export type ListForm<Item> = {
  json?: true;
  columns: readonly Column[];
  /** Cells that are printable already. */
  rowOf: (item: Item) => readonly string[];
  /** Said to people where there is nothing. */
  none: string;
};

/** Rows that share their column widths: a long listing is shown as it comes. */
const ROWS_TOGETHER = 100;

/** A listing: for programs a line of JSON each, for people a table. */
export async function printList<Item>(
  { print, printJson, readerLeft }: Terminal,
  items: AsyncIterable<Item> | Iterable<Item>,
  { json, columns, rowOf, none }: ListForm<Item>,
): Promise<void> {
  let rows: (readonly string[])[] = [];
  let printed = 0;
  const flush = (): void => {
    const [head, ...lines] = tableLines(columns, rows);
    for (const line of printed === 0 && head !== undefined ? [head, ...lines] : lines) print(line);
    printed += rows.length;
    rows = [];
  };
  for await (const item of items) {
    if (readerLeft.aborted) return;
    if (json === true) printJson(item);
    else rows.push(rowOf(item));
    if (rows.length === ROWS_TOGETHER) flush();
  }
  if (json === true) return;
  if (rows.length > 0) flush();
  else if (printed === 0) print(none);
}
