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

export const elementsOf = (value: unknown, listsRead: ListsRead): Elements => {
  if (!Array.isArray(value)) return elementsOfOne(value);
  const list: readonly unknown[] = value;
  const known = listsRead.get(list);
  if (known !== undefined) return known;
  const elements = elementsOfList(list);
  listsRead.set(list, elements);
  return elements;
};

/** Whether an object has fields at all is not asked here: it would take as long as it has many, every time. */
const elementsOfOne = (value: unknown): Elements => ({
  scalars: isScalar(value) ? new Set([value]) : NO_SCALARS,
  objects: isObject(value) ? [value] : [],
  isFieldless: !isObject(value),
});

const NO_SCALARS: ReadonlySet<Scalar> = new Set();

const elementsOfList = (list: readonly unknown[]): Elements => {
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
};

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

const isScalar = (value: unknown): value is Scalar => value === null || SCALARS.has(typeof value);

const SCALARS: ReadonlySet<string> = new Set(['string', 'number', 'boolean']);

export const isObject = (value: unknown): value is object => typeof value === 'object' && value !== null;
