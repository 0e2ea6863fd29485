import { tableLines } from '../../cli/output/table.ts';

type Cells = Readonly<Record<string, string | number>>;

/** Figures as they are printed: a list of things is a table with a column for each of their values, all else is lines. */
export function textOf(figures: object): string {
  return Object.entries(figures)
    .map(([name, value]: [string, unknown]) =>
      isList(value)
        ? `\n${name}\n${tableOf(value)}`
        : Object.entries(cellsOf(value, name))
            .map(([path, cell]) => `${path}: ${shownAs(cell)}`)
            .join('\n'),
    )
    .join('\n')
    .trim();
}

function isList(value: unknown): value is object {
  return isObject(value) && Object.keys(value).length > 0 && Object.values(value).every(isObject);
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null;
}

/** A thing that has its place by a name, and not in an array, begins with that. */
function tableOf(list: object): string {
  const rows = Object.entries(list).map(([name, thing]: [string, unknown]): Cells => ({
    ...(Array.isArray(list) ? {} : { '': name }),
    ...cellsOf(thing),
  }));
  const heads = [...new Set(rows.flatMap((row) => Object.keys(row)))];
  const isNumber = (head: string): boolean => rows.some((row) => typeof row[head] === 'number');
  const columns = heads.map((head) => (isNumber(head) ? { head, align: 'right' as const } : { head }));
  const cells = rows.map((row) => heads.map((head) => shownAs(row[head] ?? '')));
  return tableLines(columns, cells).join('\n');
}

/** Values by the path to them. */
function cellsOf(value: unknown, path = ''): Cells {
  if (typeof value === 'number' || typeof value === 'string') return { [path]: value };
  if (!isObject(value)) return {};
  return Object.fromEntries(
    Object.entries(value).flatMap(([name, part]: [string, unknown]) =>
      Object.entries(cellsOf(part, `${path} ${name}`.trim())),
    ),
  );
}

/** Three digits of what is not whole. */
function shownAs(cell: string | number): string {
  if (typeof cell === 'string' || Number.isInteger(cell)) return String(cell);
  return cell.toFixed(Math.max(0, 2 - Math.floor(Math.log10(Math.max(1, Math.abs(cell))))));
}
