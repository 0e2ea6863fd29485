/** What AWS counts, beside what follows from sizes and batches (operations.ts). */
export type Counted =
  // Writes of the delivery's record, whose units depend on the number of attempts.
  | 'recordWrites'
  // Reads of the message's record, whose units depend on the payload.
  | 'messageReads'
  // Units of all other writes and reads, those of the indexes included.
  | 'writes'
  | 'reads'
  // Sends to the retry queue, which can share requests, and to other queues.
  | 'wakeUps'
  | 'sends'
  | 'schedules'
  | 'events'
  | 's3Puts'
  | 's3Gets'
  // Calls of AWS, because each takes time. Those to KMS, and reads that are cached, are counted apart.
  | 'calls'
  // Requests to functions through API Gateway.
  | 'requests'
  // Bytes of the log and of what is stored, milliseconds of processor time and of answers of subscribers.
  | 'log'
  | 'stored'
  | 'cpu'
  | 'answeredMs';

export type Quantities = Partial<Record<Counted, number>>;

/** Bytes that DynamoDB adds to each stored item and index entry (developer guide, "Item sizes"). */
export const STORED_OVERHEAD = 100;

/** Bytes of items. A delivery's record has one unit up to 11 attempts, a chunk's up to 16 members. */
export const itemBytes = {
  message: 290,
  delivery: (attempts: number): number => Math.max(690, 518 + 46 * attempts),
  claimedChunk: (members: number): number => 215 + 38 * members,
  chunk: (members: number): number => 115 + 55 * members,
} as const;

/**
 * A line of first successes (`line`, and `success` for each), and that of one alone. Of a message that has several in an
 * invocation, up to 30 share a line (shared/adapters/log/first-successes.ts).
 */
export const firstLines = { line: 356, success: 71, alone: 485 } as const;

/**
 * A failure, and the next attempt after a wake-up: two writes and two of indexes. It reads the message; the subscription is
 * read once for the wake-ups of a batch (operations.ts).
 */
const WOKEN = { recordWrites: 2, messageReads: 1, writes: 2, wakeUps: 1 } as const;

/**
 * What each event takes, rounded to what is meant. `npm run bench:operations` compares the sums with counts. Processor
 * time is that of an instance which has served some thousand invocations (`npm run bench:deliver`; of a failure by its
 * calls). The first hundred take three times as much.
 */
