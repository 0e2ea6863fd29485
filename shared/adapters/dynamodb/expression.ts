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

/** Letters, digits and `_` ("Expression attribute names", DynamoDB developer guide); ids of subscriptions hold others. */
const REFERENCE = /^[A-Za-z0-9][A-Za-z0-9_]*$/;

export function expression(): Expression {
  const names: Record<string, string> = {};
  const values: Record<string, unknown> = {};
  const referenceTo = (part: string): string => {
    const known = Object.keys(names).find((name) => names[name] === part);
    const reference = known ?? `#${REFERENCE.test(part) ? part : `_${Object.keys(names).length}`}`;
    names[reference] = part;
    return reference;
  };
  return {
    name: (...path) => path.map(referenceTo).join('.'),
    value: (value) => {
      const reference = `:v${Object.keys(values).length}`;
      values[reference] = value;
      return reference;
    },
    attributes: () => ({ ExpressionAttributeNames: names, ExpressionAttributeValues: values }),
  };
}
