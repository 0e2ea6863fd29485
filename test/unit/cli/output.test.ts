import { Readable } from 'node:stream';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { rangesOf } from '../../../cli/commands/publish/publish-report.ts';
import { inputLines } from '../../../cli/options/input-lines.ts';
import { withMembers } from '../../../cli/options/json-text.ts';
import { printable, printableJson } from '../../../cli/output/printable.ts';
import { progressBar } from '../../../cli/output/progress-line.ts';
import { fieldLines, tableLines } from '../../../cli/output/table.ts';

const anyText = fc.string({ unit: 'binary' });
const UNSAFE = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u;

describe('untrusted text', () => {
  it('contains no character that a terminal acts on', () => {
    fc.assert(fc.property(anyText, (text) => !UNSAFE.test(printable(text))));
  });

  it.each(['\u061c', '\u00ad', '\ufff9', '\u{e0041}', '\u202e', '\u001b'])('has %j escaped', (character) => {
    const shown = printable(`a${character}b`);
    expect(shown).toMatch(/^a(?:\\u[0-9a-f]{4})+b$/);
    expect(JSON.parse(`"${shown}"`)).toBe(`a${character}b`);
  });

  it('is unchanged if it is harmless', () => {
    expect(printable('grüße, 世界 – "q" \\ 👍')).toBe('grüße, 世界 – "q" \\ 👍');
  });

  it('keeps its value in JSON, with unsafe characters escaped', () => {
    fc.assert(
      fc.property(fc.jsonValue({ stringUnit: 'binary' }), (value) => {
        const shown = printableJson(JSON.stringify(value));
        expect(JSON.parse(shown)).toEqual(JSON.parse(JSON.stringify(value)));
        expect(shown).not.toMatch(UNSAFE);
      }),
    );
  });
});

describe('a table', () => {
  it('aligns its columns by display width', () => {
    const columns = [{ head: 'Name' }, { head: 'N', align: 'right' as const }];
    expect(
      tableLines(columns, [
        ['世界', '10'],
        ['e\u0301', '5'],
      ]),
    ).toEqual(['Name   N', '世界  10', 'e\u0301      5']);
  });

  it('of fields omits those without a value', () => {
    expect(
      fieldLines([
        ['A', '1'],
        ['Long', undefined],
        ['Bcd', '2'],
      ]),
    ).toEqual(['A    1', 'Bcd  2']);
  });
});

describe('a progress bar', () => {
  it.each([
    [0, '[------------------------------]   0%'],
    [0.5, '[###############---------------]  50%'],
    [1, '[##############################] 100%'],
  ])('shows %f', (part, bar) => {
    expect(progressBar(part)).toBe(bar);
  });
});

describe('lines of an input', () => {
  const lines = async (chunks: Buffer[], most = 1_000): Promise<(string | undefined)[]> => {
    const texts: (string | undefined)[] = [];
    for await (const { bytes } of inputLines(Readable.from(chunks), most)) texts.push(bytes?.toString());
    return texts;
  };

  it('are the same for any division of the bytes into chunks', async () => {
    const text = fc.array(fc.constantFrom('a', 'ü', '\n', '\r', '\u2028', '世'), { maxLength: 40 });
    await fc.assert(
      fc.asyncProperty(text, fc.integer({ min: 1, max: 5 }), async (parts, size) => {
        const bytes = Buffer.from(parts.join(''));
        const chunks = Array.from({ length: Math.ceil(bytes.length / size) }, (_, index) =>
          bytes.subarray(index * size, (index + 1) * size),
        );
        const expected = parts.join('').split('\n');
        if (expected.at(-1) === '') expected.pop();
        expect(await lines(chunks)).toEqual(expected);
      }),
    );
  });

  it('mark a line that is too long, and continue after it', async () => {
    expect(await lines([Buffer.from('ab\nabcd'), Buffer.from('e\nabc\n')], 3)).toEqual([
      'ab',
      undefined,
      'abc',
    ]);
  });
});

describe('JSON text', () => {
  it('keeps the source text of its members', () => {
    expect(
      withMembers(' { "n" : 1.0 } ', [
        ['m', '2.00'],
        ['x', undefined],
      ]),
    ).toBe('{"n" : 1.0,"m":2.00}');
    expect(withMembers('{}', [['m', '1']])).toBe('{"m":1}');
  });
});

describe('line ranges', () => {
  it('combine consecutive line numbers', () => {
    expect(rangesOf([5, 1, 3, 2, 9])).toBe('1-3, 5, 9');
  });
});
