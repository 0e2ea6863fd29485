import { elementsOf, type Elements, type ListsRead, type Scalar } from './content-elements.ts';

/**
 * What a value has to be; `expected: false` is the opposite. So `anything-but` takes a value of any type that it does not
 * name, and an expected text is never a number.
 */
export type Rule =
  | { kind: 'equals'; values: ReadonlySet<Scalar>; expected: boolean }
  | { kind: 'prefix' | 'suffix'; texts: readonly string[]; expected: boolean }
  | { kind: 'numeric'; bounds: readonly Bound[] }
  | { kind: 'exists'; expected: boolean };

/** The value stands to `limit` as the operator says. */
export type Bound = { operator: '=' | '<' | '<=' | '>' | '>='; limit: number };

/** What is asked of a field: that one of its values obeys one of the rules, or that one of its objects matches. */
export type Condition =
  { kind: 'values'; rules: readonly Rule[] } | { kind: 'object'; filter: ContentFilter };

/** All of the fields, and one of the alternatives where there are any (`$or`). */
export type ContentFilter = {
  fields: readonly { name: string; condition: Condition }[];
  alternatives?: readonly ContentFilter[];
};

/** What came of it: `steps` were taken. */
export type FilterResult = { matches: boolean; steps: number; isUndecided: boolean };

/** `steps` are those that may be taken; `listsRead` is shared by all filters that one message's data is shown to. */
export type FilterBudget = { steps: number; listsRead: ListsRead };

/** What is left to do is counted while a filter is judged. Below zero: it would have taken more. */
type Work = { left: number; listsRead: ListsRead };

/**
 * Whether data, parsed from JSON, has the content that a filter asks for. The semantics are those of event patterns
 * (Amazon EventBridge User Guide, "Comparison operators for use in event patterns"): all fields, any rule of a field, any
 * element of a list, and within a list of objects all that is asked of them in one and the same. What is no object has no
 * fields. Numbers are compared as double precision has them.
 *
 * A step is a field looked up or a value compared. Each object of a list may meet each part of the filter, so the work grows
 * with the product of their sizes, and `effort` ends it. What is not decided by then **matches**: nothing in a filter turns a
 * yes into a no, so from there on every part says yes, and a no is always one that was found. The same filter, data and
 * steps make the same judgement. It recurses over the filter only, so no nesting of the data exhausts the stack.
 */
export function evaluateFilter(filter: ContentFilter, data: unknown, effort: FilterBudget): FilterResult {
  const work: Work = { left: effort.steps, listsRead: effort.listsRead };
  const matches = matchesWithin(filter, data, work);
  return { matches, steps: effort.steps - Math.max(0, work.left), isUndecided: work.left < 0 };
}

/** False: there is no step left to take. */
function take(work: Work, steps: number): boolean {
  work.left -= steps;
  return work.left >= 0;
}

function matchesWithin(filter: ContentFilter, value: unknown, work: Work): boolean {
  const { objects, isFieldless } = elementsOf(value, work.listsRead);
  return (
    (isFieldless && holdsFor(filter, undefined, work)) ||
    objects.some((element) => holdsFor(filter, element, work))
  );
}

function holdsFor(filter: ContentFilter, element: object | undefined, work: Work): boolean {
  return (
    filter.fields.every(({ name, condition }) => satisfies(condition, fieldOf(element, name), work)) &&
    (filter.alternatives === undefined ||
      filter.alternatives.some((alternative) => holdsFor(alternative, element, work)))
  );
}

function satisfies(condition: Condition, value: unknown, work: Work): boolean {
  if (!take(work, 1)) return true;
  return condition.kind === 'object'
    ? matchesWithin(condition.filter, value, work)
    : hasValueFor(condition.rules, elementsOf(value, work.listsRead), work);
}

/** Objects are not values: where there is nothing else, the field is as good as absent. */
function hasValueFor(rules: readonly Rule[], { scalars }: Elements, work: Work): boolean {
  return scalars.size === 0
    ? rules.some((rule) => rule.kind === 'exists' && !rule.expected)
    : rules.some((rule) => acceptsOneOf(rule, scalars, work));
}

function acceptsOneOf(rule: Rule, scalars: ReadonlySet<Scalar>, work: Work): boolean {
  if (rule.kind === 'equals' && rule.expected) return haveOneInCommon(rule.values, scalars, work);
  const steps = stepsOf(rule);
  for (const value of scalars) if (!take(work, steps) || accepts(rule, value)) return true;
  return false;
}

/** However many values there are, only as many steps as are asked for. */
function haveOneInCommon(asked: ReadonlySet<Scalar>, given: ReadonlySet<Scalar>, work: Work): boolean {
  const [few, many] = asked.size < given.size ? [asked, given] : [given, asked];
  for (const value of few) if (!take(work, 1) || many.has(value)) return true;
  return false;
}

/** What one value costs. */
function stepsOf(rule: Rule): number {
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

/** Own fields only: what every object inherits, nobody published. */
function fieldOf(element: object | undefined, name: string): unknown {
  return element !== undefined && Object.hasOwn(element, name) ? Reflect.get(element, name) : undefined;
}
