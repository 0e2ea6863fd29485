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
  /** How many items there are in all, asked if `--limit` cuts the list short. */
  total?: () => Promise<number | undefined>;
};

/** Column widths are computed for this many rows, so that a long listing appears while it loads. */
const ROWS_TOGETHER = 100;

/** Prints a listing as a table, or with `json` as one JSON line per item. */
export async function printList<Item>(
  terminal: Terminal,
  items: AsyncGenerator<Item, boolean>,
  form: ListForm<Item>,
): Promise<void> {
  if (form.json === true) await printLines(terminal, items);
  else await printTable(terminal, items, form);
}

async function printLines(
  { printJson, readerLeft }: Terminal,
  items: AsyncGenerator<unknown, boolean>,
): Promise<void> {
  for await (const item of items) {
    if (readerLeft.aborted) return;
    printJson(item);
  }
}

async function printTable<Item>(
  { print, printError, readerLeft }: Terminal,
  items: AsyncGenerator<Item, boolean>,
  { columns, prepare, rowOf, none, total }: ListForm<Item>,
): Promise<void> {
  let printed = 0;
  for (;;) {
    const { together, end } = await nextRows(items);
    await prepare?.(together);
    if (readerLeft.aborted) return;
    const [head, ...lines] = tableLines(columns, together.map(rowOf));
    if (printed === 0 && head !== undefined && together.length > 0) print(head);
    lines.forEach(print);
    printed += together.length;
    if (end === undefined) continue;
    if (printed === 0) print(none);
    if (end.isCut)
      printError(
        `${printed} of ${(await total?.()) ?? `more than ${printed}`} shown: raise --limit for more.`,
      );
    return;
  }
}

/** `end`: set after the last item. `isCut`: the listing ended at its limit, with more to come. */
async function nextRows<Item>(
  items: AsyncGenerator<Item, boolean>,
): Promise<{ together: Item[]; end?: { isCut: boolean } }> {
  const together: Item[] = [];
  while (together.length < ROWS_TOGETHER) {
    const next = await items.next();
    if (next.done === true) return { together, end: { isCut: next.value } };
    together.push(next.value);
  }
  return { together };
}
