/** Names of our own metrics: the journal emits them, Monitoring shows them. One place, so that they cannot drift. */
export const metricNamespace = 'Posthaste';

/** The only dimension, its value the deployment's name: every further set of dimensions is paid for (design §8). */
export const metricDimension = 'deployment';

export const metricNames = {
  /** Attempts by outcome; counts. */
  attemptsDelivered: 'AttemptsDelivered',
  attemptsFailed: 'AttemptsFailed',
  attemptsRejected: 'AttemptsRejected',
  /** Milliseconds between due and started, of retries. */
  lateness: 'RetryLateness',
  /** Milliseconds between accepted, or due for a message with a delay, and the first attempt's start. */
  firstAttemptAge: 'FirstAttemptAge',
  /** Counts; a message that came twice is accepted once. */
  messagesAccepted: 'MessagesAccepted',
  messagesRefused: 'MessagesRefused',
  wakeUpsSet: 'WakeUpsSet',
  wakeUpsDropped: 'WakeUpsDropped',
  reconciled: 'Reconciled',
  deadLettered: 'DeadLettered',
  /** What operators were told of, by kind; counts. */
  deliveriesExhausted: 'DeliveriesExhausted',
  subscriptionsFailing: 'SubscriptionsFailing',
  subscriptionsRecovered: 'SubscriptionsRecovered',
  subscriptionsDisabled: 'SubscriptionsDisabled',
  /** What one of our own services made fail: records and requests, which come again, notes of a subscription's health, and questions to subscribers that were not sent. Lambda counts no error for these. */
  faults: 'Faults',
} as const;
