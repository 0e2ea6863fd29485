import { describe, expect, it } from 'vitest';
import { re2Patterns } from '../../../shared/adapters/pattern/re2.ts';

const compile = re2Patterns();

describe('a pattern', () => {
  it.for([
    ['a class with an opening bracket', '^[[:alpha:][a]$', ['x', '[a', '::a', 'pa']],
    ['a class of the characters of a name', '^[:alpha:]$', ['b', ':', 'l']],
    ['a class with an escaped bracket', '^[\\[:a-c]$', ['[', 'b', 'd']],
    ['a backslash before a k', '^\\\\k<n>$', ['\\k<n>', 'k<n>']],
    ['escapes of characters', '^\\u{1F600}\\x41\\cA\\/\\0$', ['😀A\u0001/\0', '😀AcA/\0']],
  ] as const)('means what it means in JavaScript: %s', ([, source, texts]) => {
    const compiled = compile(source);
    const found = texts.map((text) => (compiled.ok ? compiled.test(text) : compiled.message));
    expect(found).toEqual(texts.map((text) => RegExp(source, 'u').test(text)));
  });

  it.each([
    ['looks ahead', 'a(?=b)'],
    ['looks behind', '(?<!a)b'],
    ['refers to a group by its number', '(a)\\1'],
    ['refers to a group by its name', '^(?<n>a|b)\\\\\\k<n>$'],
    ['names a script', '\\p{Script=Greek}'],
    ['repeats over 1,000 times', 'a{1001}'],
  ])('that %s is refused', (_, source) => {
    expect(() => RegExp(source, 'u')).not.toThrow();
    expect(compile(source)).toMatchObject({ ok: false });
  });
});
