import * as fc from 'fast-check';

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
  fc.string({ unit: 'binary', maxLength: 40 }),
);

type Edit = { at: number; length: number; text: string };

const edit: fc.Arbitrary<Edit> = fc.record({ at: fc.nat(100_000), length: fc.nat(12), text: nasty });

const edited = (text: string, { at, length, text: inserted }: Edit): string => {
  const start = text.length === 0 ? 0 : at % (text.length + 1);
  return text.slice(0, start) + inserted + text.slice(start + length);
};

/** A valid text with a few parts cut, replaced or inserted, so that inputs get past the first checks. */
export const nearly = (valid: readonly string[]): fc.Arbitrary<string> =>
  fc
    .tuple(fc.constantFrom(...valid), fc.array(edit, { maxLength: 3 }))
    .map(([text, edits]) => edits.reduce(edited, text));

/** Any JSON value, with unusual names and numbers. */
export const anything: fc.Arbitrary<unknown> = fc.anything({
  key: fc.oneof(nasty, fc.string({ maxLength: 8 })),
  values: [fc.boolean(), fc.double(), fc.integer(), nasty, fc.constant(null)],
  maxDepth: 4,
  maxKeys: 6,
});

/** A record with these fields, some missing, some with values of another kind. */
export const nearlyRecord = (fields: Record<string, fc.Arbitrary<unknown>>): fc.Arbitrary<object> =>
  fc.record(
    Object.fromEntries(
      Object.entries(fields).map(([name, usual]) => [
        name,
        fc.oneof({ weight: 4, arbitrary: usual }, { weight: 1, arbitrary: anything }),
      ]),
    ),
    { requiredKeys: [] },
  );
