import type { OperationTable } from '../../cli/commands/plan/tables.ts';
import type { PartialRetryPolicy } from '../../shared/domain/retry/policy.ts';
import { atLeastZero, difference, rounded, sum, times, type Units } from './tally.ts';

/** The counts of a path without the fixed cost of its invocations. */
export type PathCount = {
  path: string;
  messages: number;
  fanOut: number;
  invocations: { dispatch: number; first: number };
  dispatch: Units;
  deliver: Units;
};

type SharedReads = OperationTable['sharedReads'];

/** The steps of the table, as differences between paths. @throws Error when a path is missing */
export function stepsOf(counts: readonly PathCount[], sharedReads: SharedReads): OperationTable['steps'] {
  const path = (name: PathName): PathCount => {
    const found = counts.find((one) => one.path === name);
    if (found === undefined) throw new Error(`The path ${name} was not counted.`);
    return found;
  };
  /** For one message, without shared reads and without its send. */
  const dispatch = (name: PathName): Units => {
    const { dispatch: units, fanOut, messages, invocations } = path(name);
    const { dispatch: reads, furtherSubscription } = sharedReads;
    const own = withoutReads(units, invocations.dispatch, [reads, furtherSubscription], fanOut - 1);
    const each = times(own, 1 / messages);
    return { ...each, awsCalls: (each.awsCalls ?? 0) - 1, sendRequests: 0, joinedMessages: 0 };
  };
  const deliver = (name: PathName): Units => {
    const { deliver: units, fanOut, messages, invocations } = path(name);
    const { queue, subscription } = sharedReads;
    const own = withoutReads(units, invocations.first, [queue, subscription], fanOut);
    // The plan assumes a number of writes for the successes of a chunk.
    const { chunkWrites = 0 } = own;
    return times(difference(own, { chunkWrites, awsCalls: chunkWrites }), 1 / messages);
  };

  const [one, ten, hundred] = [
    dispatch('delivered'),
    dispatch('delivered_ten'),
    dispatch('delivered_hundred'),
  ];
  const { fanOut: ofHundred, messages, deliver: atHundred } = path('delivered_hundred');
  const subscription = atLeastZero(times(difference(ten, one), 1 / (path('delivered_ten').fanOut - 1)));
  const jobs = (atHundred.firstRecords ?? 0) / messages;
  const further = difference(difference(hundred, one), times(subscription, ofHundred - 1));
  const job = atLeastZero(times(further, 1 / (jobs - 1)));

  const [delivered, once] = [deliver('delivered'), deliver('retried_by_sqs')];
  const bySqs = times(difference(deliver('retried_by_sqs_thrice'), once), 1 / 2);
  const firstFailure = difference(difference(once, delivered), bySqs);
  const retried = (name: PathName): Units => difference(deliver(name), sum(delivered, firstFailure));
  const atOnce = retried('retried_at_once');

  const [two, chunkOfTen] = [deliver('delivered_two'), deliver('delivered_ten')];
  const [few, many] = [path('delivered_two').fanOut, path('delivered_ten').fanOut];
  const member = atLeastZero(times(difference(chunkOfTen, two), 1 / (many - few)));
  const chunk = atLeastZero(difference(two, times(member, few)));
  const others = path('retried_at_once_in_ten').fanOut - 1;

  // The path has immediate retries, and all others by SQS.
  const exhausted = deliver('exhausted');
  const waited = Math.round(exhausted.retryRecords ?? 0);
  const immediate = Math.round(exhausted.attempts ?? 0) - 1 - waited;

  const bucket = onlyBucket(difference(deliver('retried_by_sqs_from_bucket'), once));
  const { s3Puts = 0, s3Gets = 0 } = bucket;
  return {
    message: rounded(difference(one, sum(subscription, job))),
    subscription: rounded(subscription),
    job: rounded(job),
    delivered: rounded(delivered),
    chunk: rounded(chunk),
    member: rounded(member),
    firstFailure: rounded(firstFailure),
    failedMember: rounded(
      difference(deliver('retried_at_once_in_ten'), sum(chunk, times(member, others), atOnce)),
    ),
    same_invocation: rounded(atOnce),
    sqs_delay: rounded(bySqs),
    scheduler: rounded(retried('retried_by_scheduler')),
    exhaustion: rounded(
      difference(exhausted, sum(delivered, firstFailure, times(atOnce, immediate), times(bySqs, waited))),
    ),
    bucketMessage: rounded(onlyBucket(difference(dispatch('delivered_from_bucket'), one))),
    bucketAttempt: rounded(onlyBucket(difference(deliver('delivered_from_bucket'), delivered))),
    bucketFirstFailure: rounded(onlyBucket({ s3Puts })),
    bucketRetry: rounded(onlyBucket({ s3Gets })),
  };
}

