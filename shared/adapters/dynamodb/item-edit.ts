import { isDeepStrictEqual } from 'node:util';
import { expression } from './expression.ts';

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
