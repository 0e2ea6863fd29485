import { describe, expect, it } from 'vitest';
import { findSuccess, isSampled, toLine } from '../../../shared/adapters/log/journal-lines.ts';
import { chooseLevel, toMeasures } from '../../../shared/adapters/log/journal-measures.ts';
import { metricNames, metricsOfWorkers } from '../../../shared/config/metrics.ts';
import type { Status } from '../../../shared/domain/delivery/vocabulary.ts';
import { PHASES } from '../../../shared/domain/retry/vocabulary.ts';
import type { Fact } from '../../../shared/ports/journal.ts';
import { anAttempt, answered, SOME_TIME } from '../../support/delivery-builders.ts';
import { aFact, everyFact, everyOperatorEvent, factKey } from '../../support/every-fact.ts';

const ids = { queue: 'orders', messageId: 'm-1', subscriptionId: 's-1' };

describe('the line of a fact', () => {
  it.each(everyFact)('has its ids at the top level, and no key of the logger: $fact', (fact) => {
    const line = toLine(fact);
    expect(line).toMatchObject({ fact: fact.fact });
    if ('key' in fact) expect(line).toMatchObject(ids);
    if ('message' in fact) expect(line).toMatchObject({ queue: 'orders', messageId: 'm-1' });
    const reserved = ['level', 'message', 'sampling_rate', 'service', 'timestamp'];
    const unwanted = ['key', 'bucket', ...reserved];
    expect(Object.keys(line).filter((key) => unwanted.includes(key))).toEqual([]);
  });

  it('of an attempt and of a late result contains all of it except the response snippet', () => {
    const result = answered(503, 'card 4111');
    const attempt = anAttempt({ number: 4, phase: 'backoff', result, lost: 1 });
    const line = toLine(aFact('attempt_made', { attempt, nextAt: 9, nextBy: 'sqs_delay' }));
    expect(line).toMatchObject({
      ...ids,
      attempt: 4,
      round: 1,
      phase: 'backoff',
      outcome: 'failed',
      statusCode: 503,
      durationMs: 120,
      dueAt: SOME_TIME - 40,
      startedAt: SOME_TIME,
      latenessMs: 40,
      lost: 1,
      status: 'retrying',
      nextAt: 9,
      nextBy: 'sqs_delay',
    });
    expect(JSON.stringify([line, toLine(aFact('late_result', { attempt }))])).not.toContain('4111');
  });

  it.each(everyOperatorEvent)('of an operator event contains its type and ids: $type', (event) => {
    const line = toLine(aFact('operator_event_sent', { event }));
    expect(line).toMatchObject({ event: event.type, queue: 'orders', subscriptionId: 's-1' });
    expect(line).not.toHaveProperty('bucket');
  });

  it.each([
    'health_not_recorded',
    'statistics_not_written',
    'attempt_events_lost',
    'confirmation_not_sent',
    'operation_failed_for',
  ] as const)('of %s contains the error', (name) => {
    expect(toLine(aFact(name))).toMatchObject({ error: { name: 'TypeError' } });
  });
});

describe('the level of a fact', () => {
  it('is a warning if an operator should look, and an error after an exception', () => {
    const at = (level: string) =>
      everyFact.filter((fact) => chooseLevel(fact) === level).map(({ fact }) => fact);
    expect(at('warn')).toEqual([
      'message_refused',
      'filter_too_costly',
      'late_result',
      'lease_lost',
      'schedule_refused',
      'dead_lettered',
      'reconciled',
      'operation_dropped',
      'cancellation_given_up',
      'policy_adjusted',
      'statistics_not_written',
      'attempt_events_lost',
      'aws_call_failed',
    ]);
    expect(at('error')).toEqual([
      'operation_failed_for',
      'slot_not_reserved',
      'health_not_recorded',
      'confirmation_not_sent',
    ]);
    expect(at('debug')).toEqual(['wake_up_set', 'reconcile_ran', 'polled']);
  });

  it('of a failed AWS call is a warning only if it was throttled, of a duplicate only if it differs', () => {
    expect(chooseLevel(aFact('aws_call_failed', { throttled: false }))).toBe('info');
    expect(chooseLevel(aFact('message_accepted', { duplicate: true, differs: true }))).toBe('warn');
  });
});

