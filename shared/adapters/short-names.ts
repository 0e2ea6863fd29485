/**
 * What an item repeats, such as its attempts, is kept under short names: DynamoDB charges by the kilobyte of the whole item.
 * Left out: what is undefined, and what the table of names does not have.
 */
export const shortened = (names: Readonly<Record<string, string>>, value: object): Record<string, unknown> =>
  Object.fromEntries(
    Object.entries(value).flatMap(([name, field]) => {
      const short = names[name];
      return short === undefined || field === undefined ? [] : [[short, field]];
    }),
  );

/** The way back. Names that the table does not have are left out. */
export const lengthened = (
  names: Readonly<Record<string, string>>,
  item: Readonly<Record<string, unknown>>,
): Record<string, unknown> =>
  Object.fromEntries(
    Object.entries(names).flatMap(([name, short]) => (short in item ? [[name, item[short]]] : [])),
  );
