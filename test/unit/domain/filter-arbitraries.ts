import fc from 'fast-check';
import type { Fields, Json } from './filter-oracle.ts';

/** Few and alike, so that filter and data meet often. */
export const name = fc.constantFrom('a', 'b', 'c');
export const scalar = fc.constantFrom<Json>('', 'x', 'xy', 'y', -1, 0, 1, 2, true, false, null);
export const text = fc.constantFrom('', 'x', 'xy', 'y');
const number = fc.constantFrom(-1, 0, 1, 2);

const comparison: fc.Arbitrary<Json> = fc.oneof(
  fc.record({ prefix: text }),
  fc.record({ suffix: text }),
  fc.record({ exists: fc.boolean() }),
  fc.record({ 'anything-but': fc.oneof(scalar, fc.array(scalar, { minLength: 1, maxLength: 3 })) }),
  fc.record({ 'anything-but': fc.oneof(fc.record({ prefix: text }), fc.record({ suffix: text })) }),
  fc.record({ numeric: fc.tuple(fc.constantFrom('=', '<', '<=', '>', '>='), number) }),
  fc.record({
    numeric: fc.tuple(
      fc.constantFrom('>', '>='),
      fc.constant(-1),
      fc.constantFrom('<', '<='),
      number.filter((n) => n > -1),
    ),
  }),
);
export const rules: fc.Arbitrary<Json[]> = fc.array(fc.oneof(scalar, comparison), {
  minLength: 1,
  maxLength: 3,
});

const filterOf = (depth: number): fc.Arbitrary<Fields> => {
  if (depth === 0) return fc.dictionary(name, rules, { minKeys: 1, maxKeys: 3 });
  const inner = filterOf(depth - 1);
  const condition = fc.oneof({ weight: 2, arbitrary: rules }, { weight: 1, arbitrary: inner });
  return fc
    .record({
      fields: fc.dictionary(name, condition, { minKeys: 1, maxKeys: 2 }),
      alternatives: fc.option(fc.array(inner, { minLength: 2, maxLength: 2 }), { nil: undefined, freq: 2 }),
    })
    .map(({ fields, alternatives }) => ({ ...fields, ...(alternatives && { $or: alternatives }) }));
};

export const filter = filterOf(2);

const dataOf = (lists: boolean) =>
  fc.letrec<{ value: Json; object: Fields }>((tie) => ({
    value: fc.oneof(
      { depthSize: 'small' },
      scalar,
      tie('object'),
      ...(lists ? [fc.array(tie('value'), { maxLength: 3 })] : []),
    ),
    object: fc.dictionary(name, tie('value'), { maxKeys: 3 }),
  }));

const withLists = dataOf(true);
export const data = withLists.value;
export const object = withLists.object;
/** Without lists. */
export const plainObject = dataOf(false).object;
export const noList = data.filter((value) => !Array.isArray(value));
