import { randomUUID } from 'node:crypto';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { MAX_ON_A_LINE } from '../../../shared/adapters/log/first-successes.ts';
import { toLine } from '../../../shared/adapters/log/journal-lines.ts';
import { type LogSettings, powertoolsJournal } from '../../../shared/adapters/log/journal.ts';
import { metricsInMilliseconds } from '../../../shared/config/metrics.ts';
import type { Attempt } from '../../../shared/domain/delivery/attempt.ts';
import type { Fact } from '../../../shared/ports/journal.ts';
import { anAttempt, answered, SOME_TIME } from '../../support/delivery-builders.ts';
import { isEmf, metricsOfLine } from '../../support/emitted-metrics.ts';
import { aFact, everyFact, type FactNamed } from '../../support/every-fact.ts';
import { captureOutput } from './captured-output.ts';

const TRACE_ID = '1-5759e988-bd862e3fe1be46a994272793';

let output: ReturnType<typeof captureOutput>;

beforeEach(() => {
  // As Lambda sets it. Powertools takes the level from it.
  vi.stubEnv('AWS_LAMBDA_LOG_LEVEL', 'TRACE');
  vi.stubEnv('_X_AMZN_TRACE_ID', `Root=${TRACE_ID};Parent=53995c3f42cd8ad8;Sampled=0`);
  output = captureOutput();
});
afterEach(() => {
  vi.restoreAllMocks();
  vi.unstubAllEnvs();
});

const journalWith = (overrides: Partial<LogSettings> = {}) =>
  powertoolsJournal('deliver', {
    deployment: 'Posthaste',
    version: '1.2.3',
    logLevel: 'debug',
    logSuccessSampling: 1,
    ...overrides,
  });

/** Notes these facts in one invocation. */
const noteAll = (facts: readonly Fact[], journal = journalWith()): void => {
  for (const fact of facts) journal.note(fact);
  journal.flush();
};

const metrics = (): string[] => output.lines.filter(isEmf);
/** The output without the metrics. */
const written = (): Record<string, unknown>[] => output.parsed().filter((line) => !('_aws' in line));

const success = (
  subscriptionId: string,
  messageId = 'm-1',
  overrides: Partial<Attempt> = {},
): FactNamed<'attempt_made'> =>
  aFact('attempt_made', {
    key: { queue: 'orders', messageId, subscriptionId, bucket: 0 },
    attempt: anAttempt({ outcome: 'delivered', result: answered(200), ...overrides }),
    status: 'delivered',
  });

const origin = { service: 'deliver', deployment: 'Posthaste', version: '1.2.3' };

describe('every log line', () => {
  it.each(everyFact)('names the function, deployment, version and trace: $fact', (fact) => {
    journalWith().note(fact);
    const named = { message: fact.fact, fact: fact.fact, xray_trace_id: TRACE_ID };
    expect(output.parsed()).toMatchObject([{ ...named, ...origin }]);
  });

  it('has no character that breaks a line, controls a terminal or hides text', () => {
    const text = 'a\u2028b\u202ec\u0085d\u{e0041}';
    const journal = journalWith();
    journal.fault(new Error(text), { queue: text });
    journal.auditLogger.info('audit', { changed: [text] });
    const shown = 'a\ufffdb\ufffdc\ufffdd\ufffd';
    expect(output.parsed()).toMatchObject([
      { queue: shown, error: { message: shown } },
      { changed: [shown] },
    ]);
  });
});

describe('the log level', () => {
  it.each([
    ['debug', ['DEBUG', 'INFO', 'WARN', 'ERROR']],
    ['info', ['INFO', 'WARN', 'ERROR']],
    ['warn', ['WARN', 'ERROR']],
    ['error', ['ERROR']],
  ] as const)('%s lets through %j', (logLevel, expected) => {
    noteAll(everyFact, journalWith({ logLevel }));
    expect(new Set(written().map(({ level }) => level))).toEqual(new Set(expected));
  });

  it('does not affect the audit trail', () => {
    journalWith({ logLevel: 'error' }).auditLogger.info('audit', { change: 'queue_deleted' });
    const { deployment, version } = origin;
    expect(output.parsed()).toMatchObject([
      { message: 'audit', change: 'queue_deleted', deployment, version },
    ]);
  });
});

