import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import * as z from 'zod';
import { re2Patterns } from '../../../../shared/adapters/pattern/re2.ts';
import { checkSchema } from '../../../../shared/domain/event-type/json-schema-check.ts';
import { validate } from '../../../../shared/domain/event-type/json-schema.ts';

const test = z.object({ description: z.string(), data: z.unknown(), valid: z.boolean() });
const group = z.object({ description: z.string(), schema: z.unknown(), tests: z.array(test) });

const text = readFileSync(join(import.meta.dirname, 'json-schema-suite/draft2020-12.json'), 'utf8');
const suite = z.record(z.string(), z.array(group)).parse(JSON.parse(text));

const compilePattern = re2Patterns();

/** What is refused when a schema is stored, and how many groups of the suite have it. */
const REFUSED: [reason: string, fault: RegExp, groups: number][] = [
  ['names a schema', /\.\$(id|anchor|dynamicRef|dynamicAnchor): is not supported/, 23],
  ['refers to another document', /\$ref: must be #/, 2],
  ['has a pattern that RE2 does not know', /(pattern|patternProperties): must be a regular/, 6],
];

/** RE2 knows white space of ASCII only (docs/event-types.md#patterns). */
const DIFFERENT = new Set([
  'ECMA 262 \\s matches whitespace',
  'ECMA 262 \\S matches everything but whitespace',
]);

describe('the official tests of JSON Schema 2020-12', () => {
  const groups = Object.entries(suite).flatMap(([file, members]) =>
    members.map((member) => ({ ...member, file, faults: checkSchema(member.schema, compilePattern) })),
  );

  it.each(
    groups
      .filter(({ faults, description }) => faults.length === 0 && !DIFFERENT.has(description))
      .map((member): [string, typeof member] => [`${member.file}: ${member.description}`, member]),
  )('%s', (_, { schema, tests }) => {
    const kinds = tests.map(({ data }) => validate(schema, data, { compilePattern, steps: 10_000 }).kind);
    expect(kinds).toEqual(tests.map(({ valid }) => (valid ? 'valid' : 'invalid')));
  });

  it('are skipped only for three reasons', () => {
    const refused = groups.filter(({ faults }) => faults.length > 0);
    const reasons = refused.map(({ faults }) => {
      const faulty = faults.map(({ field, message }) => `${field}: ${message}`).join('\n');
      return REFUSED.find(([, fault]) => fault.test(faulty))?.[0] ?? faulty;
    });
    const counts = REFUSED.map(([reason]) => [reason, reasons.filter((other) => other === reason).length]);
    expect(counts).toEqual(REFUSED.map(([reason, , count]) => [reason, count]));
    expect(refused).toHaveLength(REFUSED.reduce((sum, [, , count]) => sum + count, 0));
  });
});
