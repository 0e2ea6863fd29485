import path from 'node:path';
import { format } from 'oxfmt';
import { describe, expect, it } from 'vitest';
import { declareEventTypes } from '../../../cli/commands/event-types/declarations.ts';
import formatOptions from '../../../oxfmt.config.ts';

/** The declaration of the data by a schema, in one line. */
const declared = (schema: unknown): string => {
  const text = declareEventTypes([{ name: 'a', schema }]);
  const [, data = ''] = /"a": (.*);\n\};\n$/s.exec(text) ?? [];
  return data.replaceAll(/\s+/g, ' ');
};

/** The catalogue whose declarations are package/consumers/esm/event-types.ts. */
const CATALOGUE = [
  {
    name: 'order.created',
    description: 'An order was placed.\nIts items follow.',
    schema: {
      type: 'object',
      properties: {
        total: { type: 'integer', minimum: 0, description: 'In cents.' },
        currency: { enum: ['EUR', 'USD'] },
        coupon: { type: ['string', 'null'], deprecated: true },
        items: { type: 'array', items: { $ref: '#/$defs/item' } },
        labels: { type: 'object', additionalProperties: { type: 'string' } },
      },
      required: ['total', 'currency', 'items'],
      additionalProperties: false,
      $defs: {
        item: {
          type: 'object',
          properties: { sku: { type: 'string' }, 'unit-price': { type: 'number' } },
          required: ['sku'],
        },
      },
    },
  },
  { name: 'order.closed', deprecated: true, schema: { type: 'null' } },
  { name: 'order.noted' },
];

describe('the TypeScript types of a catalogue', () => {
  it('are those that a consumer of the package is type-checked with', async () => {
    const file = path.resolve('package/consumers/esm/event-types.ts');
    const { code } = await format(file, declareEventTypes(CATALOGUE), formatOptions);
    await expect(code).toMatchFileSnapshot(file);
  });

  it.each<[string, unknown, string]>([
    ['no schema', undefined, 'unknown'],
    ['a schema of anything', {}, 'unknown'],
    ['a schema of nothing', { type: 'object', properties: { a: false } }, '{ "a"?: never; }'],
    ['a constant', { const: 'x' }, '"x"'],
    ['an enumeration with an object', { enum: ['x', {}] }, 'unknown'],
    ['properties without a type', { properties: { a: true } }, '{ "a"?: unknown; }'],
    ['items without a type', { items: { type: 'boolean' } }, '(boolean)[]'],
    ['first items beside others', { prefixItems: [{ type: 'string' }], items: false }, 'unknown[]'],
    [
      'properties by pattern',
      { properties: { a: { type: 'null' } }, patternProperties: { '^x-': {} }, additionalProperties: false },
      '{ "a"?: null; [name: string]: unknown; }',
    ],
    [
      'properties by pattern beside others',
      { patternProperties: { '^x-': { type: 'string' } }, additionalProperties: { type: 'number' } },
      'Record<string, unknown>',
    ],
    ['an object of anything', { type: 'object' }, 'Record<string, unknown>'],
    [
      'other properties beside described ones',
      { properties: { a: { type: 'string' } }, additionalProperties: { type: 'number' } },
      '{ "a"?: string; [name: string]: unknown; }',
    ],
    [
      'alternatives',
      { oneOf: [{ type: 'string' }, { type: 'integer' }, { type: 'number' }] },
      'string | number',
    ],
    ['an alternative of anything', { anyOf: [{ type: 'string' }, {}] }, 'unknown'],
    [
      'parts',
      { allOf: [{ properties: { a: { type: 'string' } } }, { required: ['a'] }], properties: { b: {} } },
      '({ "b"?: unknown; }) & ({ "a"?: string; })',
    ],
    ['a reference with escapes', { $ref: '#/$defs/a~1b~0', $defs: { 'a/b~': { type: 'string' } } }, 'string'],
    ['a reference to itself', { properties: { a: { $ref: '#' } } }, '{ "a"?: { "a"?: unknown; }; }'],
    ['a reference to nothing', { $ref: '#/$defs/a' }, 'unknown'],
    ['a reference to another document', { $ref: 'https://example.com/a' }, 'unknown'],
    ['a type that is none', { type: 'text' }, 'unknown'],
    [
      'keywords of the wrong kind',
      { properties: 1, required: 1, allOf: 1, enum: 1, items: 1 },
      'Record<string, unknown>',
    ],
  ])('read %s', (_, schema, expected) => {
    expect(declared(schema)).toBe(expected);
  });

  it('are bounded where references multiply', () => {
    const names = Array.from({ length: 24 }, (_, index) => `d${index}`);
    const twice = (name: string) => ({ properties: { a: { $ref: name }, b: { $ref: name } } });
    const $defs = Object.fromEntries(names.map((name, index) => [name, twice(`#/$defs/d${index + 1}`)]));
    expect(declared({ $ref: '#/$defs/d0', $defs }).length).toBeLessThan(100_000);
  });

  it('contain no code of a name or a description', () => {
    const text = declareEventTypes([
      {
        name: 'a',
        description: 'x */ alert(1) /*\u2028alert(2)',
        schema: { properties: { '"; alert(3); "': { description: '*/ alert(4)', const: '"+alert(5)+"' } } },
      },
    ]);
    expect(text).not.toMatch(/\*\/ alert|^\s*alert/m);
    expect(text).toContain('"\\"; alert(3); \\""?: "\\"+alert(5)+\\"";');
  });
});
