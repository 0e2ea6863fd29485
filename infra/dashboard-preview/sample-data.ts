/**
 * Sample data of three busy hours, an hour into which one subscriber answers 503 for forty minutes. Levels are invented;
 * they show what the graphs look like, not what Posthaste can do.
 */

/** Shown minutes, one point each. */
export const MINUTES = 180;

const INCIDENT = { from: 60, until: 100 };

/** `usual`, and `incident` while the subscriber fails. Per minute, or in the unit of the graph. */
type Level = { usual: number; incident?: number };

const steady = (usual: number): Level => ({ usual });

/** By label where a name stands for several lines, else by metric name. */
const LEVELS: Readonly<Record<string, Level>> = {
  // Posthaste
  MessagesAccepted: steady(600),
  MessagesUnmatched: steady(6),
  MessagesRefused: steady(0),
  DeliveriesMatched: steady(1_800),
  DeliveriesFiltered: steady(420),
  DeliveriesDelivered: { usual: 1_790, incident: 1_190 },
  DeliveriesRejected: steady(2),
  DeliveriesExhausted: { usual: 0, incident: 180 },
  DeliveriesCancelled: steady(0),
  AttemptsDelivered: { usual: 1_790, incident: 1_190 },
  AttemptsFailed: { usual: 12, incident: 3_400 },
  AttemptsRejected: steady(2),
  AttemptsInitial: steady(1_800),
  AttemptsImmediate: { usual: 10, incident: 1_790 },
  AttemptsPreBackoff: { usual: 2, incident: 820 },
  AttemptsBackoff: { usual: 1, incident: 610 },
  AttemptsPostBackoff: { usual: 0, incident: 180 },
  AttemptsManual: steady(0),
  AttemptsRateLimited: steady(3),
  SubscriptionsFailing: { usual: 0, incident: 0.025 },
  SubscriptionsThrottled: steady(0),
  CircuitsOpened: { usual: 0, incident: 0.025 },
  WakeUpsBySqs: { usual: 4, incident: 1_600 },
  WakeUpsByScheduler: steady(0),
  Reconciled: steady(0),
  DeliveriesOverdue: steady(0),
  DeliveriesStuck: steady(0),
  DeadLettered: steady(0),
  Faults: steady(0),
  AwsCallsRetried: { usual: 0.2, incident: 0.6 },
  AwsCallsThrottled: steady(0),
  PollInterval: steady(1_000),
  ColdStarts: { usual: 0.1, incident: 1 },
  'AttemptDuration p50': steady(68),
  'AttemptDuration p95': { usual: 240, incident: 310 },
  'AttemptDuration p99': { usual: 610, incident: 900 },
  'RetryLateness p50': steady(140),
  'RetryLateness p99': { usual: 610, incident: 820 },
  'FirstAttemptAge p50': steady(130),
  'FirstAttemptAge p99': { usual: 680, incident: 890 },
  // SQS
  ApproximateAgeOfOldestMessage: { usual: 0.6, incident: 1.4 },
  ApproximateNumberOfMessagesVisible: { usual: 0.4, incident: 2 },
  ApproximateNumberOfMessagesNotVisible: { usual: 4, incident: 9 },
  NumberOfMessagesSent: { usual: 600, incident: 1_400 },
  'ingress dead letters': steady(0),
  'delivery dead letters': steady(0),
  'scheduler dead letters': steady(0),
  'operation dead letters': steady(0),
  held: { usual: 0, incident: 3_600 },
  // Lambda, DynamoDB, Scheduler, API Gateway, CloudWatch Logs
  Errors: steady(0),
  Throttles: steady(0),
  ConcurrentExecutions: { usual: 6, incident: 11 },
  Duration: { usual: 420, incident: 640 },
  RecursiveInvocationsDropped: steady(0),
  WriteThrottleEvents: steady(0),
  ReadThrottleEvents: steady(0),
  ConsumedWriteCapacityUnits: { usual: 1_900, incident: 8_200 },
  ConsumedReadCapacityUnits: { usual: 900, incident: 4_100 },
  InvocationAttemptCount: steady(0),
  InvocationThrottleCount: steady(0),
  TargetErrorCount: steady(0),
  InvocationDroppedCount: steady(0),
  Count: steady(14),
  '4xx': steady(0.3),
  '5xx': steady(0),
  IncomingBytes: { usual: 310_000, incident: 720_000 },
  // Expressions
  'Deliveries that succeeded, %': { usual: 99.9, incident: 86 },
  'Dead letters': steady(0),
  'deliveries indexes, writes': steady(0),
  'deliveries indexes, reads': steady(0),
  'indexes of deliveries, writes': { usual: 700, incident: 5_200 },
  'indexes of deliveries, reads': steady(60),
};

/** A line's values, one a minute. Undefined: the table above lacks its metric. */
export function samplesOf({
  metricName,
  label,
}: {
  metricName: string;
  label: string;
}): number[] | undefined {
  const level = LEVELS[label] ?? LEVELS[`${metricName} ${statisticIn(label)}`] ?? LEVELS[metricName];
  return (
    level &&
    Array.from({ length: MINUTES }, (_, minute) => {
      const fails = minute >= INCIDENT.from && minute < INCIDENT.until;
      const value = fails ? (level.incident ?? level.usual) : level.usual;
      return value * (1 + 0.06 * Math.sin(minute / 29) + 0.05 * noise(`${metricName}${label}`, minute));
    })
  );
}

/** p99 in "First attempt after, p99 in ms". */
function statisticIn(label: string): string {
  return /p\d\d/.exec(label)?.[0] ?? '';
}

/** From −1 to 1, the same at each run. */
function noise(seed: string, minute: number): number {
  const mixed = Math.sin(minute * 12.9898 + seed.length * 78.233) * 43_758.5453;
  return 2 * (mixed - Math.floor(mixed)) - 1;
}

/** Rows of the log query on failing subscriptions. */
export const FAILING_ROWS: readonly (readonly string[])[] = [
  ['queue', 'subscriptionId', 'attempts', 'messages', 'lastStatus', 'lastError'],
  ['orders', '5b0c0f1e-7d0c-4a57-9d1a-0f2f3f1c9b11', '136,000', '24,000', '503', ''],
  ['invoices', 'c3d1a0de-6f0c-4d9f-8f3e-2a4f70e1b6aa', '31', '9', '', 'timeout'],
];
