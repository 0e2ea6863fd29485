import { isDeepStrictEqual } from 'node:util';

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

/** One attribute of an item: as it lies in the table, and as it shall be. Undefined: not there. */
export type ItemEdit = { name: string; from: unknown; to: unknown };

/** What makes of the one form of an item the other, by `item`, the very item of the table. */
export function editsOf(
  item: Record<string, unknown>,
  before: Record<string, unknown>,
  after: Record<string, unknown>,
): ItemEdit[] {
  return [...new Set([...Object.keys(before), ...Object.keys(after)])]
    .filter((name) => !isDeepStrictEqual(before[name], after[name]))
    .map((name) => ({ name, from: item[name], to: after[name] }));
}

/** An update that makes the edits where each attribute is as it was, and the guards are as they are said to be. */
export function updateOf(edits: readonly ItemEdit[], guards: Record<string, unknown>) {
  const to = expression();
  const expected = { ...guards, ...Object.fromEntries(edits.map(({ name, from }) => [name, from])) };
  const sets = edits.filter((edit) => edit.to !== undefined);
  const removals = edits.filter((edit) => edit.to === undefined);
  const clauses = [
    ['SET', sets.map((edit) => `${to.name(edit.name)} = ${to.value(edit.to)}`)],
    ['REMOVE', removals.map(({ name }) => to.name(name))],
  ] as const;
  return {
    UpdateExpression: clauses
      .filter(([, parts]) => parts.length > 0)
      .map(([verb, parts]) => `${verb} ${parts.join(', ')}`)
      .join(' '),
    ConditionExpression: Object.entries(expected)
      .map(([name, value]) =>
        value === undefined
          ? `attribute_not_exists(${to.name(name)})`
          : `${to.name(name)} = ${to.value(value)}`,
      )
      .join(' AND '),
    ...to.attributes(),
  };
}
