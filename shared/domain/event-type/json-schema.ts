import { isJsonObject } from '../json.ts';
import { canonicalText, clip, countCharacters, isEqual, isOfType } from './json-values.ts';
import { LIMITS } from './limits.ts';
import type { CompilePattern } from './pattern.ts';
import { type Budget, isMatch, NAMES_PER_STEP, READ_PER_STEP, spend, UndecidedError } from './steps.ts';
import { type Place, resolveReference, toPointer } from './reference.ts';

/**
 * Whether data fits a schema. `path`: JSON Pointer (RFC 6901) of the first fault, '' for the whole data. `detail`: the rule,
 * without a value of the data. `undecided`: the steps did not suffice, or this version cannot read the schema.
 */
export type Validation =
  | { kind: 'valid' }
  | { kind: 'invalid'; path: string; detail: string }
  | { kind: 'undecided' };

/**
 * Validates parsed JSON data by a JSON Schema, draft 2020-12, without `format`, which is an annotation. An interpreter: no code
 * is generated. Numbers compare in double precision (docs/event-types.md#numbers).
 *
 * A step is a subschema, a property, an item or a compared value. Work grows with the product of the sizes of schema and data,
 * and exponentially with references, so `steps` bounds it.
 */
export function validate(
  schema: unknown,
  data: unknown,
  { compilePattern, steps }: { compilePattern: CompilePattern; steps: number },
): Validation {
  const budget = { compilePattern, left: steps, patterns: new Map() };
  const run: Run = { ...budget, root: schema, depth: 0, targets: new Map() };
  try {
    const fault = evaluate(schema, { data, run, place: undefined, seen: undefined });
    if (fault === undefined) return { kind: 'valid' };
    return { kind: 'invalid', path: toPointer(fault.place), detail: fault.detail };
  } catch (error) {
    if (error instanceof UndecidedError) return { kind: 'undecided' };
    throw error;
  }
}

/** `depth`: subschemas entered. `targets`: what references refer to. */
type Run = Budget & { root: unknown; depth: number; targets: Map<string, { schema: unknown }> };

/** What subschemas have covered of one value, for `unevaluatedProperties` and `unevaluatedItems`. */
type Seen = { properties: Set<string>; items: Set<number> };

function nothingSeen(): Seen {
  return { properties: new Set(), items: new Set() };
}

/** A value and its surroundings. `seen`: undefined where no schema asks for it. */
type Subject<Data = unknown> = { data: Data; run: Run; place: Place; seen: Seen | undefined };
type List = Subject<readonly unknown[]>;
type Members = Subject<Record<string, unknown>>;

type Fault = { place: Place; detail: string } | undefined;

/** The keywords that this interpreter knows; json-schema-check.ts says what their values must be. */
type Keyword =
  | ('$ref' | 'type' | 'enum' | 'const' | keyof typeof LIMITS | 'pattern')
  | ('items' | 'prefixItems' | 'contains' | 'uniqueItems' | 'unevaluatedItems')
  | ('properties' | 'patternProperties' | 'additionalProperties' | 'unevaluatedProperties' | 'propertyNames')
  | ('required' | 'dependentRequired' | 'dependentSchemas')
  | ('allOf' | 'anyOf' | 'oneOf' | 'not' | 'if' | 'then' | 'else');
type Schema = Partial<Record<Keyword, unknown>>;

/** Deepest nesting of subschemas, far from what the stack allows. A recursive schema goes as deep as the data. */
const MAX_DEPTH = 400;

function evaluate(schema: unknown, subject: Subject): Fault {
  if (schema === true) return undefined;
  if (schema === false) return faultAt(subject, 'is not allowed');
  const { run } = subject;
  if (!isJsonObject(schema) || run.depth >= MAX_DEPTH) throw new UndecidedError();
  spend(run, 1);
  run.depth += 1;
  const fault =
    'unevaluatedProperties' in schema || 'unevaluatedItems' in schema
      ? faultOfTracked(schema, subject)
      : (faultOfValue(schema, subject) ?? faultOfCombination(schema, subject));
  run.depth -= 1;
  return fault;
}

function faultAt({ place }: Pick<Subject, 'place'>, detail: string): Fault {
  return { place, detail };
}

