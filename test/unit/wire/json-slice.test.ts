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

describe('a property is sliced out of JSON text', () => {
  it('exactly as written, whatever stands around it', () => {
    fc.assert(
      fc.property(jsonText, jsonText, jsonText, (before, value, after) => {
        const source = ` {"before": ${before} ,\n"sought"\t: ${value} , "after":${after}} `;
        expect(propertySource(json(source), 'sought')).toBe(value);
      }),
      { numRuns: 500 },
    );
  });

  it('with the value that JSON.parse gives the property, for every property of any object', () => {
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
    ['an empty key beside it', '{"":1,"data":2}', '2'],
  ])('%s', (_name, source, expected) => {
    expect(propertySource(json(source), 'data')).toBe(expected);
  });

  it.each(['{}', '{"a":{"data":1}}', '[{"data":1}]', '"data"', '1', 'null', '{"a":"data"}'])(
    'never from where it is not a top-level property: %s',
    (source) => {
      expect(propertySource(json(source), 'data')).toBeUndefined();
    },
  );

  it('from text nested as deeply as 1 MiB allows', () => {
    const deep = `${'['.repeat(524_000)}${']'.repeat(524_000)}`;
    expect(propertySource(json(`{"data":${deep},"queue":"q"}`), 'data')).toBe(deep);
    expect(propertySource(json(`{"x":${deep},"queue":"q"}`), 'queue')).toBe('"q"');
  });
});

describe('the elements of an array are sliced', () => {
  it('exactly as written', () => {
    fc.assert(
      fc.property(fc.array(jsonText, { maxLength: 5 }), (elements) => {
        const trimmed = elements.map((element) => element.trim());
        expect(elementSources(json(` [ ${elements.join(' ,\n')} ] `))).toEqual(trimmed);
      }),
      { numRuns: 200 },
    );
  });

  it('from arrays only', () => {
    expect(elementSources(json('{"a":[1]}'))).toBeUndefined();
  });
});

describe('text', () => {
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
  ])('that is not strict JSON is refused', (source) => {
    expect(parseJson(source)).toBeUndefined();
  });

  it('as a whole is given without the whitespace around it', () => {
    expect(wholeSource(json(' \n[1, 2]\t'))).toBe('[1, 2]');
  });
});
