import { planCourse, plannedRetries, sumOver, type Group } from '../../cli/commands/plan/load.ts';
import type { PartialRetryPolicy } from '../../shared/domain/retry/policy.ts';
import { aPolicy, NO_RETRIES } from '../../test/support/builders.ts';

/** It answers the first `failures` requests for each `every`th message with 503. */
type Subscriber = { every: number; failures: number; policy: PartialRetryPolicy };

export type Load = {
  name: string;
  messages: number;
  payloadBytes: number;
  subscribers: readonly Subscriber[];
  /** Subscribers pull, and acknowledge what they receive. */
  isPulled?: true;
  /** Requests to the API, each for a delivery. */
  apiRequests?: number;
};

/** Short delays, and a threshold between them. */
const SHORT_SECONDS = 1;
export const THRESHOLD_SECONDS = 5;
const LONG_SECONDS = 9;

const KILOBYTE = 1024;

export function retriesAfter(seconds: number, retries: number): PartialRetryPolicy {
  const delay = { minimum_delay: seconds, maximum_delay: seconds };
  return { ...NO_RETRIES, minimum_delay_retries: retries, ...delay };
}

/** The phases of the default policy with short delays. */
const DEFAULT_SHAPE: PartialRetryPolicy = {
  retries_with_no_delay: 3,
  minimum_delay_retries: 3,
  backoff_retries: 10,
  maximum_delay_retries: 3,
  minimum_delay: SHORT_SECONDS,
  maximum_delay: 2 * SHORT_SECONDS,
};

const reliable: Subscriber = { every: 1, failures: 0, policy: NO_RETRIES };

const many = (count: number): Subscriber[] => Array.from({ length: count }, () => reliable);

const small = { messages: 30, payloadBytes: KILOBYTE };

const sqsOnce = { every: 1, failures: 1, policy: retriesAfter(SHORT_SECONDS, 1) };
const schedulerOnce = { ...sqsOnce, policy: retriesAfter(LONG_SECONDS, 1) };
const always = { every: 1, failures: Infinity, policy: DEFAULT_SHAPE };

/** Failures among successes, twice by Scheduler, and two chunks of varying sizes. */
const mixed = [
  { every: 5, failures: 1, policy: retriesAfter(SHORT_SECONDS, 2) },
  { every: 10, failures: 2, policy: retriesAfter(LONG_SECONDS, 3) },
  { every: 20, failures: 7, policy: DEFAULT_SHAPE },
  ...many(9),
];

export const loads: readonly Load[] = [
  { name: 'mixed', messages: 120, payloadBytes: 700, subscribers: mixed },
  { name: 'one', ...small, subscribers: [reliable] },
  { name: 'ten', ...small, subscribers: many(10) },
  { name: 'hundred', ...small, messages: 10, subscribers: many(100) },
  { name: 'from-bucket', ...small, payloadBytes: 100 * KILOBYTE, subscribers: [reliable] },
  { name: 'retried-from-bucket', ...small, payloadBytes: 20 * KILOBYTE, subscribers: [sqsOnce] },
  { name: 'retried-by-scheduler', ...small, subscribers: [schedulerOnce] },
  { name: 'exhausted', ...small, subscribers: [always] },
  { name: 'pulled', ...small, subscribers: [reliable], isPulled: true },
  { name: 'api', ...small, subscribers: [reliable], apiRequests: 300 },
];

export function failuresOf({ every, failures }: Subscriber, number: number): number {
  return number % every === 0 ? failures : 0;
}

/** The deliveries of a load, without those by pull. `single`: those in single jobs, all to subscribers that fail. */
export function groupsOf({ messages, subscribers, isPulled }: Load, single: number): Group[] {
  if (isPulled === true) return [];
  const failing = subscribers.filter(({ failures }) => failures > 0).length;
  return subscribers.flatMap(({ every, failures, policy }): Group[] => {
    const retries = plannedRetries({ policy: aPolicy(policy), thresholdSeconds: THRESHOLD_SECONDS });
    const failed = failures === 0 ? 0 : Math.ceil(messages / every);
    const singleJobShare = failures === 0 ? 0 : single / (failing * messages);
    return [
      { ...planCourse(retries, 0), deliveries: messages - failed, singleJobShare },
      { ...planCourse(retries, failures), deliveries: failed, singleJobShare },
    ];
  });
}

/** Requests to subscribers. */
export function requestsOf(load: Load): number {
  return sumOver(groupsOf(load, 0), ({ retries }) => 1 + retries.length);
}

/** Messages with a failed or pulled delivery. */
export function keptOf({ messages, subscribers, isPulled }: Load): number {
  if (isPulled === true) return messages;
  const numbers = Array.from({ length: messages }, (_, number) => number);
  return numbers.filter((number) => subscribers.some((one) => failuresOf(one, number) > 0)).length;
}