describe('the sampling of successes', () => {
  it('logs all facts about a message or none', () => {
    const ids = Array.from({ length: 200 }, (_, n) => `message-${n}`);
    const sampled = () => journalWith({ logSuccessSampling: 0.3 });
    const accepted = (messageId: string) =>
      aFact('message_accepted', { message: { queue: 'orders', messageId } });
    noteAll(ids.map(accepted), sampled());
    noteAll(
      ids.map((messageId) => success('s-1', messageId)),
      sampled(),
    );
    const stories = Map.groupBy(written(), ({ messageId }) => messageId);
    expect([...stories.values()].every(({ length }) => length === 2)).toBe(true);
    expect(stories.size).toBeGreaterThan(30);
    expect(stories.size).toBeLessThan(90);
  });

  it('logs every failure at once, even at a rate of 0', () => {
    const journal = journalWith({ logSuccessSampling: 0 });
    for (const fact of [success('s-1'), aFact('attempt_made')]) journal.note(fact);
    expect(output.parsed()).toMatchObject([{ outcome: 'failed' }]);
  });
});

describe('the metrics', () => {
  const silent = () => journalWith({ logLevel: 'error', logSuccessSampling: 0 });

  it('of an invocation are one line in embedded metric format, with the deployment as the only dimension', () => {
    noteAll(everyFact, silent());
    const [line = '', ...more] = metrics();
    expect(more).toEqual([]);
    for (const { namespace, dimensions, name, unit } of metricsOfLine(line)) {
      expect({ namespace, dimensions }).toEqual({
        namespace: 'Posthaste',
        dimensions: { deployment: 'Posthaste' },
      });
      expect(unit).toBe([...metricsInMilliseconds].some((one) => one === name) ? 'Milliseconds' : 'Count');
    }
    expect(line).not.toContain('m-1');
    expect(line).not.toContain('service');
  });

  it('of a thousand attempts fit CloudWatch’s limits: counts summed, at most 100 durations a line', () => {
    const facts = Array.from({ length: 1_000 }, (_, n) =>
      aFact('attempt_made', { attempt: anAttempt({ durationMs: n }), latenessMs: n }),
    );
    noteAll(facts, silent());
    const valuesOf = (metric: string) =>
      metrics()
        .flatMap(metricsOfLine)
        .flatMap(({ name, values }) => (name === metric ? values : []));
    const each = facts.map((_, n) => n);
    expect(valuesOf('AttemptDuration').toSorted((a, b) => a - b)).toEqual(each);
    expect(valuesOf('AttemptsFailed')).toEqual([1_000]);
    expect(valuesOf('FirstAttemptAge').toSorted((a, b) => a - b)).toEqual(each);
  });

  it('count the cold start in the first invocation only, and are not written if nothing was counted', () => {
    const journal = journalWith();
    for (const facts of [[], [aFact('dead_lettered')], []]) noteAll(facts, journal);
    expect(metrics().map((line) => metricsOfLine(line).map(({ name }) => name))).toEqual([
      ['ColdStarts'],
      ['DeadLettered'],
    ]);
  });
});

describe('an unexpected exception', () => {
  it('is an error line with the ids, the name of the error and its cause', () => {
    journalWith().fault(new TypeError('broken', { cause: new Error('deep') }), { sqsMessageId: 'sqs-1' });
    const error = { name: 'TypeError', message: 'broken', cause: { message: 'deep' } };
    expect(output.parsed()).toMatchObject([
      { level: 'ERROR', message: 'fault', sqsMessageId: 'sqs-1', error },
    ]);
  });

  it('is counted, because a record that returns is not an error of the function', () => {
    const journal = journalWith();
    for (const fault of [new Error('throttled'), 'just text']) journal.fault(fault, {});
    journal.flush();
    expect(output.parsed().at(-1)).toMatchObject({ Faults: 2 });
  });
});

const defined = (line: Record<string, unknown>): Record<string, unknown> =>
  Object.fromEntries(Object.entries(line).filter(([, value]) => value !== undefined));

