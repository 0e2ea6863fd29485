/** The values in a canonical order, to compare lists whose order does not matter. Duplicates count. */
export const inAnyOrder = <T>(values: readonly T[]): T[] =>
  values
    .map((value) => ({ value, text: JSON.stringify(value) }))
    .toSorted((one, other) => (one.text < other.text ? -1 : 1))
    .map(({ value }) => value);
