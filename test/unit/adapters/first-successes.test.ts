import { randomUUID } from 'node:crypto';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { MAX_ON_A_LINE } from '../../../shared/adapters/log/first-successes.ts';
import { lineOf } from '../../../shared/adapters/log/journal-lines.ts';
import { powertoolsJournal, type LogSettings } from '../../../shared/adapters/log/journal.ts';
import type { Attempt } from '../../../shared/domain/delivery/attempt.ts';
import { anAttempt, SOME_TIME, answered } from '../../support/delivery-builders.ts';
import { isEmf } from '../../support/emitted-metrics.ts';
import { aFact, type FactNamed } from '../../support/every-fact.ts';
import { captureOutput } from './captured-output.ts';

const settings: LogSettings = {
  deployment: 'Posthaste',
  version: '1.2.3',
  logLevel: 'info',
  logSuccessSampling: 1,
};

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

const journalWith = (overrides: Partial<LogSettings> = {}) =>
  powertoolsJournal('deliver', { ...settings, ...overrides });

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