describe('a first success', () => {
  it('that is the only one of its message in an invocation has the usual line of an attempt', () => {
    noteAll([success('s-1')]);
    const [{ timestamp, ...line } = {}, ...more] = written();
    expect(more).toEqual([]);
    expect(timestamp).toBeTypeOf('string');
    const usual = { level: 'INFO', message: 'attempt_made', xray_trace_id: TRACE_ID, ...origin };
    expect(line).toEqual({ ...usual, ...defined(toLine(success('s-1'))) });
  });

  it('shares a line with others of its message: common fields once, then the values of each attempt', () => {
    const second = { result: answered(204), durationMs: 7, startedAt: SOME_TIME + 3 };
    noteAll([success('s-1'), success('s-2', 'm-1', second)]);
    expect(written()).toEqual([
      {
        level: 'INFO',
        message: 'attempts_delivered',
        timestamp: expect.any(String) as string,
        xray_trace_id: TRACE_ID,
        ...origin,
        fact: 'attempts_delivered',
        queue: 'orders',
        messageId: 'm-1',
        attempt: 1,
        round: 1,
        phase: 'initial',
        outcome: 'delivered',
        status: 'delivered',
        attempts: [
          ['s-1', 200, 120, SOME_TIME, 40],
          ['s-2', 204, 7, SOME_TIME + 3, 40],
        ],
      },
    ]);
  });

  it.each([
    ['another message', success('s-2', 'm-2')],
    ['another round', success('s-2', 'm-1', { round: 2 })],
    ['another phase', success('s-2', 'm-1', { phase: 'manual' })],
    ['another trigger', success('s-2', 'm-1', { by: 'reconcile' })],
  ])('does not share a line with one of %s', (_, other) => {
    noteAll([success('s-1'), other]);
    expect(written()).toMatchObject([{ subscriptionId: 's-1' }, defined(toLine(other))]);
  });

  it('is written once, and a later one starts a new line', () => {
    const journal = journalWith();
    for (const facts of [[success('s-1')], [], [success('s-2')]]) noteAll(facts, journal);
    expect(written()).toMatchObject([{ subscriptionId: 's-1' }, { subscriptionId: 's-2' }]);
  });

  it('is written as soon as its line is full', () => {
    const journal = journalWith();
    for (let n = 0; n <= MAX_ON_A_LINE; n += 1) journal.note(success(`s-${n}`));
    expect(written()).toMatchObject([{ attempts: { length: MAX_ON_A_LINE } }]);
    journal.flush();
    expect(written().slice(1)).toMatchObject([{ subscriptionId: `s-${MAX_ON_A_LINE}` }]);
  });

  it.each([
    ['its message is not in the sample', { logSuccessSampling: 0 }],
    ['the level is above info', { logLevel: 'warn' }],
  ] as const)('has no line if %s, alone or with others, but counts in the metrics', (_, overrides) => {
    noteAll([success('s-1'), success('s-2'), success('s-1', 'm-2')], journalWith(overrides));
    expect(output.parsed()).toMatchObject([{ AttemptsDelivered: 3, DeliveriesDelivered: 3 }]);
  });
});

describe('the line of a message', () => {
  /** The line for random ids, like those made by the API and SQS. */
  const lineOfSuccesses = (count: number): string => {
    const messageId = randomUUID();
    noteAll(Array.from({ length: count }, () => success(randomUUID(), messageId)));
    const [line = ''] = output.lines.filter((one) => !isEmf(one));
    return line;
  };

  it.each([
    [1, 530],
    [10, 110],
    [MAX_ON_A_LINE, 80],
  ])('with %i first successes has at most that number times %i bytes', (count, bytes) => {
    const line = lineOfSuccesses(count);
    expect(line).toContain(count === 1 ? '"attempt_made"' : '"attempts_delivered"');
    expect(Buffer.byteLength(line) / count).toBeLessThanOrEqual(bytes);
  });

  it('has at most as many fields as Logs Insights parses, with lists flattened', () => {
    const leaves = (value: unknown): number =>
      typeof value === 'object' && value !== null
        ? Object.values(value).reduce((sum: number, inner) => sum + leaves(inner), 0)
        : 1;
    expect(leaves(JSON.parse(lineOfSuccesses(MAX_ON_A_LINE)))).toBeLessThanOrEqual(200);
  });
});
