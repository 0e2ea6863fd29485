import * as z from 'zod';
import type { FieldError } from '../errors.ts';
import { isJsonObject } from '../json.ts';
import { isDeeperThan } from '../subscription/content-filter.ts';
import type { CompilePattern } from './pattern.ts';
import { resolveReference } from './reference.ts';

export const MAX_SCHEMA_BYTES = 16 * 1024;
export const MAX_SCHEMA_DEPTH = 32;

/** A longer list of faults does not help the user. */
const MAX_FAULTS = 20;

/**
 * What is wrong with a JSON Schema that is to be stored; empty: `validate` can read it. Fields are dotted paths from `schema`.
 * Keywords that the standard does not have are ignored, as it says.
 */
export function checkSchema(schema: unknown, compilePattern: CompilePattern): FieldError[] {
  const unstorable = faultOfWhole(schema);
  if (unstorable !== undefined) return [{ field: 'schema', message: unstorable }];
  const check: Check = { root: schema, compilePattern, faults: [], known: new Set(), open: [] };
  enqueue(check, schema, ['schema']);
  // A list of what is open, in place of recursion: references may form long chains.
  for (const { value, path } of check.open) {
    if (check.faults.length >= MAX_FAULTS) break;
    checkKeywords(check, value, path);
  }
  return check.faults;
}

function faultOfWhole(schema: unknown): string | undefined {
  if (isDeeperThan(schema, MAX_SCHEMA_DEPTH))
    return `must not be nested more than ${MAX_SCHEMA_DEPTH} levels deep`;
  const bytes = new TextEncoder().encode(JSON.stringify(schema)).length;
  if (bytes > MAX_SCHEMA_BYTES) return `must be at most ${MAX_SCHEMA_BYTES} bytes as JSON`;
  // Infinite here, and null where it is stored.
  return z.json().safeParse(schema).success ? undefined : 'must have no number beyond 1.8e308';
}

type Path = readonly (string | number)[];

type Check = {
  root: unknown;
  compilePattern: CompilePattern;
  faults: FieldError[];
  /** Schemas that are in `open`, or were: a document may refer to one several times. */
  known: Set<unknown>;
  open: { value: Record<string, unknown>; path: Path }[];
};

function addFault({ faults }: Check, path: Path, message: string): void {
  faults.push({ field: path.join('.'), message });
}

function enqueue(check: Check, value: unknown, path: Path): void {
  if (typeof value === 'boolean' || check.known.has(value)) return;
  if (!isJsonObject(value)) {
    addFault(check, path, 'must be a schema: an object, true or false');
    return;
  }
  check.known.add(value);
  check.open.push({ value, path });
}

const DRAFT = 'https://json-schema.org/draft/2020-12/schema';

const number = z.number('must be a number');
const count = z.int('must be an integer from 0').min(0, 'must be an integer from 0');
const names = z.array(z.string('must be text'), 'must be a list of names');
const text = z.string('must be text');
const type = z.enum(['null', 'boolean', 'object', 'array', 'number', 'integer', 'string']);
const TYPE_RULE = `must be a type, or a list of types: ${type.options.join(', ')}`;

/** Keywords with plain values. */
const VALUES = new Map<string, z.ZodType>(
  Object.entries({
    $schema: z.enum([DRAFT, `${DRAFT}#`], `must be ${DRAFT}`),
    type: z.union([type, z.array(type).min(1, TYPE_RULE).max(type.options.length, TYPE_RULE)], TYPE_RULE),
    enum: z.array(z.unknown(), 'must be a list of values'),
    multipleOf: number.positive('must be above 0'),
    maximum: number,
    exclusiveMaximum: number,
    minimum: number,
    exclusiveMinimum: number,
    maxLength: count,
    minLength: count,
    maxItems: count,
    minItems: count,
    maxContains: count,
    minContains: count,
    maxProperties: count,
    minProperties: count,
    uniqueItems: z.boolean('must be true or false'),
    required: names,
    dependentRequired: z.record(z.string(), names, 'must be an object'),
    pattern: text,
    $ref: text,
  }),
);

/** Keywords with a schema, a list of them and an object of them. */
const SINGLE = new Set(
  (
    'not if then else items contains unevaluatedItems ' +
    'additionalProperties propertyNames unevaluatedProperties'
  ).split(' '),
);
const LISTS = new Set(['allOf', 'anyOf', 'oneOf', 'prefixItems']);
const OBJECTS = new Set(['properties', 'patternProperties', 'dependentSchemas', '$defs']);

const REFERENCE = '# or #/ and the path of a schema in this document, such as #/$defs/address';

/** What would name a place in another document. */
const UNSUPPORTED = new Set(['$id', '$anchor', '$dynamicRef', '$dynamicAnchor']);

function checkKeywords(check: Check, schema: Record<string, unknown>, path: Path): void {
  for (const [keyword, value] of Object.entries(schema)) {
    const at = [...path, keyword];
    const message = faultOfKeyword(keyword, value);
    if (message === undefined) checkInside(check, keyword, value, at);
    else addFault(check, at, message);
  }
}

function faultOfKeyword(keyword: string, value: unknown): string | undefined {
  if (UNSUPPORTED.has(keyword)) return `is not supported: refer by $ref, to ${REFERENCE}`;
  return VALUES.get(keyword)?.safeParse(value).error?.issues[0]?.message;
}

function checkInside(check: Check, keyword: string, value: unknown, path: Path): void {
  if (SINGLE.has(keyword)) enqueue(check, value, path);
  if (LISTS.has(keyword)) checkList(check, value, path);
  if (OBJECTS.has(keyword)) checkObject(check, value, path);
  if (keyword === '$ref') checkReference(check, String(value), path);
  for (const source of patternsIn(keyword, value)) checkPattern(check, source, path);
}

function checkList(check: Check, value: unknown, path: Path): void {
  const schemas: readonly unknown[] = Array.isArray(value) ? value : [];
  if (schemas.length === 0) addFault(check, path, 'must be a list of schemas');
  for (const [index, schema] of schemas.entries()) enqueue(check, schema, [...path, index]);
}

function checkObject(check: Check, value: unknown, path: Path): void {
  if (!isJsonObject(value)) addFault(check, path, 'must be an object of schemas');
  else for (const [name, schema] of Object.entries(value)) enqueue(check, schema, [...path, name]);
}

function patternsIn(keyword: string, value: unknown): readonly string[] {
  if (keyword === 'pattern') return [String(value)];
  return keyword === 'patternProperties' && isJsonObject(value) ? Object.keys(value) : [];
}

function checkPattern(check: Check, source: string, path: Path): void {
  const compiled = check.compilePattern(source);
  if (!compiled.ok) addFault(check, path, compiled.message);
}

function checkReference(check: Check, reference: string, path: Path): void {
  const target = resolveReference(check.root, reference);
  if (target === undefined) addFault(check, path, `must be ${REFERENCE}`);
  else enqueue(check, target.schema, path);
}
