/** A JSON value that holds no others. */
export type Scalar = string | number | boolean | null;

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

/**
 * Whether data, parsed from JSON, has the content that a filter asks for. The semantics are those of event patterns
 * (Amazon EventBridge User Guide, "Comparison operators for use in event patterns"): all fields, any rule of a field, any
 * element of a list, and within a list of objects all that is asked of them in one and the same. What is no object has no
 * fields. Numbers are compared as double precision has them.
 *
 * Filter and data are trees, and a node of the one meets a node of the other at most once: the work is bounded by the
 * product of their sizes, `$or` included. It recurses over the filter only, so no nesting of the data exhausts the stack.
 */
export const matchesContent = (filter: ContentFilter, data: unknown): boolean => {
  let isEmpty = true;
  for (const element of elementsOf(data)) {
    if (holdsFor(filter, element)) return true;
    isEmpty = false;
  }
  return isEmpty && holdsFor(filter, undefined);
};

const holdsFor = (filter: ContentFilter, element: unknown): boolean =>
  filter.fields.every(({ name, condition }) => satisfies(condition, fieldOf(element, name))) &&
  (filter.alternatives === undefined ||
    filter.alternatives.some((alternative) => holdsFor(alternative, element)));

const satisfies = (condition: Condition, value: unknown): boolean =>
  condition.kind === 'object' ? matchesContent(condition.filter, value) : hasValueFor(condition.rules, value);

/** Objects are not values: where there is nothing else, the field is as good as absent. */
const hasValueFor = (rules: readonly Rule[], value: unknown): boolean => {
  let isAbsent = true;
  for (const element of elementsOf(value)) {
    if (!isScalar(element)) continue;
    if (rules.some((rule) => accepts(rule, element))) return true;
    isAbsent = false;
  }
  return isAbsent && rules.some((rule) => rule.kind === 'exists' && !rule.expected);
};

const accepts = (rule: Rule, value: Scalar): boolean => {
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
};

const isWithin = ({ operator, limit }: Bound, value: number): boolean => {
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
};

/** The value itself, or the elements of a list, those of lists within it among them. */
function* elementsOf(value: unknown): Generator {
  if (!Array.isArray(value)) {
    yield value;
    return;
  }
  const open: Iterator<unknown>[] = [value.values()];
  for (let list = open.at(-1); list !== undefined; list = open.at(-1)) {
    const next = list.next();
    if (next.done === true) open.pop();
    else if (Array.isArray(next.value)) open.push(next.value.values());
    else yield next.value;
  }
}

const isScalar = (value: unknown): value is Scalar => value === null || SCALARS.has(typeof value);

const SCALARS: ReadonlySet<string> = new Set(['string', 'number', 'boolean']);

/** Own fields only: what every object inherits, nobody published. */
const fieldOf = (element: unknown, name: string): unknown =>
  typeof element === 'object' && element !== null && Object.hasOwn(element, name)
    ? Reflect.get(element, name)
    : undefined;
