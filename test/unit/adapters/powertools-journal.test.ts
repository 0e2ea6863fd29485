import { afterEach, describe, expect, it, vi } from 'vitest';
import { powertoolsJournal, type LogSettings } from '../../../shared/adapters/log/journal.ts';
import { metricsInMilliseconds } from '../../../shared/config/metrics.ts';
import type { Fact } from '../../../shared/ports/journal.ts';
import { anAttempt, answered } from '../../support/delivery-builders.ts';
import { isEmf, metricsOfLine } from '../../support/emitted-metrics.ts';
import { aFact, everyFact } from '../../support/every-fact.ts';
import { captureOutput } from './captured-output.ts';

afterEach(() => {
  vi.restoreAllMocks();
  vi.unstubAllEnvs();
});

const settings: LogSettings = {
  deployment: 'Test',
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
    const output = captureOutput();
    journalWith().note(fact);
    expect(output.parsed()).toMatchObject([
      { message: fact.fact, fact: fact.fact, service: 'deliver', deployment: 'Test', version: '1.2.3' },
    ]);
  });

  it('has the trace id of its invocation', () => {
    vi.stubEnv(
      '_X_AMZN_TRACE_ID',
      'Root=1-5759e988-bd862e3fe1be46a994272793;Parent=53995c3f42cd8ad8;Sampled=0',
    );
    const output = captureOutput();
    journalWith().note(aFact('attempt_made'));
    expect(output.parsed()).toMatchObject([{ xray_trace_id: '1-5759e988-bd862e3fe1be46a994272793' }]);
  });

  it('has no character that breaks a line, controls a terminal or hides text', () => {
    const text = 'a\u2028b\u202ec\u0085d\u{e0041}';
    const output = captureOutput();
    const journal = journalWith();
    journal.fault(new Error(text), { queue: text });
    journal.auditLogger.info('audit', { changed: [text] });
    const shown = 'a\ufffdb\ufffdc\ufffdd\ufffd';
    expect(output.parsed()).toMatchObject([
      { queue: shown, error: { message: shown } },
      { changed: [shown] },
    ]);
  });

  it('of a successful attempt is shorter than 700 bytes with ids of typical length', () => {
    vi.stubEnv(
      '_X_AMZN_TRACE_ID',
      'Root=1-5759e988-bd862e3fe1be46a994272793;Parent=53995c3f42cd8ad8;Sampled=0',
    );
    const output = captureOutput();
    const id = '6f0d1c9e-5a53-4f3a-9a0f-1d2c3b4a5968';
    const key = { queue: 'orders.eu-west-1', messageId: id, subscriptionId: id, bucket: 0 };
    const attempt = anAttempt({ outcome: 'delivered', result: answered(200) });
    const journal = journalWith({ deployment: 'Posthaste' });
    journal.note(aFact('attempt_made', { key, attempt, status: 'delivered' }));
    journal.flush();
    const [line = ''] = output.lines;
    expect(line).toContain('"attempt_made"');
    expect(Buffer.byteLength(line)).toBeLessThan(700);
  });
});

describe('the log level', () => {
  it.each([
    ['debug', ['DEBUG', 'INFO', 'WARN', 'ERROR']],
    ['info', ['INFO', 'WARN', 'ERROR']],
    ['warn', ['WARN', 'ERROR']],
    ['error', ['ERROR']],
  ] as const)('%s lets through %j', (logLevel, expected) => {
    const output = captureOutput();
    const journal = journalWith({ logLevel });
    for (const fact of everyFact) journal.note(fact);
    expect(new Set(output.parsed().map(({ level }) => level))).toEqual(new Set(expected));
  });

  it('does not affect metrics', () => {
    const output = captureOutput();
    const journal = journalWith({ logLevel: 'error', logSuccessSampling: 0 });
    journal.note(delivered('m-1'));
    journal.flush();
    expect(output.parsed()).toMatchObject([{ AttemptsDelivered: 1, DeliveriesDelivered: 1 }]);
  });

  it('does not affect the audit trail', () => {
    const output = captureOutput();
    journalWith({ logLevel: 'error' }).auditLogger.info('audit', { change: 'queue_deleted' });
    expect(output.parsed()).toMatchObject([
      { message: 'audit', change: 'queue_deleted', deployment: 'Test', version: '1.2.3' },
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
    const output = captureOutput();
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
    const output = captureOutput();
    const journal = journalWith({ logSuccessSampling: 0 });
    journal.note(delivered('m-1'));
    journal.note(aFact('attempt_made', { attempt: anAttempt({ outcome: 'failed' }) }));
    expect(output.parsed()).toMatchObject([{ outcome: 'failed' }]);
  });
});

describe('the metrics', () => {
  const flushed = (facts: readonly Fact[]) => {
    const journal = journalWith({ logLevel: 'error', logSuccessSampling: 0 });
    const output = captureOutput();
    for (const fact of facts) journal.note(fact);
    journal.flush();
    vi.restoreAllMocks();
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
        dimensions: { deployment: 'Test' },
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
    const output = captureOutput();
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
    const output = captureOutput();
    const journal = journalWith();
    journal.flush();
    output.lines.splice(0);
    journal.flush();
    expect(output.lines).toEqual([]);
  });
});

describe('an unexpected exception', () => {
  it('is an error line with the ids, the name of the error and its cause', () => {
    const output = captureOutput();
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
    const output = captureOutput();
    const journal = journalWith();
    journal.fault(new Error('throttled'), {});
    journal.fault(new Error('throttled'), {});
    journal.flush();
    expect(output.parsed().at(-1)).toMatchObject({ Faults: 2 });
  });

  it('may be a value that is not an Error', () => {
    const output = captureOutput();
    journalWith().fault('just text', {});
    expect(output.parsed()).toMatchObject([{ error: { message: 'just text' } }]);
  });
});
