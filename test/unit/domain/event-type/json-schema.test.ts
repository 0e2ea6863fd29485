import { Ajv } from 'ajv';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import * as z from 'zod';
import { re2Patterns } from '../../../../shared/adapters/pattern/re2.ts';
import { checkSchema } from '../../../../shared/domain/event-type/json-schema-check.ts';
import { validate, type Validation } from '../../../../shared/domain/event-type/json-schema.ts';

const compilePattern = re2Patterns();

/** As dispatch has them: shared/adapters/pattern/lazy-validation.ts. */
const STEPS = 100_000;

const judge = (schema: unknown, data: unknown, steps = STEPS): Validation =>
  validate(schema, data, { compilePattern, steps });

describe('the fault of invalid data', () => {
  const order = {
    type: 'object',
    required: ['id'],
    properties: {
      id: { type: 'string', maxLength: 4 },
      'a/b~c': { const: 1 },
      lines: {
        items: { properties: { amount: { type: 'integer', minimum: 1 } } },
        uniqueItems: true,
        minItems: 1,
      },
      kind: { enum: ['a', 'b'] },
      price: { multipleOf: 0.01 },
      code: { pattern: '^[A-Z]{3}$' },
    },
    propertyNames: { maxLength: 10 },
    additionalProperties: false,
  };

  it.each([
    ['a text in place of an object', 'secret', '', 'must be of type object'],
    ['a missing property', {}, '/id', 'is required'],
    ['a text that is too long', { id: 'secret' }, '/id', 'must be at most 4 characters'],
    ['a name with special characters', { id: '1', 'a/b~c': 2 }, '/a~1b~0c', 'must be the value of const'],
    ['an item', { id: '1', lines: [{ amount: 1 }, { amount: 0 }] }, '/lines/1/amount', 'must be at least 1'],
    ['too few items', { id: '1', lines: [] }, '/lines', 'must be at least 1 items'],
    ['a repeated item', { id: '1', lines: [1, 2, 1] }, '/lines/2', 'must not repeat an earlier item'],
    ['a value that is not listed', { id: '1', kind: 'secret' }, '/kind', 'must be one of the values of enum'],
    ['a price with three decimals', { id: '1', price: 0.001 }, '/price', 'must be a multiple of 0.01'],
    ['a code', { id: '1', code: 'eur' }, '/code', 'must match the pattern "^[A-Z]{3}$"'],
    ['an unknown property', { id: '1', other: 'secret' }, '/other', 'is not allowed'],
    [
      'a long name',
      { id: '1', abcdefghijk: 1 },
      '/abcdefghijk',
      'has a name that must be at most 10 characters',
    ],
  ])('has a path and a rule, and no value: %s', (_, data, path, detail) => {
    expect(judge(order, data)).toEqual({ kind: 'invalid', path, detail });
  });

  it('cuts long patterns and names of the schema', () => {
    const found = judge({ pattern: `^${'a'.repeat(500)}$` }, 'b');
    expect(found.kind === 'invalid' && found.detail).toMatch(/^.{1,100}…$/);
  });
});

describe('numbers', () => {
  it.each([
    ['19.99 is a multiple of 0.01, which it is not in binary', '{"multipleOf": 0.01}', '19.99', true],
    ['1e308 is a multiple of 1e-300', '{"multipleOf": 1e-300}', '1e308', true],
    ['a number beyond double precision is an integer', '{"type": "integer"}', '1e400', true],
    ['and above each maximum', '{"maximum": 1e308}', '1e400', false],
    ['and unlike null', '{"uniqueItems": true}', '[1e400, null]', true],
    [
      'integers beyond 2^53 compare in double precision',
      '{"const": 9007199254740993}',
      '9007199254740992',
      true,
    ],
    ['minus zero is zero', '{"uniqueItems": true}', '[0, -0]', false],
  ])('%s', (_, schema, data, isValid) => {
    expect(judge(JSON.parse(schema), JSON.parse(data)).kind).toBe(isValid ? 'valid' : 'invalid');
  });
});

