import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { z } from 'zod';
import { formatQuery, queries } from '../../infra/constructs/monitoring/saved-queries.ts';
import { powertoolsJournal } from '../../shared/adapters/log/journal.ts';
import type { Fact } from '../../shared/ports/journal.ts';
import { anAttempt, answered } from '../support/delivery-builders.ts';
import { aFact, everyFact, factKey } from '../support/every-fact.ts';
import { resourceAt, resourcesOf, templatesFor, TUNED } from './templates.ts';

const { monitoring, pipeline } = templatesFor(TUNED);
const runbook = readFileSync(new URL('../../docs/operations.md', import.meta.url), 'utf8');

const definition = z.object({
  Name: z.string(),
  QueryString: z.string(),
  LogGroupNames: z.array(z.unknown()),
});
const saved = [...resourcesOf(monitoring, 'AWS::Logs::QueryDefinition').values()].map(({ Properties }) =>
  definition.parse(Properties),
);

/** Two of these share a log line. */
const firstSuccess = (subscriptionId: string): Fact =>
  aFact('attempt_made', {
    key: { ...factKey, subscriptionId },
    attempt: anAttempt({ outcome: 'delivered', result: answered(200) }),
    status: 'delivered',
  });

const facts: readonly Fact[] = [
  ...everyFact,
  aFact('attempt_made', {
    attempt: anAttempt({ result: answered(503, 'busy'), lost: 1 }),
    nextAt: 9,
    nextBy: 'scheduler',
  }),
  firstSuccess('s-1'),
  firstSuccess('s-2'),
];

/** The keys of the functions' log lines; those inside objects with a dot. */
const logged = new Set(['@timestamp', '@message']);

/** The facts that the functions log. */
const loggedFacts = new Set<unknown>();

const object = z.record(z.string(), z.unknown());

const keysOf = (line: Record<string, unknown>): string[] =>
  Object.entries(line).flatMap(([name, value]) => {
    const inner = object.safeParse(value);
    return [name, ...keysOf(inner.data ?? {}).map((key) => `${name}.${key}`)];
  });

const keepKeys = (chunk: unknown): boolean => {
  const lines = String(chunk).split('\n').filter(Boolean);
  for (const line of lines.map((text) => object.parse(JSON.parse(text)))) {
    for (const name of keysOf(line)) logged.add(name);
    loggedFacts.add(line['fact']);
  }
  return true;
};

beforeAll(() => {
  vi.spyOn(process.stdout, 'write').mockImplementation(keepKeys);
  vi.spyOn(process.stderr, 'write').mockImplementation(keepKeys);
  const journal = powertoolsJournal('deliver', {
    deployment: 'Shop',
    version: '1.0.0',
    logLevel: 'debug',
    logSuccessSampling: 1,
  });
  for (const fact of facts) journal.note(fact);
  journal.fault(new TypeError('odd', { cause: new RangeError('odder') }), { sqsMessageId: 'm' });
  journal.flush();
  vi.restoreAllMocks();
});

afterAll(() => {
  vi.restoreAllMocks();
});

const WORDS = new Set(
  'fields filter parse display unnest stats sort limit by as into asc desc and or in count count_distinct latest max pct jsonParse'.split(
    ' ',
  ),
);

/** Names that a query defines: by `as`, by `into`, and by groups of a regular expression. */
const namedIn = (query: string): Set<string> =>
  new Set(
    [...query.matchAll(/\b(?:as|into) (\w+)|\(\?<(\w+)>/g)].flatMap(([, name, group]) => name ?? group ?? []),
  );

/** The log fields that a query reads; fields inside parsed JSON without the name of the parsed value. */
const fieldsIn = (query: string): string[] => {
  const defined = namedIn(query);
  const bare = query.replaceAll(/"[^"]*"|\/[^/]*\//g, '').replaceAll(/(?<=[ (])line\./g, '');
  return (bare.match(/@?[A-Za-z_][\w.]*/g) ?? []).filter((name) => !WORDS.has(name) && !defined.has(name));
};

const all = Object.values(queries).map((query) => ({ name: query.name, query }));

describe('each saved query', () => {
  it.each(all)('reads only fields that the functions log: $name', ({ query }) => {
    const fields = fieldsIn(formatQuery(query));
    expect(fields.length).toBeGreaterThan(0);
    expect(fields.filter((field) => !logged.has(field))).toEqual([]);
  });

  it.each(all)('filters only by facts that exist: $name', ({ query }) => {
    const facts = [...formatQuery(query).matchAll(/fact (?:=|in) (\[[^\]]+\]|"[^"]+")/g)].flatMap(
      ([, named = '']) => [...named.matchAll(/"([^"]+)"/g)].map(([, fact]) => fact),
    );
    expect(facts.filter((fact) => !loggedFacts.has(fact))).toEqual([]);
  });

  it.each(all)('is in the runbook: $name', ({ query }) => {
    expect(runbook).toContain(`| _${query.name}_ `);
  });

  it.each(all)(
    'is saved in the folder of the deployment, with the right log groups: $name',
    ({ name, query }) => {
      const [found, ...others] = saved.filter((one) => one.Name === `Shop/${name}`);
      expect(others).toEqual([]);
      expect(found?.QueryString).toBe(formatQuery(query));
      const groups = query.of.map((of) => {
        const path = `Pipeline${of.charAt(0).toUpperCase()}${of.slice(1)}LogGroup`;
        return expect.stringContaining(resourceAt(pipeline, 'AWS::Logs::LogGroup', path).id) as unknown;
      });
      expect(found?.LogGroupNames.map((group) => JSON.stringify(group))).toEqual(groups);
    },
  );
});
