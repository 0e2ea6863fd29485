import type { z } from 'zod';
import { comparisons as known, isComparison, scalar } from './content-filter-comparisons.ts';
import { isDeeperThan, type Scalar } from './content-elements.ts';
import type { Condition, ContentFilter, Rule } from './content-filter.ts';

/** EventBridge Pipes takes 4,096 characters as well (API reference, "Filter"). */
const MAX_FILTER_BYTES = 4096;
/** Values and comparisons in all: how often one value of a message is compared, at most. */
const MAX_RULES = 100;
/** Objects within objects, the filter itself and those of `$or` counted. */
const MAX_DEPTH = 10;
/** More faults than these help nobody. */
const MAX_FAULTS = 20;

/** What is wrong and where in the filter: `['order', 'total', 0, 'numeric']`, `[]` for the filter as a whole. */
export type FilterFault = { path: readonly PropertyKey[]; message: string };

type Place = { path: FilterFault['path']; depth: number };

/** What was found so far; once it is over a bound, the rest of a hostile input is not looked at. */
type Reading = { faults: FilterFault[]; rules: number };

const OR = '$or';

/** A filter as a user gave it, checked and made ready to match. */
export function parseContentFilter(
  input: unknown,
): { ok: true; filter: ContentFilter } | { ok: false; faults: readonly FilterFault[] } {
  if (isObject(input) && isTooLong(input)) {
    return {
      ok: false,
      faults: [{ path: [], message: `must be at most ${MAX_FILTER_BYTES} bytes as JSON` }],
    };
  }
  const reading: Reading = { faults: [], rules: 0 };
  const filter = readFilter(reading, input, { path: [], depth: 1 });
  const faults = reading.faults.length > 0 ? reading.faults : countFaults(reading);
  return faults.length === 0 ? { ok: true, filter } : { ok: false, faults };
}

/** A level of JSON takes two brackets at least, so what is too deep for JSON.stringify, which recurses, is too long anyway. */
function isTooLong(input: object): boolean {
  return (
    isDeeperThan(input, MAX_FILTER_BYTES / 2) || Buffer.byteLength(JSON.stringify(input)) > MAX_FILTER_BYTES
  );
}

function countFaults({ rules }: Reading): FilterFault[] {
  return rules > MAX_RULES
    ? [{ path: [], message: `must hold at most ${MAX_RULES} values and comparisons` }]
    : [];
}

function isOver({ faults, rules }: Reading): boolean {
  return faults.length >= MAX_FAULTS || rules > MAX_RULES;
}

function refuse({ faults }: Reading, path: FilterFault['path'], message: string): void {
  faults.push({ path, message });
}

function within({ path, depth }: Place, ...steps: (string | number)[]): Place {
  return {
    path: [...path, ...steps],
    depth: depth + 1,
  };
}

function readFilter(reading: Reading, input: unknown, at: Place): ContentFilter {
  const entries = isObject(input) ? Object.entries(input) : [];
  if (!isObject(input)) refuse(reading, at.path, 'must be an object');
  else if (at.depth > MAX_DEPTH)
    refuse(reading, at.path, `must not be nested over ${MAX_DEPTH} objects deep`);
  else if (entries.length === 0) refuse(reading, at.path, 'must not be empty');
  else return readFields(reading, entries, at);
  return { fields: [] };
}

function readFields(reading: Reading, entries: [string, unknown][], at: Place): ContentFilter {
  const fields: ContentFilter['fields'][number][] = [];
  let alternatives: readonly ContentFilter[] | undefined;
  for (const [name, value] of entries) {
    if (isOver(reading)) break;
    if (name === OR) alternatives = readAlternatives(reading, value, at);
    else fields.push({ name, condition: readCondition(reading, value, within(at, name)) });
  }
  return { fields, ...(alternatives === undefined ? {} : { alternatives }) };
}

function readAlternatives(reading: Reading, input: unknown, at: Place): readonly ContentFilter[] {
  const filters: ContentFilter[] = [];
  if (!Array.isArray(input) || input.length < 2) {
    refuse(reading, [...at.path, OR], 'must be a list of two or more filters');
    return filters;
  }
  for (const [index, filter] of input.entries()) {
    if (isOver(reading)) break;
    filters.push(readFilter(reading, filter, within(at, OR, index)));
  }
  return filters;
}

function readCondition(reading: Reading, input: unknown, at: Place): Condition {
  if (Array.isArray(input)) return { kind: 'values', rules: readRules(reading, input, at) };
  if (isObject(input)) return { kind: 'object', filter: readFilter(reading, input, at) };
  refuse(reading, at.path, 'must be a list of values and comparisons, or an object for nested fields');
  return { kind: 'values', rules: [] };
}

function readRules(reading: Reading, items: readonly unknown[], at: Place): readonly Rule[] {
  if (items.length === 0) refuse(reading, at.path, 'must not be empty');
  const values = new Set<Scalar>();
  const comparisons: Rule[] = [];
  for (const [index, item] of items.entries()) {
    if (isOver(reading)) break;
    const path = [...at.path, index];
    if (isObject(item)) comparisons.push(...readComparison(reading, item, path));
    else for (const value of readWith(reading, scalar, item, path)) values.add(value);
    reading.rules += 1;
  }
  return values.size === 0 ? comparisons : [{ kind: 'equals', values, expected: true }, ...comparisons];
}

function readComparison(reading: Reading, item: object, path: FilterFault['path']): readonly Rule[] {
  const entries: [string, unknown][] = Object.entries(item);
  const [entry, ...more] = entries;
  if (entry === undefined || more.length > 0) {
    refuse(reading, path, 'must be one comparison, such as {"prefix": "a"}');
    return [];
  }
  const [operator, operand] = entry;
  if (!isComparison(operator)) {
    refuse(reading, [...path, operator], `is not a comparison; there are ${Object.keys(known).join(', ')}`);
    return [];
  }
  const rules = readWith<Rule>(reading, known[operator], operand, [...path, operator]);
  // One is counted with the item already.
  for (const rule of rules) reading.rules += sizeOf(rule) - 1;
  return rules;
}

function sizeOf(rule: Rule): number {
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

/** One value, or none and a fault. */
function readWith<T>(
  reading: Reading,
  schema: z.ZodType<T>,
  input: unknown,
  path: FilterFault['path'],
): readonly T[] {
  const result = schema.safeParse(input);
  if (result.success) return [result.data];
  for (const issue of result.error.issues) refuse(reading, [...path, ...issue.path], issue.message);
  return [];
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
