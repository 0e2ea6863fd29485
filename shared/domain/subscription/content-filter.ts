import { isObject } from '../json.ts';

/**
 * Requirement for a value; `expected: false` negates it. `anything-but` accepts values of any type that it does not
 * list, and an expected text never equals a number.
 */
export type Rule =
  | { kind: 'equals'; values: ReadonlySet<Scalar>; expected: boolean }
  | { kind: 'prefix' | 'suffix'; texts: readonly string[]; expected: boolean }
  | { kind: 'numeric'; bounds: readonly Bound[] }
  | { kind: 'exists'; expected: boolean };

/** `value operator limit` must hold. */
export type Bound = { operator: '=' | '<' | '<=' | '>' | '>='; limit: number };

/** Requirement for a field: one of its values satisfies one of the rules, or one of its objects matches. */
export type Condition =
  | { kind: 'values'; rules: readonly Rule[] }
  | { kind: 'object'; filter: ContentFilter };

/** All fields must match, and one of the alternatives if there are any (`$or`). */
export type ContentFilter = {
  fields: readonly { name: string; condition: Condition }[];
  alternatives?: readonly ContentFilter[];
};

/** The member of a filter that lists alternatives. */
export const OR = '$or';

/**
 * Result of a filter. `mismatch`: dotted path of the first field that does not match; undefined: the data matches.
 * `steps`: steps taken.
 */
export type FilterResult = { mismatch: string | undefined; steps: number; isUndecided: boolean };

/** `steps`: steps allowed. `listsRead`: shared by all filters for one message. */
export type FilterBudget = { steps: number; listsRead: FlattenedLists };

/** Remaining steps of an evaluation; negative: it ran out. */
type StepCounter = { left: number; listsRead: FlattenedLists };

/**
 * The first field of a filter that parsed JSON data does not match, with the semantics of event patterns (Amazon EventBridge User Guide,
 * "Comparison operators for use in event patterns"): all fields, any rule of a field, any element of a list; within
 * a list of objects one object must meet all requirements. A value that is not an object has no fields. Numbers
 * compare in double precision.
 *
 * A step is a field lookup or a value comparison. Work grows with the product of the sizes of data and filter, so
 * `budget` bounds it. No part of a filter negates another, so an undecided part counts as a match and a "no" is always
 * certain. The result is deterministic. Recursion follows the filter only, so nested data cannot exhaust the stack.
 */
export function evaluateFilter(filter: ContentFilter, data: unknown, budget: FilterBudget): FilterResult {
  const work: StepCounter = { left: budget.steps, listsRead: budget.listsRead };
  const mismatch = mismatchWithin(filter, data, work);
  return {
    mismatch: mismatch && formatPath(mismatch),
    steps: budget.steps - Math.max(0, work.left),
    isUndecided: work.left < 0,
  };
}

/** False: no steps are left. */
function spend(work: StepCounter, steps: number): boolean {
  work.left -= steps;
  return work.left >= 0;
}

/** A field that does not match; `within`: the field inside its objects. */
type Mismatch = { name: string; within: Mismatch | undefined };

function formatPath({ name, within }: Mismatch): string {
  return within === undefined ? name : `${name}.${formatPath(within)}`;
}

/** Undefined: one of the elements matches. Otherwise the mismatch of the first. */
function mismatchWithin(filter: ContentFilter, value: unknown, work: StepCounter): Mismatch | undefined {
  const { objects, isFieldless } = flattenElements(value, work.listsRead);
  let first = isFieldless ? findMismatch(filter, undefined, work) : undefined;
  if (isFieldless && first === undefined) return undefined;
  for (const element of objects) {
    const mismatch = findMismatch(filter, element, work);
    if (mismatch === undefined) return undefined;
    first ??= mismatch;
  }
  return first;
}

function findMismatch(
  { fields, alternatives }: ContentFilter,
  element: object | undefined,
  work: StepCounter,
): Mismatch | undefined {
  for (const { name, condition } of fields) {
    const mismatch = fieldMismatch(name, condition, findField(element, name), work);
    if (mismatch !== undefined) return mismatch;
  }
  const isMatch = alternatives?.some((alternative) => findMismatch(alternative, element, work) === undefined);
  return isMatch === false ? { name: OR, within: undefined } : undefined;
}

function fieldMismatch(
  name: string,
  condition: Condition,
  value: unknown,
  work: StepCounter,
): Mismatch | undefined {
  if (!spend(work, 1)) return undefined;
  if (condition.kind === 'object') {
    const within = mismatchWithin(condition.filter, value, work);
    return within && { name, within };
  }
  const isMatch = hasValueFor(condition.rules, flattenElements(value, work.listsRead), work);
  return isMatch ? undefined : { name, within: undefined };
}

/** Objects are not values: a field with objects only counts as absent. */
function hasValueFor(rules: readonly Rule[], { scalars }: Elements, work: StepCounter): boolean {
  return scalars.size === 0
    ? rules.some((rule) => rule.kind === 'exists' && !rule.expected)
    : rules.some((rule) => acceptsOneOf(rule, scalars, work));
}