/** Goes to the value under a key of a list or an object. */
function evaluateAt(schema: unknown, key: string | number, data: unknown, { run, place }: Subject): Fault {
  spend(run, 1);
  return evaluate(schema, { data, run, place: { within: place, key }, seen: undefined });
}

/** Tracks what subschemas for the same value cover, then goes to the rest. */
function faultOfTracked(schema: Schema, outer: Subject): Fault {
  const seen = nothingSeen();
  const subject = { ...outer, seen };
  const fault =
    faultOfValue(schema, subject) ??
    faultOfCombination(schema, subject) ??
    faultOfUncovered(schema, subject, seen);
  cover(outer, seen);
  return fault;
}

function faultOfUncovered(schema: Schema, subject: Subject, { items, properties }: Seen): Fault {
  const { data } = subject;
  const { unevaluatedItems, unevaluatedProperties } = schema;
  if (Array.isArray(data) && unevaluatedItems !== undefined)
    return faultOfRest(unevaluatedItems, data.entries(), items, subject);
  return isJsonObject(data) && unevaluatedProperties !== undefined
    ? faultOfRest(unevaluatedProperties, Object.entries(data), properties, subject)
    : undefined;
}

function faultOfRest<Key extends string | number>(
  schema: unknown,
  members: Iterable<[Key, unknown]>,
  covered: Set<Key>,
  subject: Subject,
): Fault {
  return firstOf(members, ([key, value]) => {
    if (covered.has(key)) return undefined;
    covered.add(key);
    return evaluateAt(schema, key, value, subject);
  });
}

function firstOf<Item>(items: Iterable<Item>, faultOf: (item: Item) => Fault): Fault {
  for (const item of items) {
    const fault = faultOf(item);
    if (fault !== undefined) return fault;
  }
  return undefined;
}

function faultOfValue(schema: Schema, subject: Subject): Fault {
  const { data } = subject;
  const fault = faultOfType(schema, subject) ?? faultOfConstants(schema, subject);
  if (fault !== undefined) return fault;
  if (typeof data === 'number') return faultOfNumber(schema, { ...subject, data });
  if (typeof data === 'string') return faultOfText(schema, { ...subject, data });
  if (Array.isArray(data)) return faultOfList(schema, { ...subject, data });
  return isJsonObject(data) ? faultOfObject(schema, { ...subject, data }) : undefined;
}

function faultOfType({ type }: Schema, subject: Subject): Fault {
  if (type === undefined) return undefined;
  const types: readonly unknown[] = Array.isArray(type) ? type : [type];
  if (types.some((one) => isOfType(one, subject.data))) return undefined;
  return faultAt(subject, `must be of type ${types.join(' or ')}`);
}

function faultOfConstants(schema: Schema, subject: Subject): Fault {
  const step = (names: number): void => {
    spend(subject.run, 1 + names / NAMES_PER_STEP);
  };
  const equals = (value: unknown): boolean => isEqual(value, subject.data, step);
  if (Array.isArray(schema.enum) && !schema.enum.some(equals))
    return faultAt(subject, 'must be one of the values of enum');
  return !('const' in schema) || equals(schema.const)
    ? undefined
    : faultAt(subject, 'must be the value of const');
}

const NUMBER_LIMITS = ['multipleOf', 'maximum', 'minimum', 'exclusiveMaximum', 'exclusiveMinimum'] as const;

function faultOfLimits(
  schema: Schema,
  keywords: readonly (keyof typeof LIMITS)[],
  value: number,
  subject: Subject,
): Fault {
  return firstOf(keywords, (keyword) => {
    const limit = schema[keyword];
    const { holds, rule, unit } = LIMITS[keyword];
    if (typeof limit !== 'number' || holds(value, limit)) return undefined;
    return faultAt(subject, `must be ${rule} ${limit}${unit}`);
  });
}

/** Exact decimals are computed with big integers of up to 630 digits. */
const STEPS_OF_MULTIPLE = 100;

function faultOfNumber(schema: Schema, subject: Subject<number>): Fault {
  if ('multipleOf' in schema) spend(subject.run, STEPS_OF_MULTIPLE);
  return faultOfLimits(schema, NUMBER_LIMITS, subject.data, subject);
}

