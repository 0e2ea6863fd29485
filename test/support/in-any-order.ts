/** The same values in an order of their own, so that lists of which only the order may differ are equal. Copies count. */
export const inAnyOrder = <T>(values: readonly T[]): T[] =>
  values
    .map((value) => ({ value, text: JSON.stringify(value) }))
    .toSorted((one, other) => (one.text < other.text ? -1 : 1))
    .map(({ value }) => value);
