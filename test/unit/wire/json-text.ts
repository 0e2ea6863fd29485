import * as fc from 'fast-check';
import { anyCharacter } from '../../support/any-character.ts';

const space = fc.stringMatching(/^[ \t\n\r]{0,3}$/);

const number = fc.oneof(
  fc.bigInt().map(String),
  fc.double({ noNaN: true, noDefaultInfinity: true }).map((value) => JSON.stringify(value)),
  fc.constantFrom('-0', '1.50', '1e400', '12345678901234567890.000', '0.1E+02'),
);

/** String literals, including escapes that JSON.stringify does not produce. */
const literal = fc.oneof(
  fc.string({ unit: anyCharacter }).map((text) => JSON.stringify(text)),
  fc.constantFrom(
    '"\\u0041"',
    '"\\/"',
    '"\\ud83d\\ude00"',
    '"{[\\\\\\"]}"',
    '""',
    '"\u2028"',
    '"data\\":1,"',
  ),
);

const spaced = (value: fc.Arbitrary<string>): fc.Arbitrary<string> =>
  fc.tuple(space, value, space).map((parts) => parts.join(''));

/** JSON source texts in unusual but valid formatting. */
export const jsonText: fc.Arbitrary<string> = fc.letrec<{ value: string; array: string; object: string }>(
  (tie) => ({
    value: fc.oneof(
      { depthSize: 'small', withCrossShrink: true },
      number,
      literal,
      fc.constantFrom('true', 'false', 'null'),
      tie('array'),
      tie('object'),
    ),
    array: fc.oneof(
      space.map((inner) => `[${inner}]`),
      fc
        .array(spaced(tie('value')), { minLength: 1, maxLength: 4 })
        .map((elements) => `[${elements.join(',')}]`),
    ),
    object: fc.oneof(
      space.map((inner) => `{${inner}}`),
      fc
        .array(
          fc.tuple(
            spaced(fc.oneof(literal, fc.constantFrom('"data"', '"b"', '"a"', '"__proto__"'))),
            spaced(tie('value')),
          ),
          {
            minLength: 1,
            maxLength: 4,
          },
        )
        .map((members) => `{${members.map(([key, value]) => `${key}:${value}`).join(',')}}`),
    ),
  }),
).value;