function acceptsOneOf(rule: Rule, scalars: ReadonlySet<Scalar>, work: StepCounter): boolean {
  if (rule.kind === 'equals' && rule.expected) return hasCommonValue(rule.values, scalars, work);
  const steps = countSteps(rule);
  for (const value of scalars) if (!spend(work, steps) || accepts(rule, value)) return true;
  return false;
}

/** Iterates over the smaller set. */
function hasCommonValue(asked: ReadonlySet<Scalar>, given: ReadonlySet<Scalar>, work: StepCounter): boolean {
  const [few, many] = asked.size < given.size ? [asked, given] : [given, asked];
  for (const value of few) if (!spend(work, 1) || many.has(value)) return true;
  return false;
}

/** Steps per compared value. */
function countSteps(rule: Rule): number {
  switch (rule.kind) {
    case 'prefix':
    case 'suffix':
      return rule.texts.length;
    case 'equals':
    case 'numeric':
    case 'exists':
      return 1;
  }
}

function accepts(rule: Rule, value: Scalar): boolean {
  switch (rule.kind) {
    case 'equals':
      return rule.values.has(value) === rule.expected;
    case 'prefix':
      return (
        (typeof value === 'string' && rule.texts.some((start) => value.startsWith(start))) === rule.expected
      );
    case 'suffix':
      return (typeof value === 'string' && rule.texts.some((end) => value.endsWith(end))) === rule.expected;
    case 'numeric':
      return typeof value === 'number' && rule.bounds.every((bound) => isWithin(bound, value));
    case 'exists':
      return rule.expected;
  }
}

function isWithin({ operator, limit }: Bound, value: number): boolean {
  switch (operator) {
    case '=':
      return value === limit;
    case '<':
      return value < limit;
    case '<=':
      return value <= limit;
    case '>':
      return value > limit;
    case '>=':
      return value >= limit;
  }
}

/** Own properties only: inherited ones are not part of the published data. */
function findField(element: object | undefined, name: string): unknown {
  return element !== undefined && Object.hasOwn(element, name) ? Reflect.get(element, name) : undefined;
}

/** A JSON value that contains no other values. */
export type Scalar = string | number | boolean | null;

/** The parts of a value that a filter tests: the value, or all elements of a list, including nested lists. */
type Elements = {
  /** Distinct values; a filter treats equal values alike. */
  scalars: ReadonlySet<Scalar>;
  objects: readonly object[];
  /**
   * Whether any element has no fields (a scalar or `{}`) or the list is empty. All such elements give the same
   * result, so one test suffices.
   */
  isFieldless: boolean;
};

/** Cache of the flattened lists of one message's data, shared by all filters. */
type FlattenedLists = WeakMap<readonly unknown[], Elements>;

function flattenElements(value: unknown, listsRead: FlattenedLists): Elements {
  if (!Array.isArray(value)) return elementsOfOne(value);
  const list: readonly unknown[] = value;
  const known = listsRead.get(list);
  if (known !== undefined) return known;
  const elements = elementsOfList(list);
  listsRead.set(list, elements);
  return elements;
}

/** Does not test an object for fields: for a large object the test is slow, and it would repeat for each filter. */
function elementsOfOne(value: unknown): Elements {
  return {
    scalars: isScalar(value) ? new Set([value]) : NO_SCALARS,
    objects: isObject(value) ? [value] : [],
    isFieldless: !isObject(value),
  };
}

const NO_SCALARS: ReadonlySet<Scalar> = new Set();

function elementsOfList(list: readonly unknown[]): Elements {
  const scalars = new Set<Scalar>();
  const objects: object[] = [];
  let isEmpty = true;
  let isFieldless = false;
  for (const element of flattened(list)) {
    isEmpty = false;
    if (isScalar(element)) scalars.add(element);
    if (isObject(element) && Object.keys(element).length > 0) objects.push(element);
    else isFieldless = true;
  }
  return { scalars, objects, isFieldless: isFieldless || isEmpty };
}

/** Iterative: nested data cannot exhaust the stack. */
function* flattened(list: readonly unknown[]): Generator {
  const open: Iterator<unknown>[] = [list.values()];
  for (let innermost = open.at(-1); innermost !== undefined; innermost = open.at(-1)) {
    const next = innermost.next();
    if (next.done === true) open.pop();
    else if (Array.isArray(next.value)) open.push(next.value.values());
    else yield next.value;
  }
}

function isScalar(value: unknown): value is Scalar {
  return value === null || SCALARS.has(typeof value);
}

const SCALARS: ReadonlySet<string> = new Set(['string', 'number', 'boolean']);

/**
 * Whether a JSON value is nested deeper than `levels`; a scalar has no levels. Iterative, because unbounded nesting
 * is tested here before recursive code such as JSON.stringify reads it.
 */
export function isDeeperThan(value: unknown, levels: number): boolean {
  const open = [{ value, depth: 0 }];
  for (let entry = open.pop(); entry !== undefined; entry = open.pop()) {
    if (typeof entry.value !== 'object' || entry.value === null) continue;
    const depth = entry.depth + 1;
    if (depth > levels) return true;
    const inners: unknown[] = Object.values(entry.value);
    // One at a time: as arguments of one call, a long list would exhaust the stack.
    for (const inner of inners) open.push({ value: inner, depth });
  }
  return false;
}
