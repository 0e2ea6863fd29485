import { randomUUID } from 'node:crypto';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { MAX_ON_A_LINE } from '../../../shared/adapters/log/first-successes.ts';
import { lineOf } from '../../../shared/adapters/log/journal-lines.ts';
import { type LogSettings, powertoolsJournal } from '../../../shared/adapters/log/journal.ts';
import { metricsInMilliseconds } from '../../../shared/config/metrics.ts';
import type { Attempt } from '../../../shared/domain/delivery/attempt.ts';
import type { Fact } from '../../../shared/ports/journal.ts';
import { anAttempt, answered, SOME_TIME } from '../../support/delivery-builders.ts';
import { isEmf, metricsOfLine } from '../../support/emitted-metrics.ts';
import { aFact, everyFact, type FactNamed } from '../../support/every-fact.ts';
import { captureOutput } from './captured-output.ts';

let output: ReturnType<typeof captureOutput>;

beforeEach(() => {
  vi.stubEnv(
    '_X_AMZN_TRACE_ID',
    'Root=1-5759e988-bd862e3fe1be46a994272793;Parent=53995c3f42cd8ad8;Sampled=0',
  );
  output = captureOutput();
});
afterEach(() => {
  vi.restoreAllMocks();
  vi.unstubAllEnvs();
});

const settings: LogSettings = {
  deployment: 'Posthaste',
  version: '1.2.3',
  logLevel: 'debug',
  logSuccessSampling: 1,
};

const journalWith = (overrides: Partial<LogSettings> = {}) =>
  powertoolsJournal('deliver', { ...settings, ...overrides });

const delivered = (messageId: string): Fact =>
  aFact('attempt_made', {
    key: { queue: 'orders', messageId, subscriptionId: 's-1', bucket: 0 },
    attempt: anAttempt({ outcome: 'delivered', result: answered(200) }),
    status: 'delivered',
  });

describe('every log line', () => {
  it.each(everyFact)('names the function, deployment and version: $fact', (fact) => {
    journalWith().note(fact);
    expect(output.parsed()).toMatchObject([
      { message: fact.fact, fact: fact.fact, service: 'deliver', deployment: 'Posthaste', version: '1.2.3' },
    ]);
  });

  it('has the trace id of its invocation', () => {
    journalWith().note(aFact('attempt_made'));
    expect(output.parsed()).toMatchObject([{ xray_trace_id: '1-5759e988-bd862e3fe1be46a994272793' }]);
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
    const journal = journalWith({ logLevel });
    for (const fact of everyFact) journal.note(fact);
    expect(new Set(output.parsed().map(({ level }) => level))).toEqual(new Set(expected));
  });

  it('does not affect metrics', () => {
    const journal = journalWith({ logLevel: 'error', logSuccessSampling: 0 });
    journal.note(delivered('m-1'));
    journal.flush();
    expect(output.parsed()).toMatchObject([{ AttemptsDelivered: 1, DeliveriesDelivered: 1 }]);
  });

  it('does not affect the audit trail', () => {
    journalWith({ logLevel: 'error' }).auditLogger.info('audit', { change: 'queue_deleted' });
    expect(output.parsed()).toMatchObject([
      { message: 'audit', change: 'queue_deleted', deployment: 'Posthaste', version: '1.2.3' },
    ]);
  });
});

describe('the sampling of successes', () => {
  const ids = Array.from({ length: 200 }, (_, n) => `message-${n}`);
  const storyOf = (messageId: string): Fact[] => [
    aFact('message_accepted', { message: { queue: 'orders', messageId } }),
    delivered(messageId),
  ];

  it('logs all facts about a message or none', () => {
    const [dispatch, deliver] = [
      journalWith({ logSuccessSampling: 0.3 }),
      journalWith({ logSuccessSampling: 0.3 }),
    ];
    for (const [accepted, made] of ids.map(storyOf)) {
      if (accepted !== undefined) dispatch.note(accepted);
      if (made !== undefined) deliver.note(made);
    }
    deliver.flush();
    const lines = output.parsed().filter(({ messageId }) => messageId !== undefined);
    const stories = Map.groupBy(lines, ({ messageId }) => messageId);
    expect([...stories.values()].every(({ length }) => length === 2)).toBe(true);
    expect(stories.size).toBeGreaterThan(30);
    expect(stories.size).toBeLessThan(90);
  });

  it('logs every failure, even at a rate of 0', () => {
    const journal = journalWith({ logSuccessSampling: 0 });
    journal.note(delivered('m-1'));
    journal.note(aFact('attempt_made', { attempt: anAttempt({ outcome: 'failed' }) }));
    expect(output.parsed()).toMatchObject([{ outcome: 'failed' }]);
  });
});