type SharedRead = SharedReads['queue'];

function withoutReads(
  units: Units,
  invocations: number,
  [reads, each]: readonly [SharedRead, SharedRead],
  count: number,
): Units {
  const { otherReadUnits = 0 } = units;
  const read = invocations * (reads.units + count * each.units);
  return difference(units, {
    otherReadUnits: Math.min(read, otherReadUnits),
    awsCalls: invocations * (reads.calls + count * each.calls),
  });
}

/** Otherwise larger payloads cost processor time only, which the plan ignores. */
function onlyBucket({ s3Puts = 0, s3Gets = 0 }: Units): Units {
  return { s3Puts, s3Gets, awsCalls: s3Puts + s3Gets };
}

/** Messages of one kind. Each subscriber, or one where `oneFails`, answers the first `failures` requests for a message with 503. */
export type Path = {
  path: string;
  messages: number;
  fanOut: number;
  payloadBytes: number;
  failures: number;
  oneFails?: true;
  policy: PartialRetryPolicy;
  /** Messages that are sent separately, so that some invocations have one record and others many. */
  alone: number;
};

/** Short delays, and a threshold between them. */
const SHORT_SECONDS = 1;
export const THRESHOLD_SECONDS = 5;
const LONG_SECONDS = 9;

const KILOBYTE = 1024;

export const noRetries = {
  retries_with_no_delay: 0,
  minimum_delay_retries: 0,
  backoff_retries: 0,
  maximum_delay_retries: 0,
} satisfies PartialRetryPolicy;

export function bySqs(retries: number): PartialRetryPolicy {
  return after(SHORT_SECONDS, retries);
}

export function byScheduler(retries: number): PartialRetryPolicy {
  return after(LONG_SECONDS, retries);
}

function after(seconds: number, retries: number): PartialRetryPolicy {
  const delay = { minimum_delay: seconds, maximum_delay: seconds };
  return { ...noRetries, minimum_delay_retries: retries, ...delay };
}

/** The phases of the default policy with short delays. */
export const DEFAULT_SHAPE: PartialRetryPolicy = {
  retries_with_no_delay: 3,
  minimum_delay_retries: 3,
  backoff_retries: 10,
  maximum_delay_retries: 3,
  minimum_delay: SHORT_SECONDS,
  maximum_delay: 2 * SHORT_SECONDS,
};

const DEFAULT_RETRIES = 19;

const usual = { messages: 15, fanOut: 1, payloadBytes: KILOBYTE, failures: 0, policy: noRetries, alone: 4 };

const atOnce: PartialRetryPolicy = { ...noRetries, retries_with_no_delay: 1 };

const once = { ...usual, failures: 1 };
const largeBody = { payloadBytes: 100 * KILOBYTE };
const keptBody = { payloadBytes: 20 * KILOBYTE };

export const paths = [
  { ...usual, path: 'delivered', messages: 25 },
  { ...usual, path: 'delivered_two', fanOut: 2 },
  { ...usual, path: 'delivered_ten', fanOut: 10 },
  { ...usual, path: 'delivered_hundred', fanOut: 100, messages: 8 },
  { ...usual, path: 'delivered_from_bucket', ...largeBody },
  { ...once, path: 'retried_at_once', policy: atOnce },
  // Sent separately: a subscription that is failing is in no chunk, and this one recovers at once.
  { ...once, path: 'retried_at_once_in_ten', fanOut: 10, oneFails: true, policy: atOnce, alone: 15 },
  { ...once, path: 'retried_by_sqs', policy: bySqs(1) },
  { ...usual, path: 'retried_by_sqs_thrice', failures: 3, policy: bySqs(3) },
  { ...once, path: 'retried_by_sqs_from_bucket', policy: bySqs(1), ...keptBody },
  { ...once, path: 'retried_by_scheduler', policy: byScheduler(1) },
  { ...usual, path: 'exhausted', failures: 1 + DEFAULT_RETRIES, policy: DEFAULT_SHAPE },
] as const satisfies readonly Path[];

export type PathName = (typeof paths)[number]['path'];

/** Requests to subscribers. */
export function requestsOf({ messages, fanOut, failures, oneFails, path }: Path): number {
  const retries = path === 'exhausted' ? failures - 1 : failures;
  return messages * (fanOut + retries * (oneFails === true ? 1 : fanOut));
}
