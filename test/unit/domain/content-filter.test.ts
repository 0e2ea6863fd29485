import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parseContentFilter } from '../../../shared/domain/subscription/content-filter-schema.ts';
import { evaluateFilter } from '../../../shared/domain/subscription/content-filter.ts';

const mismatchOf = (filter: unknown, data: unknown): string | undefined => {
  const parsed = parseContentFilter(filter);
  if (!parsed.ok) throw new Error(`refused: ${JSON.stringify(parsed.faults)}`);
  const withoutLimit = { steps: Number.MAX_SAFE_INTEGER, listsRead: new WeakMap() };
  return evaluateFilter(parsed.filter, data, withoutLimit).mismatch;
};

const matches = (filter: unknown, data: unknown): boolean => mismatchOf(filter, data) === undefined;

/** Filter and data are JSON text, as received. */
type Case = [what: string, filter: string, data: string, expected: boolean];

/** The rest of plain objects, and `$or`, is tested against another implementation below. */
const tables: Record<string, Case[]> = {
  'an exact value': [
    ['does not match text in another case', '{"a": ["x"]}', '{"a": "X"}', false],
    ['matches a number in another notation', '{"a": [300]}', '{"a": 3.0e2}', true],
    ['matches zero as minus zero', '{"a": [0]}', '{"a": -0}', true],
    ['does not match a number as text', '{"a": [1]}', '{"a": "1"}', false],
    ['does not match an inexact big integer', '{"a": [9007199254740991]}', '{"a": 9007199254740993}', false],
    ['matches the largest exact integer', '{"a": [9007199254740991]}', '{"a": 9007199254740991}', true],
  ],
  'anything-but': [
    ['requires a value in a list', '{"a": [{"anything-but": "x"}]}', '{"a": []}', false],
    ['accepts a list with another value', '{"a": [{"anything-but": "x"}]}', '{"a": ["x", "y"]}', true],
    ['refuses a list of listed values only', '{"a": [{"anything-but": "x"}]}', '{"a": ["x", "x"]}', false],
    ['refuses each prefix', '{"a": [{"anything-but": {"prefix": ["u", "e"]}}]}', '{"a": "e"}', false],
    ['accepts another suffix', '{"a": [{"anything-but": {"suffix": [".png"]}}]}', '{"a": "a.gif"}', true],
  ],
  'a prefix or suffix': [
    ['does not match the middle', '{"a": [{"prefix": "west"}]}', '{"a": "eu-west-1"}', false],
    ['does not match the beginning', '{"a": [{"suffix": "cat"}]}', '{"a": "cat.png"}', false],
  ],
  numeric: [
    ['> excludes its bound', '{"a": [{"numeric": [">", 1]}]}', '{"a": 1}', false],
    ['>= includes its bound', '{"a": [{"numeric": [">=", 1]}]}', '{"a": 1}', true],
    ['< excludes its bound', '{"a": [{"numeric": ["<", 1]}]}', '{"a": 1}', false],
    ['<= includes its bound', '{"a": [{"numeric": ["<=", 1]}]}', '{"a": 1}', true],
    ['compares fractions', '{"a": [{"numeric": ["=", 3.018e2]}]}', '{"a": 301.8}', true],
    ['matches only numbers', '{"a": [{"numeric": [">", 0]}]}', '{"a": "5"}', false],
    ['takes big integers', '{"a": [{"numeric": [">", 9007199254740991]}]}', '{"a": 9007199254740993}', true],
    ['accepts an overflowing number', '{"a": [{"numeric": [">", 1]}]}', '{"a": 1e999}', true],
  ],
  'a list in the data': [
    ['matches with any element', '{"a": ["y"]}', '{"a": ["x", "y"]}', true],
    ['of lists is flattened', '{"a": ["z"]}', '{"a": [["x"], [["z"]]]}', true],
    ['of objects matches within one', '{"a": {"b": [1], "c": [2]}}', '{"a": [{"b": 1}, {"c": 2}]}', false],
    ['of objects and values ignores the values', '{"a": {"b": [1]}}', '{"a": [7, null, {"b": 1}]}', true],
    ['may lack a field', '{"a": {"b": [{"exists": false}]}}', '{"a": [{"b": 1}, {"c": 1}]}', true],
    ['without elements has no fields', '{"a": {"b": [{"exists": false}]}}', '{"a": []}', true],
    ['of empty lists has no value', '{"a": [{"exists": false}]}', '{"a": [[], []]}', true],
    [
      'meets $or within one',
      '{"a": {"b": [1], "$or": [{"c": [1]}, {"d": [2]}]}}',
      '{"a": [{"b": 1}, {"c": 1}]}',
      false,
    ],
  ],
  'data that is not an object': [
    ['has no fields', '{"a": [1]}', '1', false],
    ['has no fields if it is null', '{"a": [1]}', 'null', false],
    ['matches a filter for absence', '{"a": [{"exists": false}]}', '"text"', true],
    ['matches with an element of a list', '{"a": [1]}', '[{"a": 2}, {"a": 1}]', true],
    ['matches a filter for absence as an empty list', '{"a": [{"exists": false}]}', '[]', true],
  ],
  'a name': [['with a dot is no path', '{"a.b": [1]}', '{"a": {"b": 1}}', false]],
  'an inherited JavaScript property': [
    ['is not a field of the data', '{"constructor": {"name": [{"exists": true}]}}', '{}', false],
    ['is not a field if it is the prototype', '{"__proto__": {"x": [1]}}', '{"x": 1}', false],
    ['is a field if it was published', '{"__proto__": {"x": [1]}}', '{"__proto__": {"x": 1}}', true],
    ['is not a field of text', '{"a": {"length": [1]}}', '{"a": "x"}', false],
    ['is not a field of a list', '{"a": {"length": [1]}}', '{"a": ["x"]}', false],
  ],
};

