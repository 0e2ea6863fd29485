/** A JSON value that holds no others. */
export type Scalar = string | number | boolean | null;

/** What a value offers to a filter: itself, or where it is a list its elements, those of lists within it among them. */
export type Elements = {
  /** Each once: a filter treats two that are the same alike. */
  scalars: ReadonlySet<Scalar>;
  objects: readonly object[];
  /** There is one without fields, be it a scalar or `{}`, or nothing at all. Whichever it is, it is judged alike, once. */
  isFieldless: boolean;
};

/** The lists of one message's data as they were read: each is gone through once, however many filters ask for it. */
export type ListsRead = WeakMap<readonly unknown[], Elements>;

export function elementsOf(value: unknown, listsRead: ListsRead): Elements {
  if (!Array.isArray(value)) return elementsOfOne(value);
  const list: readonly unknown[] = value;
  const known = listsRead.get(list);
  if (known !== undefined) return known;
  const elements = elementsOfList(list);
  listsRead.set(list, elements);
  return elements;
}

/** Whether an object has fields at all is not asked here: it would take as long as it has many, every time. */
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

/** Iterative, so that no nesting of the data exhausts the stack. */
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
 * Whether a JSON value holds others over so many levels deep; a scalar has none. Iterative, because it is asked of what may
 * be nested without end, before anything that recurses, such as JSON.stringify, may touch it.
 */
export function isDeeperThan(value: unknown, levels: number): boolean {
  const open = [{ value, depth: 0 }];
  for (let entry = open.pop(); entry !== undefined; entry = open.pop()) {
    if (typeof entry.value !== 'object' || entry.value === null) continue;
    const depth = entry.depth + 1;
    if (depth > levels) return true;
    const inners: unknown[] = Object.values(entry.value);
    // One by one: as arguments of one call, a long list would exhaust the stack.
    for (const inner of inners) open.push({ value: inner, depth });
  }
  return false;
}
