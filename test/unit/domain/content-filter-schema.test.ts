import { describe, expect, it } from 'vitest';
import { parseContentFilter } from '../../../shared/domain/subscription/content-filter-schema.ts';

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
    [
      'anything-but with another comparison',
      '{"a": [{"anything-but": {"numeric": ["=", 1]}}]}',
      'a/0/anything-but',
    ],
    [
      'anything-but with two comparisons',
      '{"a": [{"anything-but": {"prefix": "x", "suffix": "y"}}]}',
      'a/0/anything-but',
    ],
    [
      'anything-but a prefix that is not text',
      '{"a": [{"anything-but": {"prefix": 1}}]}',
      'a/0/anything-but',
    ],
    [
      'anything-but an empty list of prefixes',
      '{"a": [{"anything-but": {"prefix": []}}]}',
      'a/0/anything-but',
    ],
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
