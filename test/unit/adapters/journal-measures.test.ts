import { describe, expect, it } from 'vitest';
import { metricNames, metricsOfWorkers } from '../../../shared/config/metrics.ts';
import { measuresOf } from '../../../shared/adapters/log/journal-measures.ts';
import { PHASES } from '../../../shared/domain/retry/vocabulary.ts';
import type { Status } from '../../../shared/domain/delivery/vocabulary.ts';
import type { Fact } from '../../../shared/ports/journal.ts';
import { anAttempt } from '../../support/delivery-builders.ts';
import { aFact, everyFact, everyOperatorEvent } from '../../support/every-fact.ts';

/** Sums, as CloudWatch computes them for counts. */
const sumsOf = (...facts: Fact[]): Record<string, number> => {
  const sums: Record<string, number> = {};
  for (const { name, value } of facts.flatMap(measuresOf)) sums[name] = (sums[name] ?? 0) + value;
  return sums;
};

const attemptWith = (
  attempt: Parameters<typeof anAttempt>[0],
  status: Status = 'retrying',
  latenessMs = 40,
) => aFact('attempt_made', { attempt: anAttempt(attempt), status, latenessMs });

describe('the metrics', () => {
  it('of a message count it as accepted, with its matched and filtered subscriptions', () => {
    expect(sumsOf(aFact('message_accepted', { matched: 2, filtered: 3 }))).toEqual({
      MessagesAccepted: 1,
      DeliveriesMatched: 2,
      DeliveriesFiltered: 3,
    });
  });

  it('of a message without deliveries count it as unmatched', () => {
    expect(sumsOf(aFact('message_accepted', { matched: 0, filtered: 3 }))).toEqual({
      MessagesAccepted: 1,
      MessagesUnmatched: 1,
      DeliveriesFiltered: 3,
    });
  });

  it('of a duplicate message are empty', () => {
    expect(sumsOf(aFact('message_accepted', { duplicate: true }))).toEqual({});
  });

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

  it('distinguish the age of first attempts from the lateness of retries', () => {
    const first = sumsOf(attemptWith({ number: 1 }, 'retrying', 25));
    expect(first).toMatchObject({ FirstAttemptAge: 25 });
    expect(first).not.toHaveProperty('RetryLateness');
    const retry = sumsOf(attemptWith({ number: 2 }, 'retrying', 30));
    expect(retry).toMatchObject({ RetryLateness: 30 });
    expect(retry).not.toHaveProperty('FirstAttemptAge');
  });

  it('contain no negative age, even if clocks differ', () => {
    expect(sumsOf(attemptWith({ number: 1 }, 'retrying', -3))).toMatchObject({ FirstAttemptAge: 0 });
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

  it.each([
    attemptWith({}, 'retrying'),
    aFact('late_result', { attempt: anAttempt({ outcome: 'delivered' }), decisive: false }),
    ...everyOperatorEvent.map((event) => aFact('operator_event_sent', { event })),
  ])('of a delivery without a final status count none: $fact', (fact) => {
    expect(Object.keys(sumsOf(fact)).filter((name) => name.startsWith('Deliveries'))).toEqual([]);
  });

  it('of operator events count what befalls subscriptions, by reason, and no recovery', () => {
    expect(sumsOf(...everyOperatorEvent.map((event) => aFact('operator_event_sent', { event })))).toEqual({
      SubscriptionsFailing: 1,
      SubscriptionsThrottled: 1,
      CircuitsOpened: 1,
    });
  });

  it('of a wake-up count its mechanism', () => {
    expect(sumsOf(aFact('wake_up_set', { by: 'sqs_delay' }))).toEqual({ WakeUpsBySqs: 1 });
    expect(sumsOf(aFact('wake_up_set', { by: 'scheduler' }))).toEqual({ WakeUpsByScheduler: 1 });
  });

  it('of a run of reconcile are two gauges, which are 0 if nothing is overdue', () => {
    expect(sumsOf(aFact('reconcile_ran', { overdue: 4, stuck: 1 }))).toEqual({
      DeliveriesOverdue: 4,
      DeliveriesStuck: 1,
    });
    expect(measuresOf(aFact('reconcile_ran', { overdue: 0, stuck: 0 }))).toEqual([
      { name: 'DeliveriesOverdue', value: 0 },
      { name: 'DeliveriesStuck', value: 0 },
    ]);
  });

  it.each([
    [
      { throttled: true, repeated: true },
      { AwsCallsThrottled: 1, AwsCallsRetried: 1 },
    ],
    [{ throttled: true, repeated: false }, { AwsCallsThrottled: 1 }],
    [{ throttled: false, repeated: true }, { AwsCallsRetried: 1 }],
    [{ throttled: false, repeated: false }, {}],
  ])('of a failed AWS call are as specified: %j', (given, expected) => {
    expect(sumsOf(aFact('aws_call_failed', given))).toEqual(expected);
  });

  it.each([
    ['message_refused', { MessagesRefused: 1 }],
    ['dead_lettered', { DeadLettered: 1 }],
    ['reconciled', { Reconciled: 1 }],
    ['slot_awaited', { AttemptsRateLimited: 1 }],
    ['health_not_recorded', { Faults: 1 }],
    ['confirmation_not_sent', { Faults: 1 }],
    ['operation_failed_for', { Faults: 1 }],
  ] as const)('of %s are %j', (name, expected) => {
    expect(sumsOf(aFact(name))).toEqual(expected);
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
      aFact('message_accepted', { matched: 0 }),
      ...everyOperatorEvent.map((event) => aFact('operator_event_sent', { event })),
    );
    expect([...Object.keys(made), metricNames.coldStarts].toSorted()).toEqual(
      Object.values(metricNames).toSorted(),
    );
  });

  it('of functions cost less than $11 a month, at $0.30 each in use', () => {
    expect((Object.keys(metricNames).length - metricsOfWorkers.size) * 0.3).toBeLessThan(11);
  });
});
