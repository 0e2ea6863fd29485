import stringWidth from 'string-width';

export type Column = { head: string; align?: 'right' };

/** Lines of a table without borders. Cells are printed unchanged: untrusted text must already be printable. */
export function tableLines(columns: readonly Column[], rows: readonly (readonly string[])[]): string[] {
  const lines = [columns.map(({ head }) => head), ...rows];
  const widths = columns.map((_, index) =>
    Math.max(...lines.map((cells) => stringWidth(cells[index] ?? ''))),
  );
  return lines.map((cells) =>
    columns
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
