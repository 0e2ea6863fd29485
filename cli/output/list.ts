import type { Terminal } from '../terminal.ts';
import { tableLines, type Column } from './table.ts';

export type ListForm<Item> = {
  json?: true;
  columns: readonly Column[];
  /** Called with the items of the next rows, to look up what their cells need. */
  prepare?: (items: readonly Item[]) => Promise<void>;
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
  { json, columns, prepare, rowOf, none }: ListForm<Item>,
): Promise<void> {
  let together: Item[] = [];
  let printed = 0;
  const flush = async (): Promise<void> => {
    await prepare?.(together);
    const rows = together.map(rowOf);
    const [head, ...lines] = tableLines(columns, rows);
    for (const line of printed === 0 && head !== undefined ? [head, ...lines] : lines) print(line);
    printed += rows.length;
    together = [];
  };
  for await (const item of items) {
    if (readerLeft.aborted) return;
    if (json === true) printJson(item);
    else together.push(item);
    if (together.length === ROWS_TOGETHER) await flush();
  }
  if (json === true) return;
  if (together.length > 0) await flush();
  else if (printed === 0) print(none);
}
