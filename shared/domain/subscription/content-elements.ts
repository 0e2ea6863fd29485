/** A JSON value that contains no other values. */
export type Scalar = string | number | boolean | null;

/** The parts of a value that a filter tests: the value, or all elements of a list, including nested lists. */
export type Elements = {
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
export type FlattenedLists = WeakMap<readonly unknown[], Elements>;

export function elementsOf(value: unknown, listsRead: FlattenedLists): Elements {
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

export function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null;
}

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