describe.each(Object.entries(tables))('%s', (_name, cases) => {
  it.each(cases)('%s: %s on %s is %s', (_what, filter, data, expected) => {
    expect(matches(JSON.parse(filter), JSON.parse(data))).toBe(expected);
  });
});

describe('the first field that does not match', () => {
  it.each([
    ['the first of several', '{"a": [1], "b": [2], "c": [3]}', '{"a": 1, "b": 3, "c": 4}', 'b'],
    ['a nested one, by its path', '{"a": {"b": {"c": [1]}}}', '{"a": {"b": {"c": 2}}}', 'a.b.c'],
    ['an absent one', '{"a": {"b": [1]}}', '{}', 'a.b'],
    [
      'that of the first element of a list',
      '{"a": {"b": [1], "c": [1]}}',
      '{"a": [{"b": 1}, {"c": 1}]}',
      'a.c',
    ],
    [
      'the alternatives, if none matches',
      '{"a": {"$or": [{"b": [1]}, {"c": [1]}]}}',
      '{"a": {"b": 2}}',
      'a.$or',
    ],
  ])('is %s', (_what, filter, data, path) => {
    expect(mismatchOf(JSON.parse(filter), JSON.parse(data))).toBe(path);
  });
});

describe('hostile data', () => {
  const rules = Array.from({ length: 99 }, (_, index) => ({ prefix: `never-${index}` }));
  const wide = { a: [...rules, 'found'] };

  it.each([
    ['half a million numbers', `{"a": [${'0,'.repeat(500_000)}0]}`],
    ['half a million lists within lists', `{"a": ${'['.repeat(500_000)}${']'.repeat(500_000)}}`],
    ['as many objects as fit into 1 MiB', `{"a": [${'{"a":1},'.repeat(120_000)}{}]}`],
    ['a text of 1 MiB', `{"a": "${'x'.repeat(1_048_576)}"}`],
    ['objects within objects', `${'{"a":'.repeat(150_000)}1${'}'.repeat(150_000)}`],
  ])('takes no time that grows with its square: %s', (_what, data) => {
    // That would be minutes, and the test may take 20 s.
    expect(matches(wide, JSON.parse(data))).toBe(false);
  });

  it('does not multiply the alternatives of several $or, which would be 2 to the 40th', () => {
    const fields = Array.from({ length: 40 }, (_, index) => `f${index}`);
    const alternatives = { $or: [{ a: [1] }, { b: [1] }] };
    const filter = { ...Object.fromEntries(fields.map((name) => [name, alternatives])), never: [1] };
    const data = Object.fromEntries(fields.map((name) => [name, { a: 1, b: 1 }]));
    expect(matches(filter, data)).toBe(false);
  });
});

const faultsOf = (text: string): string[] => {
  const parsed = parseContentFilter(JSON.parse(text));
  return parsed.ok
    ? []
    : parsed.faults.map(({ path, message }) => `${path.map(String).join('/')}: ${message}`);
};

const nested = (depth: number): string => `${'{"a":'.repeat(depth)}[1]${'}'.repeat(depth)}`;
const listed = (count: number): string =>
  `{"a": ${JSON.stringify(Array.from({ length: count }, (_, i) => i))}}`;
