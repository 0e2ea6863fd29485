import * as fc from 'fast-check';
import { anyCharacter } from '../support/any-character.ts';

/** Texts that have broken parsers: of JSON, paths, headers, terminals, numbers and prototypes. */
const NASTY = [
  '',
  '\0',
  '\u2028',
  '\u202e',
  '\ud800',
  '\u{10ffff}',
  '"',
  '\\',
  '{',
  '[[[[',
  '%2F',
  '%',
  '..',
  '__proto__',
  'constructor',
  'toString',
  '$(id)',
  '1e400',
  '-0',
  '9007199254740993',
  'NaN',
  '\r\n',
  '=1+1',
  '-----BEGIN',
  'x'.repeat(5_000),
] as const;

export const nasty: fc.Arbitrary<string> = fc.oneof(
  fc.constantFrom(...NASTY),
  fc.string({ unit: anyCharacter, maxLength: 40 }),
);

/** Cuts `length` characters, inserts a text, or repeats what was there until it has `repeated` characters. */
type Edit = { at: number; length: number; text: string; repeated: number };

/** Long enough that a reader whose time grows with the square of the length does not pass for one that is fast. */
const LONG = 100_000;

const edit: fc.Arbitrary<Edit> = fc.record({
  at: fc.nat(100_000),
  length: fc.oneof({ weight: 4, arbitrary: fc.nat(12) }, { weight: 1, arbitrary: fc.nat(60) }),
  text: nasty,
  repeated: fc.oneof({ weight: 30, arbitrary: fc.constant(0) }, { weight: 1, arbitrary: fc.constant(LONG) }),
});

const edited = (text: string, { at, length, text: inserted, repeated }: Edit): string => {
  const start = text.length === 0 ? 0 : at % (text.length + 1);
  const piece = text.slice(start, start + length);
  const middle = repeated > 0 && piece !== '' ? piece.repeat(Math.ceil(repeated / piece.length)) : inserted;
  return text.slice(0, start) + middle + text.slice(start + length);
};

/** A valid text with a few parts cut, replaced, inserted or repeated, so that inputs get past the first checks. */
export const nearly = (valid: readonly string[]): fc.Arbitrary<string> =>
  fc
    .tuple(fc.constantFrom(...valid), fc.array(edit, { maxLength: 3 }))
    .map(([text, edits]) => edits.reduce(edited, text));

/** The text of a valid JSON value with a few of its values or names replaced, and then perhaps edited as text. */
export const nearlyJson = (valid: readonly unknown[]): fc.Arbitrary<string> =>
  fc.oneof(
    nearly(valid.map((value) => JSON.stringify(value))),
    fc
      .tuple(fc.constantFrom(...valid), fc.nat(100), fc.oneof(anything, nasty))
      .map(([value, place, other]) => JSON.stringify(replacedIn(value, place, other))),
  );

/** Replaces the value at this place, counted in the order in which JSON.stringify visits values. */
const replacedIn = (value: unknown, place: number, other: unknown): unknown => {
  let count = 0;
  JSON.stringify(value, (_, inner: unknown) => ((count += 1), inner));
  let at = place % count;
  return JSON.parse(JSON.stringify(value, (_, inner: unknown) => (at-- === 0 ? other : inner)));
};

/** Any JSON value, with unusual names and numbers. */
export const anything: fc.Arbitrary<unknown> = fc.anything({
  key: fc.oneof(nasty, fc.string({ maxLength: 8 })),
  values: [fc.boolean(), fc.double(), fc.integer(), nasty, fc.constant(null)],
  maxDepth: 4,
  maxKeys: 6,
});

/** A record with these fields, some missing, and one in ten of them with values of another kind. */
export const nearlyRecord = (fields: Record<string, fc.Arbitrary<unknown>>): fc.Arbitrary<object> =>
  fc.record(
    Object.fromEntries(
      Object.entries(fields).map(([name, usual]) => [
        name,
        fc.oneof({ weight: 9, arbitrary: usual }, { weight: 1, arbitrary: anything }),
      ]),
    ),
    { requiredKeys: [] },
  );