describe('the metrics', () => {
  const flushed = (facts: readonly Fact[]) => {
    const journal = journalWith({ logLevel: 'error', logSuccessSampling: 0 });
    for (const fact of facts) journal.note(fact);
    journal.flush();
    return output.lines.filter(isEmf);
  };

  const sumsOf = (lines: readonly string[]) => {
    const sums = new Map<string, number>();
    for (const { name, values } of lines.flatMap(metricsOfLine))
      sums.set(name, (sums.get(name) ?? 0) + values.reduce((sum, value) => sum + value, 0));
    return sums;
  };

  it('of an invocation are one line in embedded metric format, with the deployment as the only dimension', () => {
    const [line = '', ...more] = flushed(everyFact);
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
    const lines = flushed(facts);
    const metrics = lines.flatMap(metricsOfLine);
    const durations = metrics
      .filter(({ name }) => name === 'AttemptDuration')
      .flatMap(({ values }) => values);
    expect(durations.toSorted((a, b) => a - b)).toEqual(facts.map((_, n) => n));
    expect(metrics.filter(({ name }) => name === 'AttemptsFailed')).toMatchObject([{ values: [1_000] }]);
    expect(sumsOf(lines).get('FirstAttemptAge')).toBe((999 * 1_000) / 2);
  });

  it('of a thousand reconciled deliveries are one line', () => {
    const lines = flushed([
      ...Array.from({ length: 1_000 }, () => aFact('reconciled')),
      aFact('reconcile_ran', { overdue: 1_000, stuck: 0 }),
    ]);
    expect(lines).toHaveLength(1);
    expect(lines.flatMap(metricsOfLine)).toMatchObject([
      { name: 'ColdStarts', values: [1] },
      { name: 'Reconciled', values: [1_000] },
      { name: 'DeliveriesOverdue', values: [1_000] },
      { name: 'DeliveriesStuck', values: [0] },
    ]);
  });

  it('count the cold start in the first invocation only', () => {
    const journal = journalWith();
    journal.flush();
    journal.note(aFact('dead_lettered'));
    journal.flush();
    const lines = output.lines.filter(isEmf);
    expect(lines.map((line) => metricsOfLine(line).map(({ name }) => name))).toEqual([
      ['ColdStarts'],
      ['DeadLettered'],
    ]);
  });

  it('are not written if nothing was counted', () => {
    const journal = journalWith();
    journal.flush();
    output.lines.splice(0);
    journal.flush();
    expect(output.lines).toEqual([]);
  });
});

describe('an unexpected exception', () => {
  it('is an error line with the ids, the name of the error and its cause', () => {
    journalWith().fault(new TypeError('broken', { cause: new Error('deep') }), { sqsMessageId: 'sqs-1' });
    expect(output.parsed()).toMatchObject([
      {
        level: 'ERROR',
        message: 'fault',
        sqsMessageId: 'sqs-1',
        error: { name: 'TypeError', message: 'broken', cause: { message: 'deep' } },
      },
    ]);
  });

  it('is counted, because a record that returns is not an error of the function', () => {
    const journal = journalWith();
    journal.fault(new Error('throttled'), {});
    journal.fault(new Error('throttled'), {});
    journal.flush();
    expect(output.parsed().at(-1)).toMatchObject({ Faults: 2 });
  });

  it('may be a value that is not an Error', () => {
    journalWith().fault('just text', {});
    expect(output.parsed()).toMatchObject([{ error: { message: 'just text' } }]);
  });
});

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

