/** Namespace and names of Posthaste's metrics: written by the journal, shown by the monitoring stack. */
export const metricNamespace = 'Posthaste';

/**
 * The only dimension; its value is the deployment's name. Each set of dimensions is charged separately (Amazon
 * CloudWatch pricing).
 */
export const metricDimension = 'deployment';

/**
 * All metrics, at $0.30 a month each (Amazon CloudWatch pricing; docs/cost-and-performance.md has the total).
 * Metrics that SQS, Lambda, EventBridge and DynamoDB provide are not repeated. Counts are summed and absent without
 * events, except reconcile's two gauges.
 */
export const metricNames = {
  /** Accepted messages, without repeats. */
  messagesAccepted: 'MessagesAccepted',
  /** Accepted messages without a delivery: no subscription, or filters excluded all of them. */
  messagesUnmatched: 'MessagesUnmatched',
  /** Messages that dispatch dead-lettered. */
  messagesRefused: 'MessagesRefused',
  /** Messages that the catalogue of event types refuses, accepted or dead-lettered. */
  eventsInvalid: 'EventsInvalid',
  /** Accepted messages that could not be checked: their schema needs too many steps, or cannot be read. */
  eventsUnvalidated: 'EventsUnvalidated',
  /** Matching subscriptions of accepted messages, summed. */
  deliveriesMatched: 'DeliveriesMatched',
  /** Subscriptions that filters excluded, summed over accepted messages. */
  deliveriesFiltered: 'DeliveriesFiltered',

  /** Recorded attempts by outcome, without late results. */
  attemptsDelivered: 'AttemptsDelivered',
  attemptsFailed: 'AttemptsFailed',
  attemptsRejected: 'AttemptsRejected',

  /** The same attempts by phase. */
  attemptsInitial: 'AttemptsInitial',
  attemptsImmediate: 'AttemptsImmediate',
  attemptsPreBackoff: 'AttemptsPreBackoff',
  attemptsBackoff: 'AttemptsBackoff',
  attemptsPostBackoff: 'AttemptsPostBackoff',
  attemptsManual: 'AttemptsManual',

  /** How often an attempt had to wait for its subscription's rate limit, or under back-pressure. */
  attemptsRateLimited: 'AttemptsRateLimited',

  /** Deliveries by final status, counted when it is written; another round or a late success counts again. */
  deliveriesDelivered: 'DeliveriesDelivered',
  deliveriesRejected: 'DeliveriesRejected',
  deliveriesExhausted: 'DeliveriesExhausted',
  deliveriesCancelled: 'DeliveriesCancelled',

  /** Notifications of failing subscriptions, one per failure streak; several at once point to a common cause. */
  subscriptionsFailing: 'SubscriptionsFailing',

  /** Notifications that a subscriber throttles, and that it is down, one per episode and reason. */
  subscriptionsThrottled: 'SubscriptionsThrottled',
  circuitsOpened: 'CircuitsOpened',

  /** Notifications that deliveries are about to be cancelled because they wait for the end of a pause, one per pause. */
  deliveriesExpiring: 'DeliveriesExpiring',

  /** Duration of a request in milliseconds, for every outcome. */
  attemptDuration: 'AttemptDuration',
  /** Milliseconds by which retries start late, without rate-limit waits. */
  retryLateness: 'RetryLateness',
  /**
   * Milliseconds from sending to the ingress queue (or from the due time of a delayed message) to the first
   * attempt.
   */
  firstAttemptAge: 'FirstAttemptAge',

  /** Wake-ups sent by SQS DelaySeconds. */
  wakeUpsBySqs: 'WakeUpsBySqs',
  /** Wake-ups scheduled by EventBridge Scheduler. */
  wakeUpsByScheduler: 'WakeUpsByScheduler',

  /** Deliveries woken by reconcile, because a wake-up was lost or steps were pending. */
  reconciled: 'Reconciled',
  /** Gauge, one value per reconcile run, including 0: deliveries found past due. */
  deliveriesOverdue: 'DeliveriesOverdue',
  /**
   * Gauge, one value per reconcile run, including 0: deliveries past due by 15 minutes or more, which an earlier
   * run has already woken.
   */
  deliveriesStuck: 'DeliveriesStuck',

  /** Messages that deliver and operate dead-lettered, without those that SQS moves. */
  deadLettered: 'DeadLettered',
  /**
   * Internal faults, which Lambda does not count as errors: failed records and requests (retried), health writes,
   * slot reservations, confirmation requests, and deliveries that an operation could not process.
   */
  faults: 'Faults',
  /** AWS requests that the SDK retried. */
  awsCallsRetried: 'AwsCallsRetried',
  /** Throttled AWS requests, retried or not. */
  awsCallsThrottled: 'AwsCallsThrottled',
  /** Cold starts of all functions. */
  coldStarts: 'ColdStarts',

  /** Milliseconds that a receive loop of a worker pauses, at each change (docs/worker.md#polling). */
  pollInterval: 'PollInterval',
} as const;

export type MetricName = (typeof metricNames)[keyof typeof metricNames];

/** Metrics in milliseconds; all others are counts. */
export const metricsInMilliseconds: ReadonlySet<MetricName> = new Set([
  metricNames.attemptDuration,
  metricNames.retryLateness,
  metricNames.firstAttemptAge,
  metricNames.pollInterval,
]);

/** Metrics that workers write and functions do not. */
export const metricsOfWorkers: ReadonlySet<MetricName> = new Set([metricNames.pollInterval]);
