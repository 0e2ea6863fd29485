import * as z from 'zod';
import type { Scalar } from './content-elements.ts';
import type { Bound, Rule } from './content-filter.ts';

/** Larger integers are not exact in double precision (RFC 8259 §6). */
const NUMBER_RULE = `a number from -${Number.MAX_SAFE_INTEGER} to ${Number.MAX_SAFE_INTEGER}`;
const SCALAR_RULE = `must be text, ${NUMBER_RULE}, true, false or null`;

const number = z
  .number()
  .refine((value) => Math.abs(value) <= Number.MAX_SAFE_INTEGER, `must be ${NUMBER_RULE}`);

/** A value in a list. */
export const scalar = z.union([z.string(), number, z.boolean(), z.null()], SCALAR_RULE);
const text = z.string('must be text');
const texts = z.union([z.string().transform((one) => [one]), z.array(z.string()).min(1)]);

function affix(kind: 'prefix' | 'suffix') {
  return text.transform((one): Rule => ({ kind, texts: [one], expected: true }));
}

function excluded(values: readonly Scalar[]): Rule {
  return {
    kind: 'equals',
    values: new Set(values),
    expected: false,
  };
}

const anythingBut = z.union(
  [
    scalar.transform((value) => excluded([value])),
    z.array(scalar).min(1).transform(excluded),
    z.strictObject({ prefix: texts }).transform((not): Rule => ({
      kind: 'prefix',
      texts: not.prefix,
      expected: false,
    })),
    z.strictObject({ suffix: texts }).transform((not): Rule => ({
      kind: 'suffix',
      texts: not.suffix,
      expected: false,
    })),
  ],
  'must be a value, a list of values, {"prefix": text or texts} or {"suffix": text or texts}; values are as in a list',
);

const NUMERIC_RULE = `must be an operator (=, <, <=, >, >=) and ${NUMBER_RULE}, or a lower and an upper bound: [">", 0, "<=", 100]`;
const lower = z.enum(['>', '>=']);
const upper = z.enum(['<', '<=']);

const numeric = z
  .union(
    [
      z
        .tuple([z.enum(['=', '<', '<=', '>', '>=']), number])
        .transform(([operator, limit]): Bound[] => [{ operator, limit }]),
      z.tuple([lower, number, upper, number]).transform(([above, from, below, to]): Bound[] => [
        { operator: above, limit: from },
        { operator: below, limit: to },
      ]),
    ],
    NUMERIC_RULE,
  )
  .refine(
    ([from, to]) => to === undefined || (from?.limit ?? to.limit) < to.limit,
    'must leave numbers in between',
  )
  .transform((bounds): Rule => ({ kind: 'numeric', bounds }));

const exists = z
  .boolean('must be true or false')
  .transform((expected): Rule => ({ kind: 'exists', expected }));

/** Comparison operators by name; each parses its operand into a rule. */
export const comparisons = {
  prefix: affix('prefix'),
  suffix: affix('suffix'),
  'anything-but': anythingBut,
  numeric,
  exists,
} satisfies Record<string, z.ZodType<Rule>>;

export function isComparison(name: string): name is keyof typeof comparisons {
  return Object.hasOwn(comparisons, name);
}
