import { metricNames, type MetricName } from '../../config/metrics.ts';
import { isEventReason } from '../../domain/event-type/event-fault.ts';
import type { OperatorEvent } from '../../domain/delivery/operator-event.ts';
import type { Phase, Outcome } from '../../domain/retry/vocabulary.ts';
import type { PressureReason } from '../../domain/subscription/vocabulary.ts';
import type { Mechanism, Status } from '../../domain/delivery/vocabulary.ts';
import type { Attempt } from '../../domain/delivery/attempt.ts';
import type { Fact } from '../../ports/journal.ts';

/** One value of a metric, in the metric's unit. */
export type Measure = { name: MetricName; value: number };

/** The metrics of a fact. Ids are never dimensions: CloudWatch charges for every set of dimensions. */
export function toMeasures(fact: Fact): readonly Measure[] {
  switch (fact.fact) {
    case 'message_accepted':
      return fact.duplicate ? [] : measureAccepted(fact);
    case 'message_refused':
      return [
        one(metricNames.messagesRefused),
        ...(isEventReason(fact.reason) ? [one(metricNames.eventsInvalid)] : []),
      ];
    case 'attempt_made':
      return measureAttempt(fact);
    case 'late_result':
      return fact.decisive ? [one(metricNames.deliveriesDelivered)] : [];
    case 'delivery_cancelled':
      return [one(metricNames.deliveriesCancelled)];
    case 'slot_awaited':
      return [one(metricNames.attemptsRateLimited)];
    case 'wake_up_set':
      return wakeUpMeasures[fact.by];
    case 'reconciled':
      return [one(metricNames.reconciled)];
    case 'reconcile_ran':
      return [
        { name: metricNames.deliveriesOverdue, value: fact.overdue },
        { name: metricNames.deliveriesStuck, value: fact.stuck },
      ];
    case 'dead_lettered':
      return [one(metricNames.deadLettered)];
    case 'health_not_recorded':
    case 'slot_not_reserved':
    case 'confirmation_not_sent':
    case 'operation_failed_for':
      return [one(metricNames.faults)];
    case 'aws_call_failed':
      return [
        ...(fact.repeated ? [one(metricNames.awsCallsRetried)] : []),
        ...(fact.throttled ? [one(metricNames.awsCallsThrottled)] : []),
      ];
    case 'polled':
      return [{ name: metricNames.pollInterval, value: fact.interval * 1000 }];
    case 'page_sent':
      return subscriptionMeasures(fact);
    case 'message_unfinished':
    case 'filter_too_costly':
    case 'retried_manually':
    case 'moved_up':
    case 'lease_lost':
    case 'schedule_refused':
    case 'wake_up_dropped':
    case 'sent_again':
    case 'operation_continued':
    case 'operation_dropped':
    case 'cancellation_given_up':
    case 'recovery_completed':
    case 'policy_adjusted':
    case 'statistics_not_written':
    case 'attempt_events_lost':
      return [];
    case 'operator_event_sent':
      return eventMeasures(fact.event);
  }
}

function eventMeasures(event: OperatorEvent): readonly Measure[] {
  switch (event.type) {
    case 'subscription.failing':
      return [one(metricNames.subscriptionsFailing)];
    case 'subscription.slowed':
      return [one(pressureNames[event.reason])];
    case 'deliveries.expiring':
      return [one(metricNames.deliveriesExpiring)];
    case 'subscription.recovered':
    case 'subscription.resumed':
    case 'subscription.disabled':
    case 'subscription.certificate_expiring':
    case 'delivery.exhausted':
    case 'attempt.failed':
      return [];
  }
}

const pressureNames: Record<PressureReason, MetricName> = {
  receiver_throttled: metricNames.subscriptionsThrottled,
  circuit_open: metricNames.circuitsOpened,
};

export function one(name: MetricName): Measure {
  return { name, value: 1 };
}

function measureAccepted(fact: Extract<Fact, { fact: 'message_accepted' }>): readonly Measure[] {
  const isUnmatched = fact.matched === 0 && fact.unfinished === undefined;
  return [
    one(metricNames.messagesAccepted),
    ...(isUnmatched ? [one(metricNames.messagesUnmatched)] : []),
    ...(fact.event === undefined ? [] : [one(eventNames[fact.event])]),
    ...subscriptionMeasures(fact),
  ];
}

const eventNames = {
  invalid: metricNames.eventsInvalid,
  undecided: metricNames.eventsUnvalidated,
};

function subscriptionMeasures(of: { matched: number; filtered: number }): readonly Measure[] {
  const { matched, filtered } = of;
  return [
    ...(matched === 0 ? [] : [{ name: metricNames.deliveriesMatched, value: matched }]),
    ...(filtered === 0 ? [] : [{ name: metricNames.deliveriesFiltered, value: filtered }]),
  ];
}

function measureAttempt(made: Extract<Fact, { fact: 'attempt_made' }>): readonly Measure[] {
  const { attempt, status, latenessMs } = made;
  return [
    one(outcomeNames[attempt.outcome]),
    one(phaseNames[attempt.phase]),
    // A received attempt has no times: its subscriber decides when it starts, and how long it takes.
    ...(latenessMs === undefined
      ? []
      : [
          { name: metricNames.attemptDuration, value: attempt.durationMs },
          measurePunctuality(attempt, latenessMs),
        ]),
    ...statusMeasures[status],
  ];
}

/**
 * Never negative: the clocks of SQS and of the function differ a little, so an attempt may seem to precede its
 * message.
 */
function measurePunctuality({ number }: Attempt, latenessMs: number): Measure {
  return {
    name: number === 1 ? metricNames.firstAttemptAge : metricNames.retryLateness,
    value: Math.max(0, latenessMs),
  };
}

const outcomeNames: Record<Outcome, MetricName> = {
  delivered: metricNames.attemptsDelivered,
  failed: metricNames.attemptsFailed,
  rejected: metricNames.attemptsRejected,
};

const phaseNames: Record<Phase, MetricName> = {
  initial: metricNames.attemptsInitial,
  immediate: metricNames.attemptsImmediate,
  pre_backoff: metricNames.attemptsPreBackoff,
  backoff: metricNames.attemptsBackoff,
  post_backoff: metricNames.attemptsPostBackoff,
  manual: metricNames.attemptsManual,
};

const statusMeasures: Record<Status, readonly Measure[]> = {
  pending: [],
  retrying: [],
  delivered: [one(metricNames.deliveriesDelivered)],
  rejected: [one(metricNames.deliveriesRejected)],
  exhausted: [one(metricNames.deliveriesExhausted)],
  cancelled: [one(metricNames.deliveriesCancelled)],
};

const wakeUpMeasures: Record<Mechanism, readonly Measure[]> = {
  same_invocation: [],
  sqs_delay: [one(metricNames.wakeUpsBySqs)],
  scheduler: [one(metricNames.wakeUpsByScheduler)],
  pull: [],
  subscription_pause: [],
  queue_pause: [],
};
