import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  elementSources,
  parseJson,
  propertySource,
  wholeSource,
  type Json,
} from '../../../shared/wire/json-slice.ts';
import { jsonText } from './json-text.ts';

const json = (source: string): Json => {
  const parsed = parseJson(source);
  if (parsed === undefined) throw new Error(`not JSON: ${source}`);
  return parsed;
};

describe('the source text of a property', () => {
  it('is exactly as written, with any surroundings', () => {
    fc.assert(
      fc.property(jsonText, jsonText, jsonText, (before, value, after) => {
        const source = ` {"before": ${before} ,\n"sought"\t: ${value} , "after":${after}} `;
        expect(propertySource(json(source), 'sought')).toBe(value);
      }),
      { numRuns: 500 },
    );
  });

  it('is that of the property that JSON.parse uses', () => {
    fc.assert(
      fc.property(jsonText, jsonText, (first, second) => {
        const parsed = json(`{"a":${first},"a":${second},"data":${first}}`);
        expect(propertySource(parsed, 'a')).toBe(second);
        expect(propertySource(parsed, 'data')).toBe(first);
      }),
      { numRuns: 200 },
    );
  });

  it.each([
    ['a key written with escapes', '{"d\\u0061ta":1}', '1'],
    ['the last of several with one name', '{"data":1,"data":[2, 3]}', '[2, 3]'],
    ['an integer beyond a double', '{"data":12345678901234567890}', '12345678901234567890'],
    ['brackets and quotes inside strings', '{"x":"}]\\"data\\":{","data":"\\\\"}', '"\\\\"'],
    ['an empty object', '{ "data" : { } }', '{ }'],
    ['a scalar before the closing bracket', '{"data":true}', 'true'],
    ['an empty key before it', '{"":1,"data":2}', '2'],
  ])('supports %s', (_name, source, expected) => {
    expect(propertySource(json(source), 'data')).toBe(expected);
  });

  it.each(['{}', '{"a":{"data":1}}', '[{"data":1}]', '"data"', '1', 'null', '{"a":"data"}'])(
    'is undefined without a top-level property: %s',
    (source) => {
      expect(propertySource(json(source), 'data')).toBeUndefined();
    },
  );

  it('is found in text nested as deeply as 1 MiB allows', () => {
    const deep = `${'['.repeat(524_000)}${']'.repeat(524_000)}`;
    expect(propertySource(json(`{"data":${deep},"queue":"q"}`), 'data')).toBe(deep);
    expect(propertySource(json(`{"x":${deep},"queue":"q"}`), 'queue')).toBe('"q"');
  });
});

describe('the source texts of array elements', () => {
  it('are exactly as written', () => {
    fc.assert(
      fc.property(fc.array(jsonText, { maxLength: 5 }), (elements) => {
        const trimmed = elements.map((element) => element.trim());
        expect(elementSources(json(` [ ${elements.join(' ,\n')} ] `))).toEqual(trimmed);
      }),
      { numRuns: 200 },
    );
  });

  it('are undefined for other values', () => {
    expect(elementSources(json('{"a":[1]}'))).toBeUndefined();
  });
});

describe('JSON text', () => {
  it.each([
    '',
    ' ',
    '{',
    '[',
    '['.repeat(1_048_576),
    '{"a":1,}',
    "{'a':1}",
    '{"a":1} x',
    'NaN',
    '\ufeff{}',
    '// c\n1',
    '01',
  ])('is refused if it is not strict JSON', (source) => {
    expect(parseJson(source)).toBeUndefined();
  });

  it('as a whole has no surrounding whitespace', () => {
    expect(wholeSource(json(' \n[1, 2]\t'))).toBe('[1, 2]');
  });
});