function faultOfText(schema: Schema, subject: Subject<string>): Fault {
  const { data, run } = subject;
  const { pattern } = schema;
  if ('maxLength' in schema || 'minLength' in schema) {
    spend(run, data.length / READ_PER_STEP);
    const fault = faultOfLimits(schema, ['maxLength', 'minLength'], countCharacters(data), subject);
    if (fault !== undefined) return fault;
  }
  return typeof pattern !== 'string' || isMatch(run, pattern, data)
    ? undefined
    : faultAt(subject, `must match the pattern ${clip(pattern)}`);
}

function faultOfList(schema: Schema, subject: List): Fault {
  return (
    faultOfLimits(schema, ['maxItems', 'minItems'], subject.data.length, subject) ??
    faultOfItems(schema, subject) ??
    faultOfContains(schema, subject) ??
    faultOfUnique(schema, subject)
  );
}

function faultOfItems({ prefixItems, items }: Schema, subject: List): Fault {
  const prefix: readonly unknown[] = Array.isArray(prefixItems) ? prefixItems : [];
  const covered = items === undefined ? subject.data.slice(0, prefix.length) : subject.data;
  return firstOf(covered.entries(), ([index, item]) => {
    subject.seen?.items.add(index);
    return evaluateAt(index < prefix.length ? prefix[index] : items, index, item, subject);
  });
}

function faultOfContains(schema: Schema, subject: List): Fault {
  const { contains } = schema;
  if (contains === undefined) return undefined;
  let matches = 0;
  for (const [index, item] of subject.data.entries()) {
    if (evaluateAt(contains, index, item, subject) !== undefined) continue;
    matches += 1;
    subject.seen?.items.add(index);
  }
  return faultOfLimits({ minContains: 1, ...schema }, ['maxContains', 'minContains'], matches, subject);
}

function faultOfUnique({ uniqueItems }: Schema, { data, run, place: within }: List): Fault {
  if (uniqueItems !== true) return undefined;
  const known = new Set<string>();
  return firstOf(data.entries(), ([key, item]) => {
    const text = canonicalText(item, (characters, depth) => {
      if (depth > MAX_DEPTH) throw new UndecidedError();
      spend(run, 1 + characters / READ_PER_STEP);
    });
    if (known.has(text)) return { place: { within, key }, detail: 'must not repeat an earlier item' };
    known.add(text);
    return undefined;
  });
}

function faultOfObject(schema: Schema, subject: Members): Fault {
  const names = Object.keys(subject.data);
  spend(subject.run, names.length / NAMES_PER_STEP);
  return (
    faultOfLimits(schema, ['maxProperties', 'minProperties'], names.length, subject) ??
    faultOfRequired(schema.required, subject) ??
    firstOf(membersOf(schema.dependentRequired, subject), ([, needed]) => faultOfRequired(needed, subject)) ??
    firstOf(membersOf(schema.dependentSchemas, subject), ([, inner]) => evaluate(inner, subject)) ??
    faultOfNames(schema, names, subject) ??
    faultOfProperties(schema, names, subject)
  );
}

function faultOfRequired(required: unknown, subject: Members): Fault {
  const names: readonly unknown[] = Array.isArray(required) ? required : [];
  spend(subject.run, names.length / READ_PER_STEP);
  return firstOf(names, (name) =>
    typeof name !== 'string' || Object.hasOwn(subject.data, name)
      ? undefined
      : { place: { within: subject.place, key: name }, detail: 'is required' },
  );
}

/** The members of a keyword's object that name a property of the data. */
function membersOf(keyword: unknown, { data, run }: Members): [string, unknown][] {
  if (!isJsonObject(keyword)) return [];
  const members = Object.entries(keyword);
  spend(run, members.length / READ_PER_STEP);
  return members.filter(([name]) => Object.hasOwn(data, name));
}

function faultOfNames({ propertyNames }: Schema, names: readonly string[], subject: Members): Fault {
  if (propertyNames === undefined) return undefined;
  return firstOf(names, (name) => {
    const fault = evaluateAt(propertyNames, name, name, subject);
    return fault && { ...fault, detail: `has a name that ${fault.detail}` };
  });
}

