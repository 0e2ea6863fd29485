/**
 * What an item repeats, such as its attempts, is kept under short names: DynamoDB charges by the kilobyte of the whole item.
 * Left out: what is undefined, and what the table of names does not have.
 */
export function shortened(names: Readonly<Record<string, string>>, value: object): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(value).flatMap(([name, field]) => {
      const short = names[name];
      return short === undefined || field === undefined ? [] : [[short, field]];
    }),
  );
}

/** The way back. Names that the table does not have are left out. */
export function lengthened(
  names: Readonly<Record<string, string>>,
  item: Readonly<Record<string, unknown>>,
): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(names).flatMap(([name, short]) => (short in item ? [[name, item[short]]] : [])),
  );
}
