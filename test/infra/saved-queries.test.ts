import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { z } from 'zod';
import { queries } from '../../infra/constructs/monitoring/queries.ts';
import { textOf } from '../../infra/constructs/monitoring/saved-queries.ts';
import { powertoolsJournal } from '../../shared/adapters/powertools-journal.ts';
import type { Fact } from '../../shared/ports/journal.ts';
import { resourceAt, resourcesOf, templatesFor } from './templates.ts';

const { monitoring, pipeline } = templatesFor({ deployment: 'Shop' });
const runbook = readFileSync(new URL('../../docs/operations.md', import.meta.url), 'utf8');

const definition = z.object({
  Name: z.string(),
  QueryString: z.string(),
  LogGroupNames: z.array(z.unknown()),
});
const saved = [...resourcesOf(monitoring, 'AWS::Logs::QueryDefinition').values()].map(({ Properties }) =>
  definition.parse(Properties),
);

const key = { queue: 'orders', messageId: 'm-1', subscriptionId: 's-1', bucket: 0 };

const facts: readonly Fact[] = [
  {
    fact: 'attempt_made',
    key,
    attempt: {
      number: 2,
      round: 1,
      phase: 'immediate',
      startedAt: 2,
      durationMs: 1,
      outcome: 'failed',
      statusCode: 503,
      error: 'busy',
      lost: 1,
    },
    status: 'retrying',
    dueAt: 1,
    latenessMs: 1,
    nextAt: 9,
    nextBy: 'scheduler',
  },
  { fact: 'wake_up_set', key, attempt: 2, by: 'sqs_delay', dueAt: 5 },
  { fact: 'delivery_cancelled', key, reason: 'disabled' },
  {
    fact: 'aws_call_failed',
    awsService: 'SQS',
    reason: 'ThrottlingException',
    throttled: true,
    repeated: true,
  },
];

/** The keys of the lines that the functions write, those of an error with a dot. */
const logged = new Set(['@timestamp', '@message']);

const object = z.record(z.string(), z.unknown());

const keysOf = (line: Record<string, unknown>): string[] =>
  Object.entries(line).flatMap(([name, value]) => {
    const inner = object.safeParse(value);
    return [name, ...Object.keys(inner.data ?? {}).map((key) => `${name}.${key}`)];
  });

const keepKeys = (chunk: unknown): boolean => {
  const lines = String(chunk).split('\n').filter(Boolean);
  for (const name of lines.flatMap((line) => keysOf(object.parse(JSON.parse(line))))) logged.add(name);
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
  journal.fault(new TypeError('odd'), { sqsMessageId: 'm' });
  vi.restoreAllMocks();
});

afterAll(() => {
  vi.restoreAllMocks();
});

const WORDS = new Set(
  'fields filter stats sort limit by as asc desc and or in count count_distinct latest max pct'.split(' '),
);

/** Names in a query that are not its own: neither words of the language nor what `as` introduces. */
const fieldsIn = (query: string): string[] => {
  const unquoted = query.replaceAll(/"[^"]*"/g, '');
  const own = new Set([...unquoted.matchAll(/\bas (\w+)/g)].map(([, name]) => name));
  return (unquoted.match(/@?[A-Za-z_][\w.]*/g) ?? []).filter((name) => !WORDS.has(name) && !own.has(name));
};

const all = Object.values(queries).map((query) => ({ name: query.name, query }));

describe('each saved query', () => {
  it.each(all)('asks for what the functions log: $name', ({ query }) => {
    const fields = fieldsIn(textOf(query));
    expect(fields.length).toBeGreaterThan(0);
    expect(fields.filter((field) => !logged.has(field))).toEqual([]);
  });

  it.each(all)('filters by facts that there are: $name', ({ query }) => {
    const facts = [...textOf(query).matchAll(/fact (?:=|in) (\[[^\]]+\]|"[^"]+")/g)].flatMap(
      ([, named = '']) => [...named.matchAll(/"([^"]+)"/g)].map(([, fact]) => fact),
    );
    const journal = readFileSync(new URL('../../shared/ports/journal.ts', import.meta.url), 'utf8');
    for (const fact of facts) expect(journal).toContain(`fact: '${fact}'`);
  });

  it.each(all)('is in the runbook as it is: $name', ({ query }) => {
    expect(runbook).toContain(`\`\`\`\n${textOf(query)}\n\`\`\``);
  });

  it.each(all)(
    'lies in the folder of the deployment, over the logs that have it: $name',
    ({ name, query }) => {
      const [found, ...others] = saved.filter((one) => one.Name === `Shop/${name}`);
      expect(others).toEqual([]);
      expect(found?.QueryString).toBe(textOf(query));
      const groups = query.of.map((of) => {
        const path = `Pipeline${of.charAt(0).toUpperCase()}${of.slice(1)}LogGroup`;
        return expect.stringContaining(resourceAt(pipeline, 'AWS::Logs::LogGroup', path).id) as unknown;
      });
      expect(found?.LogGroupNames.map((group) => JSON.stringify(group))).toEqual(groups);
    },
  );
});
