import type { PartialRetryPolicy } from '../../shared/domain/retry/policy.ts';

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