describe('a fact that can be sampled', () => {
  const attemptMade = (overrides: Parameters<typeof anAttempt>[0]) =>
    aFact('attempt_made', { attempt: anAttempt(overrides) });

  it.each<[what: string, isSampled: boolean, fact: Fact]>([
    ['an accepted message', true, aFact('message_accepted')],
    ['a duplicate that differs', false, aFact('message_accepted', { duplicate: true, differs: true })],
    ['a success at the first attempt', true, attemptMade({ outcome: 'delivered' })],
    ['a success after failures', false, attemptMade({ outcome: 'delivered', number: 2 })],
    ['a success that may be the second', false, attemptMade({ outcome: 'delivered', lost: 1 })],
    ['a failure', false, attemptMade({ outcome: 'failed' })],
    ['a rejection', false, attemptMade({ outcome: 'rejected' })],
    ['the wait of a first attempt', true, aFact('slot_awaited', { attempt: 1 })],
    ['the wait of a retry', false, aFact('slot_awaited', { attempt: 2 })],
  ])('belongs to a message that succeeds at the first attempt: %s (%s)', (_what, isSampled, fact) => {
    const key = { queue: factKey.queue, messageId: factKey.messageId };
    expect(findSuccess(fact)).toEqual(isSampled ? expect.objectContaining(key) : undefined);
  });

  it('is one of two kinds, or a first success', () => {
    const sampled = everyFact.filter((fact) => findSuccess(fact) !== undefined);
    expect(sampled.map(({ fact }) => fact)).toEqual(['message_accepted', 'slot_awaited']);
  });
});

describe('the sample of messages', () => {
  const keys = Array.from({ length: 2_000 }, (_, n) => ({ queue: 'orders', messageId: `message-${n}` }));
  const shareAt = (rate: number): number => keys.filter((key) => isSampled(key, rate)).length / keys.length;

  it('has about the share of messages that the rate demands', () => {
    expect(Math.abs(shareAt(0.1) - 0.1)).toBeLessThan(0.03);
    expect(Math.abs(shareAt(0.5) - 0.5)).toBeLessThan(0.05);
    expect([shareAt(0), shareAt(1)]).toEqual([0, 1]);
  });

  it('at a higher rate contains the sample at a lower rate, in every function', () => {
    const few = keys.filter((key) => isSampled(key, 0.2));
    expect(few.length).toBeGreaterThan(0);
    expect(few.every((key) => isSampled({ ...key }, 0.3))).toBe(true);
  });

  it('depends on the queue too', () => {
    const invoices = keys.map((key) => ({ ...key, queue: 'invoices' }));
    expect(invoices.map((key) => isSampled(key, 0.5))).not.toEqual(keys.map((key) => isSampled(key, 0.5)));
  });
});

/** Sums, as CloudWatch computes them for counts. */
const sumsOf = (...facts: Fact[]): Record<string, number> => {
  const sums: Record<string, number> = {};
  for (const { name, value } of facts.flatMap(toMeasures)) sums[name] = (sums[name] ?? 0) + value;
  return sums;
};

const attemptWith = (
  attempt: Parameters<typeof anAttempt>[0],
  status: Status = 'retrying',
  latenessMs = 40,
) => aFact('attempt_made', { attempt: anAttempt(attempt), status, latenessMs });

