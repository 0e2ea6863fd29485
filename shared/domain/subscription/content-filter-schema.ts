import * as z from 'zod';
import { isJsonObject } from '../json.ts';
import {
  type Scalar,
  isDeeperThan,
  type Bound,
  type Rule,
  OR,
  type Condition,
  type ContentFilter,
} from './content-filter.ts';

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

function notAffixed(kind: 'prefix' | 'suffix', texts: readonly string[]): Rule {
  return { kind, texts, expected: false };
}

function excluded(values: readonly Scalar[]): Rule {
  return { kind: 'equals', values: new Set(values), expected: false };
}

const anythingBut = z.union(
  [
    scalar.transform((value) => excluded([value])),
    z.array(scalar).min(1).transform(excluded),
    z.strictObject({ prefix: texts }).transform((not) => notAffixed('prefix', not.prefix)),
    z.strictObject({ suffix: texts }).transform((not) => notAffixed('suffix', not.suffix)),
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

/** Same limit as EventBridge Pipes (API reference, "Filter"). */
const MAX_FILTER_BYTES = 4096;
/** Values and comparisons in total; bounds the comparisons per message value. */
const MAX_RULES = 100;
/** Nested objects, including the filter and those in `$or`. */
const MAX_DEPTH = 10;
/** A longer list of faults does not help the user. */
const MAX_FAULTS = 20;

/** A fault and its path in the filter: `['order', 'total', 0, 'numeric']`; `[]` for the whole filter. */
export type FilterFault = { path: readonly PropertyKey[]; message: string };

type Place = { path: FilterFault['path']; depth: number };

/** Parse results so far. Beyond a bound, the rest of a hostile input is skipped. */
type ParseState = { faults: FilterFault[]; rules: number };

/** Checks a user's filter and prepares it for matching. */
export function parseContentFilter(
  input: unknown,
): { ok: true; filter: ContentFilter } | { ok: false; faults: readonly FilterFault[] } {
  if (isJsonObject(input) && isTooLong(input)) {
    return {
      ok: false,
      faults: [{ path: [], message: `must be at most ${MAX_FILTER_BYTES} bytes as JSON` }],
    };
  }
  const reading: ParseState = { faults: [], rules: 0 };
  const filter = readFilter(reading, input, { path: [], depth: 1 });
  const faults = reading.faults.length > 0 ? reading.faults : countFaults(reading);
  return faults.length === 0 ? { ok: true, filter } : { ok: false, faults };
}

/**
 * A JSON level takes at least two brackets, so input too deep for the recursive JSON.stringify is also too long.
 */
function isTooLong(input: object): boolean {
  return (
    isDeeperThan(input, MAX_FILTER_BYTES / 2) ||
    new TextEncoder().encode(JSON.stringify(input)).length > MAX_FILTER_BYTES
  );
}

function countFaults({ rules }: ParseState): FilterFault[] {
  return rules > MAX_RULES
    ? [{ path: [], message: `must contain at most ${MAX_RULES} values and comparisons` }]
    : [];
}

function isOver({ faults, rules }: ParseState): boolean {
  return faults.length >= MAX_FAULTS || rules > MAX_RULES;
}

function addFault({ faults }: ParseState, path: FilterFault['path'], message: string): void {
  faults.push({ path, message });
}

function within({ path, depth }: Place, ...steps: (string | number)[]): Place {
  return { path: [...path, ...steps], depth: depth + 1 };
}

function readFilter(reading: ParseState, input: unknown, at: Place): ContentFilter {
  const entries = isJsonObject(input) ? Object.entries(input) : [];
  if (!isJsonObject(input)) addFault(reading, at.path, 'must be an object');
  else if (at.depth > MAX_DEPTH)
    addFault(reading, at.path, `must not nest objects more than ${MAX_DEPTH} levels deep`);
  else if (entries.length === 0) addFault(reading, at.path, 'must not be empty');
  else return readFields(reading, entries, at);
  return { fields: [] };
}

function readFields(reading: ParseState, entries: [string, unknown][], at: Place): ContentFilter {
  const fields: ContentFilter['fields'][number][] = [];
  let alternatives: readonly ContentFilter[] | undefined;
  for (const [name, value] of entries) {
    if (isOver(reading)) break;
    if (name === OR) alternatives = readAlternatives(reading, value, at);
    else fields.push({ name, condition: readCondition(reading, value, within(at, name)) });
  }
  return { fields, ...(alternatives === undefined ? {} : { alternatives }) };
}

function readAlternatives(reading: ParseState, input: unknown, at: Place): readonly ContentFilter[] {
  const filters: ContentFilter[] = [];
  if (!Array.isArray(input) || input.length < 2) {
    addFault(reading, [...at.path, OR], 'must be a list of two or more filters');
    return filters;
  }
  for (const [index, filter] of input.entries()) {
    if (isOver(reading)) break;
    filters.push(readFilter(reading, filter, within(at, OR, index)));
  }
  return filters;
}

function readCondition(reading: ParseState, input: unknown, at: Place): Condition {
  if (Array.isArray(input)) return { kind: 'values', rules: readRules(reading, input, at) };
  if (isJsonObject(input)) return { kind: 'object', filter: readFilter(reading, input, at) };
  addFault(reading, at.path, 'must be a list of values and comparisons, or an object for nested fields');
  return { kind: 'values', rules: [] };
}

function readRules(reading: ParseState, items: readonly unknown[], at: Place): readonly Rule[] {
  if (items.length === 0) addFault(reading, at.path, 'must not be empty');
  const values = new Set<Scalar>();
  const comparisons: Rule[] = [];
  for (const [index, item] of items.entries()) {
    if (isOver(reading)) break;
    const path = [...at.path, index];
    if (isJsonObject(item)) comparisons.push(...readComparison(reading, item, path));
    else for (const value of readWith(reading, scalar, item, path)) values.add(value);
    reading.rules += 1;
  }
  return values.size === 0 ? comparisons : [{ kind: 'equals', values, expected: true }, ...comparisons];
}

function readComparison(reading: ParseState, item: object, path: FilterFault['path']): readonly Rule[] {
  const entries: [string, unknown][] = Object.entries(item);
  const [entry, ...more] = entries;
  if (entry === undefined || more.length > 0) {
    addFault(reading, path, 'must be one comparison, such as {"prefix": "a"}');
    return [];
  }
  const [operator, operand] = entry;
  if (!isComparison(operator)) {
    addFault(
      reading,
      [...path, operator],
      `is not a comparison; use one of ${Object.keys(comparisons).join(', ')}`,
    );
    return [];
  }
  const rules = readWith<Rule>(reading, comparisons[operator], operand, [...path, operator]);
  // The item itself already counts as one.
  for (const rule of rules) reading.rules += countValues(rule) - 1;
  return rules;
}

/** The values that a comparison lists, of which a filter has a limited number. */
function countValues(rule: Rule): number {
  switch (rule.kind) {
    case 'equals':
      return rule.values.size;
    case 'prefix':
    case 'suffix':
      return rule.texts.length;
    case 'numeric':
    case 'exists':
      return 1;
  }
}

/** The parsed value, or an empty list after recording the faults. */
function readWith<T>(
  reading: ParseState,
  schema: z.ZodType<T>,
  input: unknown,
  path: FilterFault['path'],
): readonly T[] {
  const result = schema.safeParse(input);
  if (result.success) return [result.data];
  for (const issue of result.error.issues) addFault(reading, [...path, ...issue.path], issue.message);
  return [];
}
