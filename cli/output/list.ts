import type { Terminal } from '../terminal.ts';
import { tableLines, type Column } from './table.ts';

export type ListForm<Item> = {
  json?: true;
  columns: readonly Column[];
  /** Cells must already be printable. */
  rowOf: (item: Item) => readonly string[];
  /** Printed in place of an empty table. */
  none: string;
};

/** Column widths are computed for this many rows, so that a long listing appears while it loads. */
const ROWS_TOGETHER = 100;

/** Prints a listing as a table, or with `json` as one JSON line per item. */
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