const sized = (bytes: number): string => JSON.stringify({ a: ['x'.repeat(bytes - '{"a":[""]}'.length)] });

describe('parsing a content filter', () => {
  it.each([
    ['of the maximum depth', nested(10)],
    ['with the maximum number of values', listed(100)],
    ['of the maximum length', sized(4096)],
    ['with names of comparisons as names of fields', '{"prefix": ["x"], "exists": {"numeric": [1]}}'],
    ['with an empty name', '{"": [1]}'],
    ['with one bound', '{"a": [{"numeric": ["<=", -9007199254740991]}]}'],
    [
      'with everything',
      '{"a": ["x", 1, true, null, {"prefix": "y"}, {"exists": false}], "$or": [{"b": [{"anything-but": [1, null]}]}, {"c": {"d": [{"numeric": [">=", 0, "<", 1]}]}}]}',
    ],
  ])('accepts a filter %s', (_what, text) => {
    expect(faultsOf(text)).toEqual([]);
  });

  it.each([
    ['null', 'null', ''],
    ['text', '"a"', ''],
    ['a list', '[{"a": [1]}]', ''],
    ['empty', '{}', ''],
    ['an empty nested object', '{"a": {"b": {}}}', 'a/b'],
    ['an empty list', '{"a": {"b": []}}', 'a/b'],
    ['a value without a list', '{"a": "x"}', 'a'],
    ['a null without a list', '{"a": {"b": null}}', 'a/b'],
    ['a comparison without a list', '{"a": {"prefix": "x"}}', 'a/prefix'],
    ['a list within a list', '{"a": [1, [2]]}', 'a/1'],
    ['an unknown comparison', '{"a": [{"wildcard": "x*"}]}', 'a/0/wildcard'],
    ['a comparison that JavaScript inherits', '{"a": [{"constructor": "x"}]}', 'a/0/constructor'],
    ['a comparison with a special name in JavaScript', '{"a": [{"__proto__": "x"}]}', 'a/0/__proto__'],
    ['two comparisons in one object', '{"a": [{"prefix": "x", "suffix": "y"}]}', 'a/0'],
    ['an object without a comparison', '{"a": [1, {}]}', 'a/1'],
    ['a prefix that is not text', '{"a": [{"prefix": 1}]}', 'a/0/prefix'],
    ['a list of prefixes', '{"a": [{"prefix": ["x"]}]}', 'a/0/prefix'],
    ['a suffix that is not text', '{"a": [{"suffix": null}]}', 'a/0/suffix'],
    ['exists as text', '{"a": [{"exists": "true"}]}', 'a/0/exists'],
    ['exists as a number', '{"a": [{"exists": 1}]}', 'a/0/exists'],
    ['anything-but an empty list', '{"a": [{"anything-but": []}]}', 'a/0/anything-but'],
    ['anything-but numeric', '{"a": [{"anything-but": {"numeric": ["=", 1]}}]}', 'a/0/anything-but'],
    ['anything-but two', '{"a": [{"anything-but": {"prefix": "x", "suffix": "y"}}]}', 'a/0/anything-but'],
    ['anything-but a prefix that is no text', '{"a": [{"anything-but": {"prefix": 1}}]}', 'a/0/anything-but'],
    ['anything-but an empty prefix list', '{"a": [{"anything-but": {"prefix": []}}]}', 'a/0/anything-but'],
    ['anything-but a list of lists', '{"a": [{"anything-but": [["x"]]}]}', 'a/0/anything-but'],
    ['numeric without a list', '{"a": [{"numeric": 5}]}', 'a/0/numeric'],
    ['numeric of nothing', '{"a": [{"numeric": []}]}', 'a/0/numeric'],
    ['numeric without an operator', '{"a": [{"numeric": [5]}]}', 'a/0/numeric'],
    ['numeric without a number', '{"a": [{"numeric": ["<"]}]}', 'a/0/numeric'],
    ['an unknown operator', '{"a": [{"numeric": ["!=", 5]}]}', 'a/0/numeric'],
    ['a number as text', '{"a": [{"numeric": ["<", "5"]}]}', 'a/0/numeric'],
    ['an upper bound first', '{"a": [{"numeric": ["<", 5, ">", 1]}]}', 'a/0/numeric'],
    ['two lower bounds', '{"a": [{"numeric": [">", 1, ">", 2]}]}', 'a/0/numeric'],
    ['three bounds', '{"a": [{"numeric": [">", 1, "<", 5, "<", 4]}]}', 'a/0/numeric'],
    ['an empty range', '{"a": [{"numeric": [">", 5, "<", 5]}]}', 'a/0/numeric'],
    ['a number that is not exact', '{"a": [1, 9007199254740993]}', 'a/1'],
    ['a number that overflows', '{"a": [1e999]}', 'a/0'],
    ['a bound that is not exact', '{"a": [{"numeric": ["<", -9007199254740993]}]}', 'a/0/numeric'],
    ['$or with one alternative', '{"$or": [{"a": [1]}]}', '$or'],
    ['$or as an object', '{"a": {"$or": {"b": [1]}}}', 'a/$or'],
    ['$or of a value that is not an object', '{"$or": [{"a": [1]}, 5]}', '$or/1'],
    ['$or of an empty object', '{"$or": [{"a": [1]}, {}]}', '$or/1'],
    ['a fault within $or', '{"x": {"$or": [{"a": [1]}, {"b": [{"numeric": []}]}]}}', 'x/$or/1/b/0/numeric'],
    ['too deep', nested(11), 'a/a/a/a/a/a/a/a/a/a'],
    ['nested as deep as 4,096 bytes can be', nested(681), 'a/a/a/a/a/a/a/a/a/a'],
    ['nested extremely deep', nested(100_000), ''],
    ['a list nested extremely deep', `{"a": ${'['.repeat(200_000)}${']'.repeat(200_000)}}`, ''],
    ['too long, despite other faults', JSON.stringify({ ['x'.repeat(5000)]: [] }), ''],
    ['too many values', listed(101), ''],
    [
      'too many values in one comparison',
      JSON.stringify({ a: [{ 'anything-but': Array.from({ length: 101 }, (_, i) => i) }] }),
      '',
    ],
    [
      'too many texts in one comparison',
      JSON.stringify({ a: [{ 'anything-but': { suffix: Array.from({ length: 101 }, (_, i) => `${i}`) } }] }),
      '',
    ],
    ['too long', sized(4097), ''],
    ['too long in bytes', JSON.stringify({ a: ['ü'.repeat(2048)] }), ''],
  ])('refuses with one fault: %s', (_what, text, path) => {
    const faults = faultsOf(text);
    expect(faults).toHaveLength(1);
    expect(faults[0]).toMatch(/^[^:]*: must |^[^:]*: is not /);
    expect(faults[0]?.split(': ')[0]).toBe(path);
  });

  it('reports every fault', () => {
    expect(faultsOf('{"a": "x", "b": [{"exists": 1}, {"prefix": 2}]}')).toEqual([
      expect.stringMatching(/^a: /),
      expect.stringMatching(/^b\/0\/exists: /),
      expect.stringMatching(/^b\/1\/prefix: /),
    ]);
  });

  it('stops after twenty faults of a hostile filter', () => {
    const faults = faultsOf(`{"a": [${'[],'.repeat(1300)}[]]}`);
    expect(faults).toHaveLength(20);
  });

  it('lists the available comparisons', () => {
    expect(faultsOf('{"a": [{"cidr": "10.0.0.0/8"}]}')).toEqual([
      'a/0/cidr: is not a comparison; use one of prefix, suffix, anything-but, numeric, exists',
    ]);
  });
});

