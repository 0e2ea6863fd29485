/** Names of our own metrics: the journal emits them, Monitoring shows them. One place, so that they cannot drift. */
export const metricNamespace = 'Posthaste';

/** The only dimension, its value the deployment's name: every further set of dimensions is paid for (Amazon CloudWatch pricing). */
export const metricDimension = 'deployment';

/**
 * Every metric that there is, at $0.30 a month each (Amazon CloudWatch pricing; docs/cost.md has the sum). What SQS, Lambda,
 * EventBridge and DynamoDB count themselves is not counted again. Counts are to be summed, and are absent where nothing
 * happened, but for the two gauges of reconcile.
 */
export const metricNames = {
  /** Messages put on record; a message that came twice is accepted once. */
  messagesAccepted: 'MessagesAccepted',
  /** Of these, messages that no subscription was to get, be it that there is none or that filters kept it from all. */
  messagesUnmatched: 'MessagesUnmatched',
  /** Messages that dispatch sent to the ingress dead letters. */
  messagesRefused: 'MessagesRefused',
  /** Deliveries that accepted messages came to: each message counts as many as it has matching subscriptions. */
  deliveriesMatched: 'DeliveriesMatched',
  /** Deliveries that filters spared: subscriptions that an accepted message was not for. */
  deliveriesFiltered: 'DeliveriesFiltered',

  /** Attempts on record by outcome; late results are not among them. */
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

  /** Attempts that had to wait for their subscription's rate limit: once for each wait. */
  attemptsRateLimited: 'AttemptsRateLimited',

  /** Deliveries by final status, counted where the status is written; another round, or a late success, counts again. */
  deliveriesDelivered: 'DeliveriesDelivered',
  deliveriesRejected: 'DeliveriesRejected',
  deliveriesExhausted: 'DeliveriesExhausted',
  deliveriesCancelled: 'DeliveriesCancelled',

  /** Subscriptions that operators were told are failing, once for each spell: several at once are no single subscriber's trouble. */
  subscriptionsFailing: 'SubscriptionsFailing',

  /** Milliseconds that a subscriber took, from the request's start to its end, whatever the outcome. */
  attemptDuration: 'AttemptDuration',
  /** Milliseconds between due and started, of retries; waiting for a rate limit is not in it. */
  retryLateness: 'RetryLateness',
  /** Milliseconds between sent to the ingress queue (due, for a message with a delay) and the first attempt's start. */
  firstAttemptAge: 'FirstAttemptAge',

  /** Wake-ups set by SQS's DelaySeconds. */
  wakeUpsBySqs: 'WakeUpsBySqs',
  /** Wake-ups set by EventBridge Scheduler. */
  wakeUpsByScheduler: 'WakeUpsByScheduler',

  /** Deliveries that reconcile woke, because their own wake-up had not come or something was owed. */
  reconciled: 'Reconciled',
  /** A gauge, one value for each run of reconcile, also 0: how many deliveries it found past their time. */
  deliveriesOverdue: 'DeliveriesOverdue',
  /** A gauge, one value for each run of reconcile, also 0: those of them that were past their time for 15 minutes or more, so that it has woken them before. */
  deliveriesStuck: 'DeliveriesStuck',

  /** Messages that deliver and operate sent to their dead letters. What SQS moves there itself is not among them. */
  deadLettered: 'DeadLettered',
  /** What one of our own services made fail: records and requests, which come again, notes of a subscription's health, and questions to subscribers that were not sent. Lambda counts no error for these. */
  faults: 'Faults',
  /** Requests to AWS that the SDK made once more. */
  awsCallsRetried: 'AwsCallsRetried',
  /** Requests to AWS that were answered with throttling, repeated or not. */
  awsCallsThrottled: 'AwsCallsThrottled',
  /** First invocations of new function instances, of all functions together. */
  coldStarts: 'ColdStarts',
} as const;

export type MetricName = (typeof metricNames)[keyof typeof metricNames];

/** Those measured in milliseconds. All others are counts. */
export const metricsInMilliseconds: ReadonlySet<MetricName> = new Set([
  metricNames.attemptDuration,
  metricNames.retryLateness,
  metricNames.firstAttemptAge,
]);