function faultOfProperties(schema: Schema, names: readonly string[], subject: Members): Fault {
  const { additionalProperties: others } = schema;
  const named = membersOf(schema.properties, subject);
  const patterns = isJsonObject(schema.patternProperties) ? Object.entries(schema.patternProperties) : [];
  spend(subject.run, patterns.length / READ_PER_STEP);
  const evaluateOne = (name: string, inner: unknown): Fault => {
    subject.seen?.properties.add(name);
    return evaluateAt(inner, name, subject.data[name], subject);
  };
  const fault = firstOf(named, ([name, inner]) => evaluateOne(name, inner));
  if (fault !== undefined || (patterns.length === 0 && others === undefined)) return fault;
  const isNamed = new Set(named.map(([name]) => name));
  return firstOf(names, (name) => {
    const matching = patterns.filter(([pattern]) => isMatch(subject.run, pattern, name));
    if (matching.length > 0) return firstOf(matching, ([, inner]) => evaluateOne(name, inner));
    return isNamed.has(name) || others === undefined ? undefined : evaluateOne(name, others);
  });
}

/** Subschemas for the same value. What they cover of it is covered for `unevaluated…` as well. */
function faultOfCombination(schema: Schema, subject: Subject): Fault {
  return (
    faultOfReference(schema, subject) ??
    firstOf(toSchemas(schema.allOf), (inner) => evaluate(inner, subject)) ??
    faultOfAlternatives(schema, subject) ??
    faultOfNot(schema, subject) ??
    faultOfCondition(schema, subject)
  );
}

function faultOfReference({ $ref }: Schema, subject: Subject): Fault {
  if ($ref === undefined) return undefined;
  return evaluate(typeof $ref === 'string' ? targetOf($ref, subject.run) : undefined, subject);
}

/** @throws UndecidedError */
function targetOf(reference: string, { root, targets }: Run): unknown {
  const target = targets.get(reference) ?? resolveReference(root, reference);
  if (target === undefined) throw new UndecidedError();
  targets.set(reference, target);
  return target.schema;
}

function toSchemas(keyword: unknown): readonly unknown[] {
  return Array.isArray(keyword) ? keyword : [];
}

function faultOfAlternatives({ anyOf, oneOf }: Schema, subject: Subject): Fault {
  // With `unevaluated…`, what each match covers counts.
  const enough = subject.seen === undefined ? 1 : Infinity;
  if (anyOf !== undefined && countMatches(toSchemas(anyOf), subject, enough) === 0)
    return faultAt(subject, 'must match a schema of anyOf');
  if (oneOf === undefined) return undefined;
  const matches = countMatches(toSchemas(oneOf), subject, 2);
  if (matches === 1) return undefined;
  return faultAt(subject, `must match one schema of oneOf, not ${matches === 0 ? 'none' : 'several'}`);
}

/** Stops at `enough` matches. */
function countMatches(schemas: readonly unknown[], subject: Subject, enough: number): number {
  let matches = 0;
  for (const schema of schemas) {
    if (isMatching(schema, subject)) matches += 1;
    if (matches >= enough) break;
  }
  return matches;
}

/** What a subschema covers counts only if it matches. */
function isMatching(schema: unknown, subject: Subject): boolean {
  const seen = subject.seen && nothingSeen();
  const isValid = evaluate(schema, { ...subject, seen }) === undefined;
  if (isValid) cover(subject, seen);
  return isValid;
}

/** Adds what a subschema has covered, for as many steps as that takes. */
function cover({ seen, run }: Subject, more: Seen | undefined): void {
  if (seen === undefined || more === undefined) return;
  spend(run, (more.properties.size + more.items.size) / NAMES_PER_STEP);
  for (const name of more.properties) seen.properties.add(name);
  for (const index of more.items) seen.items.add(index);
}

function faultOfNot({ not }: Schema, subject: Subject): Fault {
  const isFault = not !== undefined && isMatching(not, { ...subject, seen: undefined });
  return isFault ? faultAt(subject, 'must not match the schema of not') : undefined;
}

function faultOfCondition(schema: Schema, subject: Subject): Fault {
  if (schema.if === undefined) return undefined;
  const branch = isMatching(schema.if, subject) ? schema.then : schema.else;
  return branch === undefined ? undefined : evaluate(branch, subject);
}
