import stringWidth from 'string-width';
import type { Terminal } from '../terminal.ts';

type AlignedColumn = { head: string; align?: 'right' };

export type Column = string | AlignedColumn;

export function right(head: string): AlignedColumn {
  return { head, align: 'right' };
}

/** Lines of a table without borders. Cells are printed unchanged: untrusted text must already be printable. */
export function tableLines(columns: readonly Column[], rows: readonly (readonly string[])[]): string[] {
  const all = columns.map((one): AlignedColumn => (typeof one === 'string' ? { head: one } : one));
  const lines = [all.map(({ head }) => head), ...rows];
  const widths = all.map((_, index) => Math.max(...lines.map((cells) => stringWidth(cells[index] ?? ''))));
  return lines.map((cells) =>
    all
      .map(({ align }, index) => {
        const cell = cells[index] ?? '';
        const room = ' '.repeat((widths[index] ?? 0) - stringWidth(cell));
        return align === 'right' ? room + cell : cell + room;
      })
      .join('  ')
      .trimEnd(),
  );
}

/** One line per field, aligned. Fields without a value are omitted. */
export function fieldLines(
  fields: readonly (readonly [name: string, value: string | undefined])[],
): string[] {
  const given = fields.flatMap(([name, value]) => (value === undefined ? [] : [[name, value] as const]));
  const width = Math.max(0, ...given.map(([name]) => name.length));
  return given.map(([name, value]) => `${name.padEnd(width)}  ${value}`);
}

type ListForm<Item> = {
  json?: true;
  columns: readonly Column[];
  /** Printed above a table that is not empty. Called once its first rows are there. */
  title?: () => string;
  /** Called with the items of the next rows, to look up what their cells need. */
  prepare?: (items: readonly Item[]) => Promise<void>;
  /** Cells must already be printable. */
  formatRow: (item: Item) => readonly string[];
  /** Printed in place of an empty table. Called after the listing has ended. */
  none: () => string;
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
  if (form.json !== true) return printTable(terminal, items, form);
  for await (const item of items) {
    if (terminal.readerLeft.aborted) return;
    terminal.printJson(item);
  }
}

async function printTable<Item>(
  terminal: Terminal,
  items: AsyncGenerator<Item, boolean>,
  form: ListForm<Item>,
): Promise<void> {
  let printed = 0;
  for (let end: End | undefined; end === undefined;) {
    const next = await nextRows(items);
    ({ end } = next);
    const [head = '', ...lines] = await formatRows(next.together, form);
    if (terminal.readerLeft.aborted) return;
    if (printed === 0) terminal.print(lines.length === 0 ? form.none() : withTitle(head, form));
    lines.forEach(terminal.print);
    printed += lines.length;
    if (end?.isCut === true) terminal.printError(await cutText(printed, form));
  }
}

function withTitle<Item>(head: string, { title }: ListForm<Item>): string {
  return title === undefined ? head : `${title()}\n${head}`;
}

async function formatRows<Item>(
  items: readonly Item[],
  { columns, prepare, formatRow }: ListForm<Item>,
): Promise<string[]> {
  if (items.length > 0) await prepare?.(items);
  return tableLines(columns, items.map(formatRow));
}

async function cutText<Item>(printed: number, { total }: ListForm<Item>): Promise<string> {
  const all = (await total?.()) ?? `more than ${printed}`;
  return `${printed} of ${all} shown: raise --limit for more.`;
}

/** `isCut`: the listing ended at its limit, with more to come. */
type End = { isCut: boolean };

/** `end`: set after the last item. */
async function nextRows<Item>(items: AsyncGenerator<Item, boolean>) {
  const together: Item[] = [];
  while (together.length < ROWS_TOGETHER) {
    const next = await items.next();
    if (next.done === true) return { together, end: { isCut: next.value } };
    together.push(next.value);
  }
  return { together, end: undefined };
}