/** The output without the metrics. */
const written = (): Record<string, unknown>[] => output.parsed().filter((line) => !('_aws' in line));

const defined = (line: Record<string, unknown>): Record<string, unknown> =>
  Object.fromEntries(Object.entries(line).filter(([, value]) => value !== undefined));

describe('a first success', () => {
  it('that is the only one of its message in an invocation has the usual line of an attempt', () => {
    const journal = journalWith();
    const fact = success('s-1');
    journal.note(fact);
    journal.flush();
    const [
      { level, message, timestamp, service, xray_trace_id, deployment, version, ...line } = {},
      ...more
    ] = written();
    expect(more).toEqual([]);
    expect({ level, message, service, deployment, version }).toEqual({
      level: 'INFO',
      message: 'attempt_made',
      service: 'deliver',
      deployment: 'Posthaste',
      version: '1.2.3',
    });
    expect([typeof timestamp, xray_trace_id]).toEqual(['string', '1-5759e988-bd862e3fe1be46a994272793']);
    expect(line).toEqual(defined(lineOf(fact)));
  });

  it('shares a line with others of its message: common fields once, then the values of each attempt', () => {
    const journal = journalWith();
    journal.note(success('s-1'));
    journal.note(success('s-2', 'm-1', { result: answered(204), durationMs: 7, startedAt: SOME_TIME + 3 }));
    journal.flush();
    expect(written()).toEqual([
      {
        level: 'INFO',
        message: 'attempts_delivered',
        timestamp: expect.any(String) as string,
        service: 'deliver',
        xray_trace_id: '1-5759e988-bd862e3fe1be46a994272793',
        deployment: 'Posthaste',
        version: '1.2.3',
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
    const journal = journalWith();
    journal.note(success('s-1'));
    journal.note(other);
    journal.flush();
    expect(written()).toMatchObject([{ subscriptionId: 's-1' }, defined(lineOf(other))]);
  });

  it('is written once, and a later one starts a new line', () => {
    const journal = journalWith();
    journal.note(success('s-1'));
    journal.flush();
    journal.flush();
    journal.note(success('s-2'));
    journal.flush();
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
  ] as const)('has no line if %s, alone or with others', (_, overrides) => {
    const journal = journalWith(overrides);
    journal.note(success('s-1'));
    journal.note(success('s-2'));
    journal.note(success('s-1', 'm-2'));
    journal.flush();
    expect(written()).toEqual([]);
  });

  it('counts in the metrics like any other', () => {
    const journal = journalWith();
    for (let n = 0; n < 10; n += 1) journal.note(success(`s-${n}`));
    journal.flush();
    expect(output.lines.filter(isEmf).map((line): unknown => JSON.parse(line))).toMatchObject([
      { AttemptsDelivered: 10, DeliveriesDelivered: 10 },
    ]);
  });
});

describe('every other attempt', () => {
  it.each([
    ['failed', anAttempt({ outcome: 'failed' })],
    ['was rejected', anAttempt({ outcome: 'rejected', result: answered(400) })],
    ['succeeded after failures', anAttempt({ outcome: 'delivered', number: 2 })],
    ['may have been made before', anAttempt({ outcome: 'delivered', lost: 1 })],
  ])('that %s is written at once, in a separate line', (_, attempt) => {
    const journal = journalWith();
    journal.note(aFact('attempt_made', { attempt }));
    journal.note(aFact('attempt_made', { attempt }));
    expect(written().map(({ message }) => message)).toEqual(['attempt_made', 'attempt_made']);
  });
});

describe('the line of a message', () => {
  /** The line for random ids, like those made by the API and SQS. */
  const lineOfSuccesses = (count: number): string => {
    const journal = journalWith();
    const messageId = randomUUID();
    for (let n = 0; n < count; n += 1) journal.note(success(randomUUID(), messageId));
    journal.flush();
    const [line = ''] = output.lines.splice(0).filter((one) => !isEmf(one));
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