describe('a content filter', () => {
  /** Few and similar values, so that filters often match the data. */
  const name = fc.constantFrom('a', 'b', 'c');
  const scalar = fc.constantFrom<Json>('', 'x', 'xy', 'y', -1, 0, 1, 2, true, false, null);
  const text = fc.constantFrom('', 'x', 'xy', 'y');
  const number = fc.constantFrom(-1, 0, 1, 2);

  const comparison: fc.Arbitrary<Json> = fc.oneof(
    fc.record({ prefix: text }),
    fc.record({ suffix: text }),
    fc.record({ exists: fc.boolean() }),
    fc.record({ 'anything-but': fc.oneof(scalar, fc.array(scalar, { minLength: 1, maxLength: 3 })) }),
    fc.record({ 'anything-but': fc.oneof(fc.record({ prefix: text }), fc.record({ suffix: text })) }),
    fc.record({ numeric: fc.tuple(fc.constantFrom('=', '<', '<=', '>', '>='), number) }),
    fc.record({
      numeric: fc.tuple(
        fc.constantFrom('>', '>='),
        fc.constant(-1),
        fc.constantFrom('<', '<='),
        number.filter((n) => n > -1),
      ),
    }),
  );

  const rules: fc.Arbitrary<Json[]> = fc.array(fc.oneof(scalar, comparison), {
    minLength: 1,
    maxLength: 3,
  });

  const filterOf = (depth: number): fc.Arbitrary<Fields> => {
    if (depth === 0) return fc.dictionary(name, rules, { minKeys: 1, maxKeys: 3 });
    const inner = filterOf(depth - 1);
    const condition = fc.oneof({ weight: 2, arbitrary: rules }, { weight: 1, arbitrary: inner });
    return fc
      .record({
        fields: fc.dictionary(name, condition, { minKeys: 1, maxKeys: 2 }),
        alternatives: fc.option(fc.array(inner, { minLength: 2, maxLength: 2 }), { nil: undefined, freq: 2 }),
      })
      .map(({ fields, alternatives }) => ({ ...fields, ...(alternatives && { $or: alternatives }) }));
  };

  const filter = filterOf(2);

  const dataOf = (lists: boolean) =>
    fc.letrec<{ value: Json; object: Fields }>((tie) => ({
      value: fc.oneof(
        { depthSize: 'small' },
        scalar,
        tie('object'),
        ...(lists ? [fc.array(tie('value'), { maxLength: 3 })] : []),
      ),
      object: fc.dictionary(name, tie('value'), { maxKeys: 3 }),
    }));

  const withLists = dataOf(true);
  const data = withLists.value;

  /** Without lists. */
  const plainObject = dataOf(false).object;
  const noList = data.filter((value) => !Array.isArray(value));
  const valueAt = (value: unknown, [step, ...steps]: readonly PropertyKey[]): unknown => {
    if (step === undefined) return value;
    return typeof value === 'object' && value !== null ? valueAt(Reflect.get(value, step), steps) : undefined;
  };

  it('decides like its expansion without $or for data without lists, and names a field that does not match', () => {
    let matched = 0;
    const namesIn = (value: Json): string[] =>
      typeof value === 'object' && value !== null
        ? Object.entries(value).flatMap(([key, inner]) => [key, ...namesIn(inner)])
        : [];
    fc.assert(
      fc.property(filter, plainObject, (filter, object) => {
        const mismatch = mismatchOf(filter, object);
        matched += mismatch === undefined ? 1 : 0;
        expect(mismatch === undefined).toBe(matchesByWays(filter, object));
        for (const step of mismatch?.split('.') ?? []) expect(namesIn(filter)).toContain(step);
      }),
      { numRuns: 2000 },
    );
    expect(matched).toBeGreaterThan(30);
  });

  it('matches the nested data from which it was derived', () => {
    const wrapped = fc.array(fc.oneof(name, fc.constant(0)), { minLength: 1, maxLength: 6 });
    fc.assert(
      fc.property(wrapped, name, scalar, fc.array(data), (path, last, leaf, others) => {
        const steps = [...path, last];
        const around = steps.reduceRight<Json>(
          (inner, step) => (step === 0 ? [...others, inner, ...others] : { [step]: inner }),
          leaf,
        );
        const asked = steps.reduceRight<Json>(
          (inner, step) => (step === 0 ? inner : { [step]: inner }),
          [leaf],
        );
        expect(matches(asked, around)).toBe(true);
      }),
    );
  });

  it('matches a list if it matches one of its elements', () => {
    fc.assert(
      fc.property(filter, fc.array(noList, { minLength: 1 }), (filter, elements) => {
        expect(matches(filter, elements)).toBe(elements.some((element) => matches(filter, element)));
      }),
    );
  });

  it('treats a value and a nested list of it alike', () => {
    fc.assert(
      fc.property(filter, data, (filter, data) => {
        expect(matches(filter, [[data]])).toBe(matches(filter, data));
      }),
    );
  });

  it('is accepted or refused without an exception, and faults have existing paths', () => {
    fc.assert(
      fc.property(
        fc.oneof(
          fc.json({ maxDepth: 12 }),
          filter.map((one) => JSON.stringify(one)),
        ),
        (text) => {
          const given: unknown = JSON.parse(text);
          const parsed = parseContentFilter(given);
          const paths = parsed.ok ? [] : parsed.faults.map(({ path }) => path);
          expect(parsed.ok || paths.length > 0).toBe(true);
          for (const path of paths) {
            expect(valueAt(given, path)).not.toBe(undefined);
          }
        },
      ),
      { numRuns: 500 },
    );
  });
});

type Json = null | boolean | number | string | Json[] | { [name: string]: Json };
type Fields = Record<string, Json>;

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
const matchesByWays = (filter: Fields, object: Fields): boolean => {
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