describe('names of JavaScript', () => {
  it.each(['__proto__', 'constructor', 'toString', 'hasOwnProperty', 'length'])(
    '%s is a name like any other',
    (name) => {
      const schema: unknown = JSON.parse(
        `{"required": [${JSON.stringify(name)}], "properties": {${JSON.stringify(name)}: {"type": "integer"}}, "additionalProperties": false}`,
      );
      const data = (value: string): unknown => JSON.parse(`{${JSON.stringify(name)}: ${value}}`);
      expect(judge(schema, {}).kind).toBe('invalid');
      expect(judge(schema, data('1')).kind).toBe('valid');
      expect(judge(schema, data('"1"'))).toMatchObject({ path: `/${name}` });
      expect(checkSchema({ $ref: `#/${name}` }, compilePattern)).toHaveLength(1);
    },
  );
});

describe('a hostile schema ends undecided, in bounded time', () => {
  const linked = { properties: { next: { $ref: '#' } } };
  const nested = (levels: number): unknown =>
    JSON.parse('{"next":'.repeat(levels) + '1' + '}'.repeat(levels));
  const branches = (levels: number) =>
    Object.fromEntries(
      Array.from({ length: levels }, (_, level) => {
        const $ref = `#/$defs/${level + 1}`;
        return [String(level), { anyOf: [{ $ref }, { $ref }] }];
      }),
    );

  const handedOn = (levels: number) =>
    Object.fromEntries(
      Array.from({ length: levels }, (_, level) => [level, { anyOf: [{ $ref: `#/$defs/${level + 1}` }] }]),
    );

  it.each<[string, unknown, unknown]>([
    ['a reference to itself', { $ref: '#' }, 1],
    [
      'covered items that each reference hands on',
      { $ref: '#/$defs/0', $defs: { ...handedOn(190), 190: { items: true } }, unevaluatedItems: false },
      Array.from({ length: 90_000 }, () => 0),
    ],
    [
      'many patterns for many objects',
      {
        items: {
          patternProperties: Object.fromEntries(
            Array.from({ length: 1600 }, (_, at) => [at.toString(36), true]),
          ),
        },
      },
      Array.from({ length: 40_000 }, () => ({})),
    ],
    [
      'more patterns than are kept',
      {
        items: {
          patternProperties: Object.fromEntries(
            Array.from({ length: 200 }, (_, at) => [`${at}a{990}`, true]),
          ),
        },
      },
      Array.from({ length: 10 }, () => ({ '': 0 })),
    ],
    [
      'a large object that many values are compared with',
      { enum: Array.from({ length: 2_000 }, () => ({})) },
      Object.fromEntries(Array.from({ length: 10_000 }, (_, at) => [`name-${at}`, at])),
    ],
    [
      'names that are counted again and again',
      { allOf: Array.from({ length: 800 }, () => ({ minProperties: 1 })) },
      Object.fromEntries(Array.from({ length: 1_700 }, (_, at) => [`name-${at}`, at])),
    ],
    ['a negated reference to itself', { not: { $ref: '#' } }, 1],
    [
      'branches that double at each reference',
      { $ref: '#/$defs/0', $defs: { ...branches(100), 100: false } },
      1,
    ],
    ['data that is nested deeper than the bound', linked, nested(100_000)],
    [
      'a product of items and alternatives',
      { items: { not: { enum: Array.from({ length: 1000 }, (_, at) => at) } } },
      Array.from({ length: 100_000 }, () => -1),
    ],
    ['unique items that are nested deeper than the bound', { uniqueItems: true }, [nested(100_000)]],
    ['unique items without end', { uniqueItems: true }, Array.from({ length: 300_000 }, (_, at) => at)],
    ['a large pattern on a long text', { pattern: '^(a|b|ab){1,250}$' }, 'ab'.repeat(100_000)],
    [
      'exact decimals of many items',
      { items: { multipleOf: 1e-300 } },
      Array.from({ length: 100_000 }, () => 1e300),
    ],
  ])('%s', (_, schema, data) => {
    expect(checkSchema(schema, compilePattern)).toEqual([]);
    const started = process.cpuUsage();
    expect(judge(schema, data)).toEqual({ kind: 'undecided' });
    const { user, system } = process.cpuUsage(started);
    // Some 50 ms alone on a processor; more while other tests run.
    expect((user + system) / 1000).toBeLessThan(1000);
  });

  it.each<[string, unknown, unknown, Validation['kind']]>([
    [
      '10,000 unique items',
      { uniqueItems: true },
      Array.from({ length: 10_000 }, (_, at) => ({ at })),
      'valid',
    ],
    ['data nested as deep as people write it', linked, nested(150), 'valid'],
    [
      'a pattern that takes exponential time by backtracking',
      { pattern: '(a+)+$' },
      `${'a'.repeat(10_000)}!`,
      'invalid',
    ],
    ['a huge maxLength', { maxLength: 1e300 }, 'a'.repeat(1_000_000), 'valid'],
    ['a huge minLength', { minLength: 1e300 }, 'a'.repeat(1_000_000), 'invalid'],
    [
      'an enum of objects',
      { enum: Array.from({ length: 500 }, (_, at) => ({ at: { x: [at] } })) },
      { at: { x: [-1] } },
      'invalid',
    ],
  ])('%s is decided', (_, schema, data, kind) => {
    expect(judge(schema, data).kind).toBe(kind);
  });

  it('spends no steps on keywords that the standard does not have', () => {
    expect(judge({ unknown: { $ref: 'https://elsewhere.example' } }, 1, 1)).toEqual({ kind: 'valid' });
  });

  it('is undecided, too, if this version cannot read what is stored', () => {
    expect(judge({ properties: { a: 'later' } }, { a: 1 })).toEqual({ kind: 'undecided' });
    expect(judge({ pattern: '(?=a)' }, 'a')).toEqual({ kind: 'undecided' });
    expect(judge({ $ref: '#/gone' }, 'a')).toEqual({ kind: 'undecided' });
  });
});

