import { describe, expect, it } from 'vitest';
import { parseContentFilter } from '../../../shared/domain/subscription/content-filter-schema.ts';
import { evaluateFilter } from '../../../shared/domain/subscription/content-filter.ts';

const withoutLimit = () => ({ steps: Number.MAX_SAFE_INTEGER, listsRead: new WeakMap() });

/** Both as JSON text, as they come. */
const matches = (filter: string, data: string): boolean => {
  const parsed = parseContentFilter(JSON.parse(filter));
  if (!parsed.ok) throw new Error(`refused: ${JSON.stringify(parsed.faults)}`);
  return evaluateFilter(parsed.filter, JSON.parse(data), withoutLimit()).matches;
};

type Case = [what: string, filter: string, data: string, expected: boolean];

const tables: Record<string, Case[]> = {
  'an exact value': [
    ['matches the same text', '{"a": ["x"]}', '{"a": "x"}', true],
    ['tells other text', '{"a": ["x"]}', '{"a": "X"}', false],
    ['matches any of a list', '{"a": ["x", "y"]}', '{"a": "y"}', true],
    ['matches a number however it is written', '{"a": [300]}', '{"a": 3.0e2}', true],
    ['matches zero as minus zero', '{"a": [0]}', '{"a": -0}', true],
    ['tells a number from text', '{"a": [1]}', '{"a": "1"}', false],
    ['matches true', '{"a": [true]}', '{"a": true}', true],
    ['tells true from 1', '{"a": [true]}', '{"a": 1}', false],
    ['matches null', '{"a": [null]}', '{"a": null}', true],
    ['tells null from absence', '{"a": [null]}', '{}', false],
    ['matches empty text', '{"a": [""]}', '{"a": ""}', true],
    ['does not match an object', '{"a": ["x"]}', '{"a": {"x": "x"}}', false],
    ['does not meet big integers', '{"a": [9007199254740991]}', '{"a": 9007199254740993}', false],
    ['matches the greatest that is exact', '{"a": [9007199254740991]}', '{"a": 9007199254740991}', true],
  ],
  'a prefix or suffix': [
    ['matches the beginning', '{"a": [{"prefix": "eu-"}]}', '{"a": "eu-west-1"}', true],
    ['matches the whole', '{"a": [{"prefix": "eu-"}]}', '{"a": "eu-"}', true],
    ['does not match the middle', '{"a": [{"prefix": "west"}]}', '{"a": "eu-west-1"}', false],
    ['matches the end', '{"a": [{"suffix": ".png"}]}', '{"a": "cat.png"}', true],
    ['does not match the beginning', '{"a": [{"suffix": "cat"}]}', '{"a": "cat.png"}', false],
    ['is for text only', '{"a": [{"prefix": "1"}]}', '{"a": 12}', false],
    ['is text where it is empty', '{"a": [{"prefix": ""}]}', '{"a": "any"}', true],
  ],
  'anything-but': [
    ['refuses what it names', '{"a": [{"anything-but": "x"}]}', '{"a": "x"}', false],
    ['takes anything else', '{"a": [{"anything-but": "x"}]}', '{"a": "y"}', true],
    ['takes another type', '{"a": [{"anything-but": "1"}]}', '{"a": 1}', true],
    ['takes null where it is not named', '{"a": [{"anything-but": "x"}]}', '{"a": null}', true],
    ['refuses null where it is', '{"a": [{"anything-but": null}]}', '{"a": null}', false],
    ['refuses all of a list', '{"a": [{"anything-but": ["x", 2]}]}', '{"a": 2}', false],
    ['asks for a value', '{"a": [{"anything-but": "x"}]}', '{}', false],
    ['asks for a value in a list', '{"a": [{"anything-but": "x"}]}', '{"a": []}', false],
    ['takes a list with another value', '{"a": [{"anything-but": "x"}]}', '{"a": ["x", "y"]}', true],
    ['refuses a list of nothing else', '{"a": [{"anything-but": "x"}]}', '{"a": ["x", "x"]}', false],
    ['refuses a prefix', '{"a": [{"anything-but": {"prefix": "u"}}]}', '{"a": "us"}', false],
    ['takes another prefix', '{"a": [{"anything-but": {"prefix": "u"}}]}', '{"a": "eu"}', true],
    [
      'refuses each of the prefixes',
      '{"a": [{"anything-but": {"prefix": ["u", "e"]}}]}',
      '{"a": "eu"}',
      false,
    ],
    ['takes what is no text', '{"a": [{"anything-but": {"prefix": "u"}}]}', '{"a": 1}', true],
    ['refuses a suffix', '{"a": [{"anything-but": {"suffix": ".png"}}]}', '{"a": "a.png"}', false],
    ['takes another suffix', '{"a": [{"anything-but": {"suffix": [".png"]}}]}', '{"a": "a.gif"}', true],
  ],
  numeric: [
    ['= matches', '{"a": [{"numeric": ["=", 3.018e2]}]}', '{"a": 301.8}', true],
    ['= tells', '{"a": [{"numeric": ["=", 1]}]}', '{"a": 2}', false],
    ['> leaves its bound out', '{"a": [{"numeric": [">", 1]}]}', '{"a": 1}', false],
    ['>= takes its bound in', '{"a": [{"numeric": [">=", 1]}]}', '{"a": 1}', true],
    ['< leaves its bound out', '{"a": [{"numeric": ["<", 1]}]}', '{"a": 1}', false],
    ['<= takes its bound in', '{"a": [{"numeric": ["<=", 1]}]}', '{"a": 1}', true],
    ['a range matches within', '{"a": [{"numeric": [">", 0, "<=", 5]}]}', '{"a": 5}', true],
    ['a range ends below', '{"a": [{"numeric": [">", 0, "<=", 5]}]}', '{"a": 0}', false],
    ['a range ends above', '{"a": [{"numeric": [">", 0, "<=", 5]}]}', '{"a": 5.01}', false],
    ['is for numbers only', '{"a": [{"numeric": [">", 0]}]}', '{"a": "5"}', false],
    [
      'puts a big integer on the right side',
      '{"a": [{"numeric": [">", 9007199254740991]}]}',
      '{"a": 9007199254740993}',
      true,
    ],
    ['knows no end', '{"a": [{"numeric": [">", 1]}]}', '{"a": 1e999}', true],
  ],
  exists: [
    ['true matches a value', '{"a": [{"exists": true}]}', '{"a": 0}', true],
    ['true matches null', '{"a": [{"exists": true}]}', '{"a": null}', true],
    ['true asks for a field', '{"a": [{"exists": true}]}', '{"b": 1}', false],
    ['true asks for a value, not an object', '{"a": [{"exists": true}]}', '{"a": {"b": 1}}', false],
    ['false matches absence', '{"a": [{"exists": false}]}', '{"b": 1}', true],
    ['false matches an object', '{"a": [{"exists": false}]}', '{"a": {"b": 1}}', true],
    ['false matches an empty list', '{"a": [{"exists": false}]}', '{"a": [[], []]}', true],
    ['false refuses a value', '{"a": [{"exists": false}]}', '{"a": null}', false],
    ['false or a value', '{"a": [{"exists": false}, "x"]}', '{"a": "x"}', true],
    ['false or a value: neither', '{"a": [{"exists": false}, "x"]}', '{"a": "y"}', false],
    ['false holds below what is not there', '{"a": {"b": [{"exists": false}]}}', '{}', true],
    ['true does not', '{"a": {"b": [{"exists": true}]}}', '{}', false],
    ['false holds below a value', '{"a": {"b": [{"exists": false}]}}', '{"a": 1}', true],
  ],
  'several fields': [
    ['all have to match', '{"a": [1], "b": [2]}', '{"a": 1, "b": 2}', true],
    ['one is not enough', '{"a": [1], "b": [2]}', '{"a": 1, "b": 3}', false],
    ['what is not asked for does not matter', '{"a": [1]}', '{"a": 1, "z": [9]}', true],
    ['nested', '{"a": {"b": {"c": [1]}}}', '{"a": {"b": {"c": 1}}}', true],
    ['nested elsewhere', '{"a": {"b": {"c": [1]}}}', '{"a": {"c": 1}}', false],
    ['a dot is part of a name', '{"a.b": [1]}', '{"a": {"b": 1}}', false],
  ],
  'a list in the data': [
    ['matches by any element', '{"a": ["y"]}', '{"a": ["x", "y"]}', true],
    ['does not match by none', '{"a": ["z"]}', '{"a": ["x", "y"]}', false],
    ['of lists is one list', '{"a": ["z"]}', '{"a": [["x"], [["z"]]]}', true],
    ['of objects matches by any', '{"a": {"b": [2]}}', '{"a": [{"b": 1}, {"b": 2}]}', true],
    [
      'of objects matches by one alone',
      '{"a": {"b": [1], "c": [2]}}',
      '{"a": [{"b": 1, "c": 9}, {"b": 9, "c": 2}]}',
      false,
    ],
    ['of objects and values passes over values', '{"a": {"b": [1]}}', '{"a": [7, null, {"b": 1}]}', true],
    [
      'of objects has an element without a field',
      '{"a": {"b": [{"exists": false}]}}',
      '{"a": [{"b": 1}, {"c": 1}]}',
      true,
    ],
    ['that is empty has no field', '{"a": {"b": [{"exists": false}]}}', '{"a": []}', true],
  ],
  $or: [
    ['one is enough', '{"$or": [{"a": [1]}, {"b": [2]}]}', '{"b": 2}', true],
    ['none is not', '{"$or": [{"a": [1]}, {"b": [2]}]}', '{"a": 2, "b": 1}', false],
    ['beside a field, both count', '{"c": [3], "$or": [{"a": [1]}, {"b": [2]}]}', '{"a": 1}', false],
    ['beside a field', '{"c": [3], "$or": [{"a": [1]}, {"b": [2]}]}', '{"a": 1, "c": 3}', true],
    ['within an object', '{"o": {"$or": [{"a": [1]}, {"b": [2]}]}}', '{"o": {"b": 2}}', true],
    ['within $or', '{"$or": [{"a": [1]}, {"$or": [{"b": [2]}, {"c": [3]}]}]}', '{"c": 3}', true],
    [
      'in one element of a list',
      '{"o": {"x": [1], "$or": [{"a": [1]}, {"b": [2]}]}}',
      '{"o": [{"x": 1}, {"a": 1}]}',
      false,
    ],
    [
      'on the same field as beside it',
      '{"a": [{"prefix": "x"}], "$or": [{"a": ["xy"]}, {"b": [2]}]}',
      '{"a": "zy", "b": 2}',
      false,
    ],
  ],
  'data that is no object': [
    ['has no fields', '{"a": [1]}', '1', false],
    ['has none either if it is null', '{"a": [1]}', 'null', false],
    ['matches what asks for absence', '{"a": [{"exists": false}]}', '"text"', true],
    ['matches by an element of a list', '{"a": [1]}', '[{"a": 2}, {"a": 1}]', true],
    ['matches as an empty list what asks for absence', '{"a": [{"exists": false}]}', '[]', true],
  ],
  'what JavaScript inherits': [
    ['is no field of the data', '{"constructor": {"name": [{"exists": true}]}}', '{}', false],
    ['nor is the prototype', '{"__proto__": {"x": [1]}}', '{"x": 1}', false],
    ['is a field where it was published', '{"__proto__": {"x": [1]}}', '{"__proto__": {"x": 1}}', true],
    ['has no length', '{"a": {"length": [1]}}', '{"a": "x"}', false],
    ['has none of a list either', '{"a": {"length": [1]}}', '{"a": ["x"]}', false],
  ],
};

