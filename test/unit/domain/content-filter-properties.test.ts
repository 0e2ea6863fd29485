import fc from 'fast-check';
import { parseContentFilter } from '../../../shared/domain/subscription/content-filter-schema.ts';
import { evaluateFilter } from '../../../shared/domain/subscription/content-filter.ts';
import { type Fields, type Json, matchesByWays } from './filter-oracle.ts';
import { describe, expect, it } from 'vitest';

/** Few and similar values, so that filters often match the data. */
const name = fc.constantFrom('a', 'b', 'c');
const scalar = fc.constantFrom<Json>('', 'x', 'xy', 'y', -1, 0, 1, 2, true, false, null);
const text = fc.constantFrom('', 'x', 'xy', 'y');
const number = fc.constantFrom(-1, 0, 1, 2);

const comparison: fc.Arbitrary<Json> = fc.oneof(
  fc.record({ prefix: text }),
  fc.record({ suffix: text }),
  fc.record({ exists: fc.boolean() }),
  fc.record({ 'anything-but': fc.oneof(scalar, fc.array(scalar, { minLength: 1, maxLength: 3 })) }),
  fc.record({ 'anything-but': fc.oneof(fc.record({ prefix: text }), fc.record({ suffix: text })) }),
  fc.record({ numeric: fc.tuple(fc.constantFrom('=', '<', '<=', '>', '>='), number) }),
  fc.record({
    numeric: fc.tuple(
      fc.constantFrom('>', '>='),
      fc.constant(-1),
      fc.constantFrom('<', '<='),
      number.filter((n) => n > -1),
    ),
  }),
);
const rules: fc.Arbitrary<Json[]> = fc.array(fc.oneof(scalar, comparison), {
  minLength: 1,
  maxLength: 3,
});

const filterOf = (depth: number): fc.Arbitrary<Fields> => {
  if (depth === 0) return fc.dictionary(name, rules, { minKeys: 1, maxKeys: 3 });
  const inner = filterOf(depth - 1);
  const condition = fc.oneof({ weight: 2, arbitrary: rules }, { weight: 1, arbitrary: inner });
  return fc
    .record({
      fields: fc.dictionary(name, condition, { minKeys: 1, maxKeys: 2 }),
      alternatives: fc.option(fc.array(inner, { minLength: 2, maxLength: 2 }), { nil: undefined, freq: 2 }),
    })
    .map(({ fields, alternatives }) => ({ ...fields, ...(alternatives && { $or: alternatives }) }));
};

const filter = filterOf(2);

const dataOf = (lists: boolean) =>
  fc.letrec<{ value: Json; object: Fields }>((tie) => ({
    value: fc.oneof(
      { depthSize: 'small' },
      scalar,
      tie('object'),
      ...(lists ? [fc.array(tie('value'), { maxLength: 3 })] : []),
    ),
    object: fc.dictionary(name, tie('value'), { maxKeys: 3 }),
  }));

const withLists = dataOf(true);
const data = withLists.value;
/** Without lists. */
const plainObject = dataOf(false).object;
const noList = data.filter((value) => !Array.isArray(value));

const withoutLimit = () => ({ steps: Number.MAX_SAFE_INTEGER, listsRead: new WeakMap() });

const mismatchOf = (filter: Json, data: unknown): string | undefined => {
  const parsed = parseContentFilter(filter);
  if (!parsed.ok) throw new Error(`refused: ${JSON.stringify(parsed.faults)}`);
  return evaluateFilter(parsed.filter, data, withoutLimit()).mismatch;
};

const matches = (filter: Json, data: unknown): boolean => mismatchOf(filter, data) === undefined;

const valueAt = (value: unknown, [step, ...steps]: readonly PropertyKey[]): unknown => {
  if (step === undefined) return value;
  return typeof value === 'object' && value !== null ? valueAt(Reflect.get(value, step), steps) : undefined;
};

describe('a content filter', () => {
  it('decides like its expansion without $or for data without lists, and names a field that does not match', () => {
    let matched = 0;
    const namesIn = (value: Json): string[] =>
      typeof value === 'object' && value !== null
        ? Object.entries(value).flatMap(([key, inner]) => [key, ...namesIn(inner)])
        : [];
    fc.assert(
      fc.property(filter, plainObject, (filter, object) => {
        const mismatch = mismatchOf(filter, object);
        matched += mismatch === undefined ? 1 : 0;
        expect(mismatch === undefined).toBe(matchesByWays(filter, object));
        for (const step of mismatch?.split('.') ?? []) expect(namesIn(filter)).toContain(step);
      }),
      { numRuns: 2000 },
    );
    expect(matched).toBeGreaterThan(30);
  });

  it('matches the nested data from which it was derived', () => {
    const wrapped = fc.array(fc.oneof(name, fc.constant(0)), { minLength: 1, maxLength: 6 });
    fc.assert(
      fc.property(wrapped, name, scalar, fc.array(data), (path, last, leaf, others) => {
        const steps = [...path, last];
        const around = steps.reduceRight<Json>(
          (inner, step) => (step === 0 ? [...others, inner, ...others] : { [step]: inner }),
          leaf,
        );
        const asked = steps.reduceRight<Json>(
          (inner, step) => (step === 0 ? inner : { [step]: inner }),
          [leaf],
        );
        expect(matches(asked, around)).toBe(true);
      }),
    );
  });

  it('matches a list if it matches one of its elements', () => {
    fc.assert(
      fc.property(filter, fc.array(noList, { minLength: 1 }), (filter, elements) => {
        expect(matches(filter, elements)).toBe(elements.some((element) => matches(filter, element)));
      }),
    );
  });

  it('treats a value and a nested list of it alike', () => {
    fc.assert(
      fc.property(filter, data, (filter, data) => {
        expect(matches(filter, [[data]])).toBe(matches(filter, data));
      }),
    );
  });

  it('is accepted or refused without an exception, and faults have existing paths', () => {
    fc.assert(
      fc.property(
        fc.oneof(
          fc.json({ maxDepth: 12 }),
          filter.map((one) => JSON.stringify(one)),
        ),
        (text) => {
          const given: unknown = JSON.parse(text);
          const parsed = parseContentFilter(given);
          const paths = parsed.ok ? [] : parsed.faults.map(({ path }) => path);
          expect(parsed.ok || paths.length > 0).toBe(true);
          for (const path of paths) {
            expect(valueAt(given, path)).not.toBe(undefined);
          }
        },
      ),
      { numRuns: 500 },
    );
  });
});