export const quantities = {
  // dispatch writes the record and its entry in the index by hour, and a line of the log. Jobs are counted as sends.
  message: { writes: 2, calls: 1, log: 292, cpu: 0.9, stored: itemBytes.message + 2 * STORED_OVERHEAD },
  // A job of a single delivery or of a chunk is built and joined with others.
  job: { cpu: 0.1 },
  // The claim, and the result with the end of its pending steps. The line of its success may be shared (`firstLines`); its
  // durations are values on the line of metrics, which has a hundred of each at most.
  single: { recordWrites: 2, calls: 2, log: 11, cpu: 1.8 },
  // Its claim and its results are counted by the size of its item.
  chunk: { cpu: 1.5 },
  // A request, recorded with those of the others.
  member: { log: 11 + firstLines.success, cpu: 0.3 },
  // Beside `single`: four entries of indexes (listings and overdue deliveries) and every other time the subscription's
  // health; the message is read, and its body kept.
  firstFailure: { messageReads: 1, writes: 4.5, calls: 2.5, log: 464, cpu: 2 },
  // The same and the attempt itself for a member, which leaves its chunk for a record and takes a write more.
  failedMember: { recordWrites: 1, messageReads: 1, writes: 5.5, reads: 0.5, calls: 4.5, log: 569, cpu: 2.5 },
  // A failure and the next attempt under the same lease: one write, two of the index of overdue deliveries, every other
  // time the subscription's health, and the subscription read again.
  same_invocation: { recordWrites: 1, writes: 2.5, reads: 1, calls: 3, log: 674, cpu: 1.8 },
  // After its wake-up is sent. Scheduler sends it some 65 s early, and deliver sends it again with the remaining delay:
  // that invocation, charged apart, has most of the processor time.
  sqs_delay: { ...WOKEN, calls: 4, log: 545, cpu: 3 },
  scheduler: { ...WOKEN, schedules: 1, calls: 5, log: 485, cpu: 3 },
  // The status and its entries, the event, and a message in the undeliverable queue.
  exhaustion: { recordWrites: 1, writes: 1, sends: 1, events: 1, calls: 3 },
  // Above 64 KB the body of each message is put, and each job fetches it. Above 8 KB it is put with a message's first
  // failure, which reads its record once more. Each retry but one at once fetches what was put.
  bodyPut: { s3Puts: 1, calls: 1 },
  bodyPutLater: { s3Puts: 1, messageReads: 1, calls: 2 },
  bodyGet: { s3Gets: 1, calls: 1 },
  // By pull, deliver keeps the body and writes a record with three entries of indexes (functions/deliver/pull.ts).
  leftToPull: { recordWrites: 1, messageReads: 1, writes: 3, calls: 3, cpu: 1.5 },
  // A receive of several: the queue, the subscription, and four shards of the index, half a unit each; a line of the audit
  // trail. Of each delivery the message, the lease, and the answer with its lines (functions/api/pull/).
  receive: { requests: 1, reads: 4, calls: 6, log: 368 },
  pulled: { requests: 1, recordWrites: 2, messageReads: 1, writes: 5, reads: 3, calls: 6, log: 1194, cpu: 1 },
  // A request for a delivery: its queue twice, its subscription, its message and its record (functions/api/deliveries/).
  apiRequest: { requests: 1, reads: 5, calls: 5 },
  // A request of a customer's page: counted on its session, whose queue is read once more (functions/api/portal/).
  portalRequest: { requests: 2, writes: 1, reads: 6, calls: 7 },
  // Charts and figures of a queue by three requests: the queue each time, its subscriptions, the minutes of an hour, and
  // eight shards of those that are retried (readQueue, console/src/pages/overview/queue-table.tsx).
  refresh: { requests: 3, reads: 11, calls: 13 },
} as const satisfies Record<string, Quantities>;

/**
 * The start of an invocation, and its line of metrics in the log. `coldCpu`: more processor time at a cold
 * start (`npm run bench:cold`).
 */
export const invocation = {
  dispatch: { log: 304, cpu: 0.8, coldCpu: 126 },
  deliver: { log: 493, cpu: 0.8, coldCpu: 180 },
  /** A request, with its line in the access log. `calls`: about as many in sequence. */
  api: { log: 270, cpu: 3.5, coldCpu: 185, calls: 4 },
  /** With nothing overdue: a read of each of the 8 shards, and of the pull subscriptions, half a unit each. */
  reconcile: { log: 304, cpu: 15, reads: 4.5, calls: 9 },
} as const;

/**
 * A task of `WorkerService`, idle: two loops on each of four queues, each with a request in the 20 s of a long poll and
 * the 5 s of the longest pause. `scalingMetrics`: of the two alarms that add and remove tasks, which each look at two
 * metrics of three queues (infra/constructs/worker-service.ts).
 */
export const worker = {
  processors: 0.5,
  gigabytes: 1,
  receivesPerSecond: (2 * 4) / 25,
  scalingMetrics: 2 * 2 * 3,
} as const;

/** The console reads each queue so often while its figures change (console/src/live/use-live.ts). */
export const REFRESH_SECONDS = 1;

/** Units of the list of a queue's subscriptions beyond the first: eight fit into 4 KB. */
export const LISTED_SUBSCRIPTION_UNITS = 0.12;

/** Bytes around the payload. */
export const envelopeBytes = {
  ingress: 52,
  job: (membersOfChunk: number): number => 290 + 39 * membersOfChunk,
  wakeUp: 196,
  request: 364,
} as const;

/** What the stacks have. CloudWatch charges for each metric of each alarm; with workers alone there are fewer. */
export const monitoring = {
  alarmMetrics: 70,
  alarmMetricsOfWorkers: 68,
  alarmMetricsOfPortal: 3,
  compositeAlarms: 2,
  dashboards: 1,
  keys: 1,
} as const;
