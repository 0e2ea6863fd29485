export type Json = null | boolean | number | string | Json[] | { [name: string]: Json };
export type Fields = Record<string, Json>;

type Asked = { path: string; rules: Json[] };

const waysThrough = (filter: Fields, path = ''): Asked[][] =>
  Object.entries(filter).reduce<Asked[][]>(
    (ways, [name, asked]) => product(ways, waysOfField(name, asked, path)),
    [[]],
  );

const waysOfField = (name: string, asked: Json, path: string): Asked[][] => {
  if (name === '$or') return listOf(asked).flatMap((alternative) => waysThrough(fieldsOf(alternative), path));
  const there = `${path}/${name}`;
  return Array.isArray(asked) ? [[{ path: there, rules: asked }]] : waysThrough(fieldsOf(asked), there);
};

const product = (left: Asked[][], right: Asked[][]): Asked[][] =>
  left.flatMap((one) => right.map((other) => [...one, ...other]));

const listOf = (value: Json): Json[] => (Array.isArray(value) ? value : []);
const fieldsOf = (value: Json): Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value) ? value : {};

const leavesOf = (value: Json, path = ''): [string, Json][] =>
  typeof value === 'object' && value !== null
    ? Object.entries(value).flatMap(([name, inner]) => leavesOf(inner, `${path}/${name}`))
    : [[path, value]];

/**
 * Reference implementation for objects without lists, as EventBridge describes it: every path through `$or` is a
 * separate rule, a set of paths with their rules, and the object is a set of paths with values.
 */
export const matchesByWays = (filter: Fields, object: Fields): boolean => {
  const leaves = new Map(leavesOf(object));
  return waysThrough(filter).some((way) =>
    way.every(({ path, rules }) => rules.some((rule) => matchesLeaf(rule, leaves.get(path)))),
  );
};

const matchesLeaf = (rule: Json, leaf: Json | undefined): boolean => {
  const [comparison] = Object.entries(fieldsOf(rule));
  return comparison === undefined ? leaf === rule : COMPARE[comparison[0]]?.(comparison[1], leaf) === true;
};

/** `undefined`: the leaf is absent. */
const COMPARE: Record<string, (operand: Json, leaf: Json | undefined) => boolean> = {
  exists: (operand, leaf) => operand === (leaf !== undefined),
  prefix: (operand, leaf) =>
    typeof leaf === 'string' && new RegExp(`^${JSON.stringify(operand).slice(1, -1)}`).test(leaf),
  suffix: (operand, leaf) =>
    typeof leaf === 'string' && new RegExp(`${JSON.stringify(operand).slice(1, -1)}$`).test(leaf),
  numeric: (operand, leaf) => typeof leaf === 'number' && isInRange(listOf(operand), leaf),
  'anything-but': (operand, leaf) =>
    leaf !== undefined && ![operand].flat().some((excluded) => matchesLeaf(excluded, leaf)),
};

const SIGNS = new Map<Json | undefined, number[]>([
  ['=', [0]],
  ['<', [-1]],
  ['<=', [-1, 0]],
  ['>', [1]],
  ['>=', [1, 0]],
]);

const isInRange = ([operator, limit, ...more]: Json[], leaf: number): boolean =>
  SIGNS.get(operator)?.includes(Math.sign(leaf - Number(limit))) === true &&
  (more.length === 0 || isInRange(more, leaf));