describe('the metrics', () => {
  it.each([
    ['delivered', 'AttemptsDelivered'],
    ['failed', 'AttemptsFailed'],
    ['rejected', 'AttemptsRejected'],
  ] as const)('of an attempt count its outcome: %s', (outcome, name) => {
    expect(sumsOf(attemptWith({ outcome }))).toMatchObject({ [name]: 1, AttemptDuration: 120 });
  });

  it('of an attempt count its phase', () => {
    expect(sumsOf(...PHASES.map((phase) => attemptWith({ phase })))).toMatchObject({
      AttemptsInitial: 1,
      AttemptsImmediate: 1,
      AttemptsPreBackoff: 1,
      AttemptsBackoff: 1,
      AttemptsPostBackoff: 1,
      AttemptsManual: 1,
      AttemptsFailed: 6,
    });
  });

  it.each([
    ['a first attempt count its age', attemptWith({ number: 1 }, 'retrying', 25), { FirstAttemptAge: 25 }],
    ['a clock that is behind count no negative age', attemptWith({}, 'retrying', -3), { FirstAttemptAge: 0 }],
    ['a retry count its lateness', attemptWith({ number: 2 }, 'retrying', 30), { RetryLateness: 30 }],
  ])('of %s', (_what, fact, expected) => {
    const { FirstAttemptAge, RetryLateness } = sumsOf(fact);
    expect({ FirstAttemptAge, RetryLateness }).toEqual(expected);
  });

  it.each([
    [attemptWith({ outcome: 'delivered' }, 'delivered'), { DeliveriesDelivered: 1 }],
    [attemptWith({ outcome: 'rejected' }, 'rejected'), { DeliveriesRejected: 1 }],
    [attemptWith({}, 'exhausted'), { DeliveriesExhausted: 1 }],
    [aFact('delivery_cancelled'), { DeliveriesCancelled: 1 }],
    [aFact('late_result', { decisive: true }), { DeliveriesDelivered: 1 }],
  ])('of a delivery count its final status once: $0.fact $1', (fact, expected) => {
    const finals = Object.entries(sumsOf(fact)).filter(([name]) =>
      /^Deliveries(Delivered|Rejected|Exhausted|Cancelled)$/.test(name),
    );
    expect(Object.fromEntries(finals)).toEqual(expected);
  });

  it('of a delivery without a final status count none', () => {
    const late = aFact('late_result', { attempt: anAttempt({ outcome: 'delivered' }), decisive: false });
    expect(Object.keys(sumsOf(attemptWith({}), late)).join()).not.toContain('Deliveries');
  });

  const failed = (throttled: boolean, repeated: boolean) => aFact('aws_call_failed', { throttled, repeated });
  const ran = (overdue: number, stuck: number) => aFact('reconcile_ran', { overdue, stuck });
  const accepted = (matched: number) => aFact('message_accepted', { matched, filtered: 3 });
  const acceptance = { MessagesAccepted: 1, DeliveriesFiltered: 3 };

  it.each<[what: string, facts: Fact[], sums: Record<string, number>]>([
    ['a message count it with its subscriptions', [accepted(2)], { ...acceptance, DeliveriesMatched: 2 }],
    [
      'a message without deliveries count it as unmatched',
      [accepted(0)],
      { ...acceptance, MessagesUnmatched: 1 },
    ],
    ['a duplicate message are empty', [aFact('message_accepted', { duplicate: true })], {}],
    [
      'operator events count what befalls subscriptions, by reason, and no recovery',
      everyOperatorEvent.map((event) => aFact('operator_event_sent', { event })),
      { SubscriptionsFailing: 1, SubscriptionsThrottled: 1, CircuitsOpened: 1, DeliveriesExpiring: 1 },
    ],
    ['a wake-up by SQS', [aFact('wake_up_set', { by: 'sqs_delay' })], { WakeUpsBySqs: 1 }],
    ['a wake-up by Scheduler', [aFact('wake_up_set', { by: 'scheduler' })], { WakeUpsByScheduler: 1 }],
    ['a run of reconcile are two gauges', [ran(4, 1)], { DeliveriesOverdue: 4, DeliveriesStuck: 1 }],
    ['a run that finds nothing are 0', [ran(0, 0)], { DeliveriesOverdue: 0, DeliveriesStuck: 0 }],
    ['a throttled call that is retried', [failed(true, true)], { AwsCallsThrottled: 1, AwsCallsRetried: 1 }],
    ['a throttled call that is not retried', [failed(true, false)], { AwsCallsThrottled: 1 }],
    ['another failed call that is retried', [failed(false, true)], { AwsCallsRetried: 1 }],
    ['another failed call that is not retried', [failed(false, false)], {}],
    ['a refused message', [aFact('message_refused')], { MessagesRefused: 1 }],
    [
      'messages that the catalogue refuses',
      ['unknown_event_type', 'event_invalid:/a'].map((reason) => aFact('message_refused', { reason })),
      { MessagesRefused: 2, EventsInvalid: 2 },
    ],
    ['a dead letter', [aFact('dead_lettered')], { DeadLettered: 1 }],
    ['a reconciled delivery', [aFact('reconciled')], { Reconciled: 1 }],
    ['an attempt that awaits a slot', [aFact('slot_awaited')], { AttemptsRateLimited: 1 }],
    ['health that was not recorded', [aFact('health_not_recorded')], { Faults: 1 }],
    ['a confirmation that was not sent', [aFact('confirmation_not_sent')], { Faults: 1 }],
    ['a subscription that an operation failed for', [aFact('operation_failed_for')], { Faults: 1 }],
  ])('of %s', (_what, facts, sums) => {
    expect(sumsOf(...facts)).toEqual(sums);
  });
});

describe('the list of metrics', () => {
  it('is covered by the facts, except for the one that the journal adds', () => {
    const made = sumsOf(
      ...everyFact,
      ...PHASES.map((phase) => attemptWith({ phase, number: 2 })),
      attemptWith({ outcome: 'delivered' }, 'delivered'),
      attemptWith({ outcome: 'rejected' }, 'rejected'),
      attemptWith({}, 'exhausted'),
      aFact('wake_up_set', { by: 'sqs_delay' }),
      aFact('message_accepted', { matched: 0, event: 'invalid' }),
      aFact('message_accepted', { event: 'undecided' }),
      ...everyOperatorEvent.map((event) => aFact('operator_event_sent', { event })),
    );
    expect([...Object.keys(made), metricNames.coldStarts].toSorted()).toEqual(
      Object.values(metricNames).toSorted(),
    );
  });

  it('of functions cost less than $12 a month, at $0.30 each in use', () => {
    expect((Object.keys(metricNames).length - metricsOfWorkers.size) * 0.3).toBeLessThan(12);
  });
});
