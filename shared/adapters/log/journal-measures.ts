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

export type Level = 'debug' | 'info' | 'warn' | 'error';

type FactOf<Name extends Fact['fact']> = Extract<Fact, { fact: Name }>;

/** `measures`: @default none */
type Row<Name extends Fact['fact']> = {
  level: Level;
  measures?: (fact: FactOf<Name>) => readonly Measure[];
};

/**
 * The level and the metrics of each fact. A warning is something an operator should look at. An error means that an
 * exception was caught and the step continued without the failed part.
 */
const FACTS: { readonly [Name in Fact['fact']]: Row<Name> } = {
  message_accepted: { level: 'info', measures: measureAccepted },
  message_refused: {
    level: 'warn',
    measures: ({ reason }) => [
      one(metricNames.messagesRefused),
      ...(isEventReason(reason) ? [one(metricNames.eventsInvalid)] : []),
    ],
  },
  page_sent: { level: 'info', measures: subscriptionMeasures },
  message_unfinished: { level: 'info' },
  filter_too_costly: { level: 'warn' },
  attempt_made: { level: 'info', measures: measureAttempt },
  late_result: {
    level: 'warn',
    measures: ({ decisive }) => (decisive ? [one(metricNames.deliveriesDelivered)] : []),
  },
  slot_awaited: { level: 'info', measures: () => [one(metricNames.attemptsRateLimited)] },
  moved_up: { level: 'info' },
  delivery_cancelled: { level: 'info', measures: () => [one(metricNames.deliveriesCancelled)] },
  retried_manually: { level: 'info' },
  lease_lost: { level: 'warn' },
  // The attempt's line shows when the next attempt is due, and by which mechanism.
  wake_up_set: { level: 'debug', measures: ({ by }) => wakeUpMeasures[by] },
  wake_up_dropped: { level: 'info' },
  schedule_refused: { level: 'warn' },
  sent_again: { level: 'info' },
  dead_lettered: { level: 'warn', measures: () => [one(metricNames.deadLettered)] },
  reconciled: { level: 'warn', measures: () => [one(metricNames.reconciled)] },
  // Runs every minute. Its findings have separate lines.
  reconcile_ran: {
    level: 'debug',
    measures: ({ overdue, stuck }) => [
      { name: metricNames.deliveriesOverdue, value: overdue },
      { name: metricNames.deliveriesStuck, value: stuck },
    ],
  },
  operation_continued: { level: 'info' },
  operation_dropped: { level: 'warn' },
  operation_failed_for: { level: 'error', measures: measureFault },
  cancellation_given_up: { level: 'warn' },
  recovery_completed: { level: 'info' },
  policy_adjusted: { level: 'warn' },
  operator_event_sent: { level: 'info', measures: ({ event }) => eventMeasures(event) },
  health_not_recorded: { level: 'error', measures: measureFault },
  slot_not_reserved: { level: 'error', measures: measureFault },
  confirmation_not_sent: { level: 'error', measures: measureFault },
  statistics_not_written: { level: 'warn' },
  attempt_events_lost: { level: 'warn' },
  aws_call_failed: {
    level: 'info',
    measures: ({ repeated, throttled }) => [
      ...(repeated ? [one(metricNames.awsCallsRetried)] : []),
      ...(throttled ? [one(metricNames.awsCallsThrottled)] : []),
    ],
  },
  polled: {
    level: 'debug',
    measures: ({ interval }) => [{ name: metricNames.pollInterval, value: interval * 1000 }],
  },
};

export function chooseLevel(fact: Fact): Level {
  if (fact.fact === 'aws_call_failed' && fact.throttled) return 'warn';
  // The producer believes that it published a different message.
  if (fact.fact === 'message_accepted' && isDropped(fact)) return 'warn';
  return FACTS[fact.fact].level;
}

/** The metrics of a fact. Ids are never dimensions: CloudWatch charges for every set of dimensions. */
export function toMeasures(fact: Fact): readonly Measure[] {
  return measuresOf(fact.fact, fact);
}

function measuresOf<Name extends Fact['fact']>(name: Name, fact: FactOf<Name>): readonly Measure[] {
  const { measures }: Row<Name> = FACTS[name];
  return measures === undefined ? [] : measures(fact);
}

/** A duplicate that is not sent. Its producer may not expect this. */
export function isDropped({ differs, late }: { differs?: true; late?: true }): boolean {
  return differs === true || late === true;
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

function measureFault(): readonly Measure[] {
  return [one(metricNames.faults)];
}

function measureAccepted(fact: FactOf<'message_accepted'>): readonly Measure[] {
  if (fact.duplicate) return [];
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

function measureAttempt(made: FactOf<'attempt_made'>): readonly Measure[] {
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
