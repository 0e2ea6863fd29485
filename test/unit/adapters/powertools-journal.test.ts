import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import * as z from 'zod';
import { powertoolsJournal } from '../../../shared/adapters/powertools-journal.ts';
import type { Fact } from '../../../shared/ports/journal.ts';
import { anAttempt } from '../../support/delivery-builders.ts';

const key = { queue: 'orders', messageId: 'm-1', subscriptionId: 's-1', bucket: 3 };

const ofKey = { queue: key.queue, subscriptionId: key.subscriptionId };

const lines: Record<string, unknown>[] = [];
const lineSchema = z.record(z.string(), z.unknown());

const keepLines = (chunk: unknown): boolean => {
  for (const line of String(chunk).split('\n').filter(Boolean))
    lines.push(lineSchema.parse(JSON.parse(line)));
  return true;
};

beforeEach(() => {
  lines.splice(0);
  vi.spyOn(process.stdout, 'write').mockImplementation(keepLines);
  vi.spyOn(process.stderr, 'write').mockImplementation(keepLines);
});
afterEach(() => {
  vi.restoreAllMocks();
});

const journal = () => powertoolsJournal({ deployment: 'Test', service: 'deliver' });

const attemptMade = (given: Partial<Extract<Fact, { fact: 'attempt_made' }>> = {}): Fact => ({
  fact: 'attempt_made',
  key,
  attempt: anAttempt(),
  status: 'retrying',
  latenessMs: 40,
  ...given,
});

const everyNews: Extract<Fact, { fact: 'operator_told' }>[] = [
  { fact: 'operator_told', event: { type: 'delivery.exhausted', key, attempts: 20, at: 5 } },
  { fact: 'operator_told', event: { type: 'subscription.failing', ...ofKey, since: 1, failures: 20 } },
  { fact: 'operator_told', event: { type: 'subscription.recovered', ...ofKey, since: 1, at: 5 } },
  { fact: 'operator_told', event: { type: 'subscription.disabled', ...ofKey, reason: 'gone', at: 5 } },
];

const everyFact: Fact[] = [
  {
    fact: 'message_accepted',
    message: { queue: 'orders', messageId: 'm-1' },
    matched: 2,
    filtered: 0,
    duplicate: false,
  },
  {
    fact: 'filter_too_costly',
    message: { queue: 'orders', messageId: 'm-1' },
    subscriptions: 1,
    subscriptionIds: ['s-1'],
  },
  { fact: 'message_refused', id: 'sqs-1', reason: 'not_json' },
  attemptMade(),
  { fact: 'delivery_cancelled', key, reason: 'disabled' },
  { fact: 'late_result', key, attempt: anAttempt() },
  { fact: 'lease_lost', key, attempt: 1 },
  { fact: 'wake_up_set', key, attempt: 2, by: 'scheduler', dueAt: 5 },
  { fact: 'schedule_refused', key, attempt: 2 },
  { fact: 'wake_up_dropped', key, attempt: 2, reason: 'stale' },
  { fact: 'dead_lettered', id: 'sqs-1', reason: 'body_missing' },
  { fact: 'time_given_back', key, attempt: 1 },
  { fact: 'reconciled', key, overdueMs: 7 },
  { fact: 'operation_failed_for', operation: 'recovery', key, error: new TypeError('unreadable') },
  { fact: 'cancellation_given_up', ...ofKey, failed: 1 },
  { fact: 'policy_adjusted', queue: 'orders', warning: 'maximum_delay' },
  ...everyNews,
  { fact: 'health_unnoted', ...ofKey, error: new TypeError('throttled') },
];