describe.each(Object.entries(tables))('%s', (_name, cases) => {
  it.each(cases)('%s: %s on %s is %s', (_what, filter, data, expected) => {
    expect(matches(filter, data)).toBe(expected);
  });
});

describe('hostile data', () => {
  const rules = Array.from({ length: 99 }, (_, index) => ({ prefix: `never-${index}` }));
  const wide = JSON.stringify({ a: [...rules, 'found'] });

  it.each([
    ['half a million numbers', `{"a": [${'0,'.repeat(500_000)}0]}`],
    ['half a million lists within lists', `{"a": ${'['.repeat(500_000)}${']'.repeat(500_000)}}`],
    ['as many objects as fit into 1 MiB', `{"a": [${'{"a":1},'.repeat(120_000)}{}]}`],
    ['a text of 1 MiB', `{"a": "${'x'.repeat(1_048_576)}"}`],
    ['objects within objects', `${'{"a":'.repeat(150_000)}1${'}'.repeat(150_000)}`],
  ])('is looked through in seconds at most: %s', (_what, data) => {
    const started = performance.now();
    expect(matches(wide, data)).toBe(false);
    expect(performance.now() - started).toBeLessThan(3000);
  });

  it('does not multiply the alternatives of many $or, which would be 2 to the 40th', () => {
    const alternatives = '{"$or": [{"a": [1]}, {"b": [1]}]}';
    const fields = Array.from({ length: 40 }, (_, index) => `"f${index}": ${alternatives}`).join(',');
    const filter = `{${fields}, "never": [1]}`;
    const data = `{${Array.from({ length: 40 }, (_, index) => `"f${index}": {"a": 1, "b": 1}`).join(',')}}`;
    const started = performance.now();
    expect(matches(filter, data)).toBe(false);
    expect(performance.now() - started).toBeLessThan(1000);
  });
});
