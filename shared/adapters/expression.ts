/** The names and values of one request's expressions. Every name goes in by reference, since `status` and `owner` are reserved. */
export type Expression = {
  /** A path's reference: `name('lease', 'owner')` is `#lease.#owner`. */
  name(...path: readonly string[]): string;
  value(value: unknown): string;
  attributes(): {
    ExpressionAttributeNames: Record<string, string>;
    ExpressionAttributeValues: Record<string, unknown>;
  };
};

export const expression = (): Expression => {
  const names: Record<string, string> = {};
  const values: Record<string, unknown> = {};
  return {
    name: (...path) =>
      path
        .map((part) => {
          names[`#${part}`] = part;
          return `#${part}`;
        })
        .join('.'),
    value: (value) => {
      const reference = `:v${Object.keys(values).length}`;
      values[reference] = value;
      return reference;
    },
    attributes: () => ({ ExpressionAttributeNames: names, ExpressionAttributeValues: values }),
  };
};