describe('every fact', () => {
  it.each(everyFact)('is one log line with its ids: $fact', (fact) => {
    journal().note(fact);
    expect(lines).toHaveLength(1);
    expect(lines[0]).toMatchObject({
      message: fact.fact,
      fact: fact.fact,
      service: 'deliver',
      deployment: 'Test',
    });
    if ('key' in fact)
      expect(lines[0]).toMatchObject({ queue: 'orders', messageId: 'm-1', subscriptionId: 's-1' });
  });

  it('of an attempt tells all of it but what the subscriber answered', () => {
    const attempt = anAttempt({ number: 4, phase: 'backoff', snippet: 'card 4111', error: 'busy', lost: 1 });
    journal().note(attemptMade({ attempt, nextAt: 9, nextBy: 'sqs_delay' }));
    expect(lines[0]).toMatchObject({
      level: 'INFO',
      attempt: 4,
      phase: 'backoff',
      outcome: 'failed',
      statusCode: 503,
      error: 'busy',
      lost: 1,
      status: 'retrying',
      nextAt: 9,
      nextBy: 'sqs_delay',
    });
    expect(JSON.stringify(lines)).not.toContain('4111');
  });

  it.each(everyNews)('of what operators are told names the event and its ids: $event.type', (fact) => {
    journal().note(fact);
    expect(lines[0]).toMatchObject({ level: 'INFO', event: fact.event.type, ...ofKey });
    expect(lines[0]).not.toHaveProperty('bucket');
  });

  it('of health that could not be noted is an error, with its name', () => {
    journal().note({ fact: 'health_unnoted', ...ofKey, error: new TypeError('throttled') });
    expect(lines[0]).toMatchObject({
      level: 'ERROR',
      ...ofKey,
      error: { name: 'TypeError', message: 'throttled' },
    });
  });

  it('of a delivery that an order failed for is an error, with its name', () => {
    journal().note({ fact: 'operation_failed_for', operation: 'recovery', key, error: new TypeError('odd') });
    expect(lines[0]).toMatchObject({
      level: 'ERROR',
      operation: 'recovery',
      ...ofKey,
      messageId: 'm-1',
      error: { name: 'TypeError', message: 'odd' },
    });
  });

  it('that an operator should look at is a warning', () => {
    const watched = journal();
    for (const fact of everyFact) watched.note(fact);
    expect(lines.filter(({ level }) => level === 'WARN').map(({ fact }) => fact)).toEqual([
      'filter_too_costly',
      'message_refused',
      'late_result',
      'lease_lost',
      'schedule_refused',
      'dead_lettered',
      'reconciled',
      'cancellation_given_up',
      'policy_adjusted',
    ]);
  });
});

describe('the metrics', () => {
  const flushed = (facts: readonly Fact[]) => {
    const watched = journal();
    for (const fact of facts) watched.note(fact);
    lines.splice(0);
    watched.flush();
    return lines.splice(0);
  };

  it('of an invocation are one line, the deployment its only dimension', () => {
    const [line, ...more] = flushed(everyFact);
    expect(more).toEqual([]);
    expect(line).toMatchObject({
      deployment: 'Test',
      MessagesAccepted: 1,
      MessagesRefused: 1,
      AttemptsFailed: 1,
      FirstAttemptAge: 40,
      WakeUpsSet: 1,
      WakeUpsDropped: 1,
      Reconciled: 1,
      DeadLettered: 1,
      DeliveriesExhausted: 1,
      SubscriptionsFailing: 1,
      SubscriptionsRecovered: 1,
      SubscriptionsDisabled: 1,
      Faults: [1, 1],
      _aws: { CloudWatchMetrics: [{ Namespace: 'Posthaste', Dimensions: [['deployment']] }] },
    });
    expect(line).not.toHaveProperty('service');
    expect(JSON.stringify(line)).not.toContain('m-1');
  });

  it('tell attempts by outcome, and the age of first ones from the lateness of retries', () => {
    const [line] = flushed([
      attemptMade({ attempt: anAttempt({ outcome: 'delivered' }), latenessMs: 1 }),
      attemptMade({ attempt: anAttempt({ outcome: 'rejected', number: 2 }), latenessMs: 20 }),
      attemptMade({ attempt: anAttempt({ outcome: 'delivered', number: 3 }), latenessMs: 30 }),
    ]);
    expect(line).toMatchObject({
      AttemptsDelivered: [1, 1],
      AttemptsRejected: 1,
      FirstAttemptAge: 1,
      RetryLateness: [20, 30],
    });
    expect(line).not.toHaveProperty('AttemptsFailed');
  });

  it('do not count a message twice that came twice', () => {
    const accepted = { fact: 'message_accepted', message: key, matched: 1, filtered: 0 } as const;
    const [line] = flushed([
      { ...accepted, duplicate: false },
      { ...accepted, duplicate: true },
    ]);
    expect(line).toMatchObject({ MessagesAccepted: 1 });
  });

  it('are no line at all when nothing was counted, and are counted once', () => {
    const watched = journal();
    watched.note({ fact: 'wake_up_set', key, attempt: 2, by: 'sqs_delay', dueAt: 5 });
    watched.flush();
    lines.splice(0);
    watched.flush();
    expect(lines).toEqual([]);
  });
});

describe('a fault of ours', () => {
  it('is an error line with the ids, the name of the error and its cause', () => {
    journal().fault(new TypeError('broken', { cause: new Error('deep') }), { sqsMessageId: 'sqs-1' });
    expect(lines[0]).toMatchObject({
      level: 'ERROR',
      message: 'fault',
      sqsMessageId: 'sqs-1',
      error: { name: 'TypeError', message: 'broken', cause: { message: 'deep' } },
    });
  });

  it('is counted, because a record that comes again is no error of the function', () => {
    const watched = journal();
    watched.fault(new Error('throttled'), {});
    watched.fault(new Error('throttled'), {});
    watched.flush();
    expect(lines.at(-1)).toMatchObject({ Faults: [1, 1] });
  });

  it('need not be an Error', () => {
    journal().fault('just text', {});
    expect(lines[0]).toMatchObject({ error: { message: 'just text' } });
  });
});