/** With keywords that draft 7 has as well: by those of 2020-12 ajv decides some of these schemas wrongly, and fails on others. */
describe('compared with another implementation', () => {
  const leaf = fc.oneof(
    fc.record({ type: fc.constantFrom('string', 'integer', 'number', 'object', 'array', 'null', 'boolean') }),
    fc.record({ const: fc.jsonValue({ maxDepth: 1 }) }),
    fc.record({ minimum: fc.integer({ min: -3, max: 3 }) }),
    fc.record({ maxLength: fc.nat(3) }),
    fc.record({ minItems: fc.nat(2), uniqueItems: fc.boolean() }),
    fc.record({ required: fc.uniqueArray(fc.constantFrom('a', 'b', 'c')) }),
    fc.boolean(),
  );
  const { nested } = fc.letrec((tie) => {
    const inner = tie('nested');
    const some = fc.array(inner, { minLength: 1, maxLength: 3 });
    const named = fc.dictionary(fc.constantFrom('a', 'b', 'c'), inner, { maxKeys: 2 });
    return {
      nested: fc.oneof(
        { depthSize: 'small', withCrossShrink: true },
        leaf,
        fc.record({ properties: named, additionalProperties: inner }, { requiredKeys: [] }),
        fc.record({ items: inner }),
        fc.record({ allOf: some, anyOf: some, oneOf: some, not: inner }, { requiredKeys: [] }),
        fc.record({ if: inner, then: inner, else: inner }, { requiredKeys: ['if'] }),
      ),
    };
  });
  // Not nested: below `items` ajv keeps the result of `contains` from the item before.
  const schema = fc.oneof(
    { weight: 5, arbitrary: nested },
    fc.record({ items: nested, contains: nested }, { requiredKeys: ['contains'] }),
  );
  const scalar = fc.constantFrom<unknown>(0, 1, 2.5, -1, '', 'a', 'abcd', null, true, false);
  const { data } = fc.letrec((tie) => ({
    data: fc.oneof(
      { depthSize: 'small' },
      scalar,
      fc.array(tie('data'), { maxLength: 3 }),
      fc.dictionary(fc.constantFrom('a', 'b', 'c', 'd'), tie('data'), { maxKeys: 3 }),
    ),
  }));
  const schemaCopy = z.union([z.boolean(), z.record(z.string(), z.unknown())]);
  // Each schema judges one value: to check it, and to optimise its code, takes longer than that.
  const ajv = new Ajv({ strict: false, validateSchema: false, code: { optimize: false } });

  it('says the same', () => {
    fc.assert(
      fc.property(schema, data, (given, json) => {
        const value: unknown = JSON.parse(JSON.stringify(json));
        const copy = schemaCopy.parse(JSON.parse(JSON.stringify(given)));
        expect(checkSchema(copy, compilePattern)).toEqual([]);
        expect(judge(copy, value).kind).toBe(ajv.validate(copy, value) ? 'valid' : 'invalid');
      }),
      { numRuns: 300 },
    );
  });
});
