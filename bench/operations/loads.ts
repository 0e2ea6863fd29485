import { plannedRetries, type Group } from '../../cli/commands/plan/work.ts';
import {
  completeRetryPolicy,
  DEFAULT_RETRY_POLICY,
  type PartialRetryPolicy,
} from '../../shared/domain/retry/policy.ts';
import { sumOf } from '../harness/figures.ts';

/** It answers the first `failures` requests for each `every`th message with 503. */
type Subscriber = { every: number; failures: number; policy: PartialRetryPolicy };

export type Load = {
  name: string;
  messages: number;
  payloadBytes: number;
  subscribers: readonly Subscriber[];
};

/** Short delays, and a threshold between them. */
const SHORT_SECONDS = 1;
export const THRESHOLD_SECONDS = 5;
const LONG_SECONDS = 9;

const KILOBYTE = 1024;

export const noRetries: PartialRetryPolicy = {
  retries_with_no_delay: 0,
  minimum_delay_retries: 0,
  backoff_retries: 0,
  maximum_delay_retries: 0,
};

export function retriesAfter(seconds: number, retries: number): PartialRetryPolicy {
  const delay = { minimum_delay: seconds, maximum_delay: seconds };
  return { ...noRetries, minimum_delay_retries: retries, ...delay };
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

const reliable = (count: number): Subscriber[] =>
  Array.from({ length: count }, () => ({ every: 1, failures: 0, policy: noRetries }));

const small = { messages: 30, payloadBytes: KILOBYTE };

const sqsOnce = { every: 1, failures: 1, policy: retriesAfter(SHORT_SECONDS, 1) };
const schedulerOnce = { ...sqsOnce, policy: retriesAfter(LONG_SECONDS, 1) };
const always = { every: 1, failures: Infinity, policy: DEFAULT_SHAPE };

/** Failures among successes, twice by Scheduler, and two chunks of varying sizes. */
const mixed = [
  { every: 5, failures: 1, policy: retriesAfter(SHORT_SECONDS, 2) },
  { every: 10, failures: 2, policy: retriesAfter(LONG_SECONDS, 3) },
  { every: 20, failures: 7, policy: DEFAULT_SHAPE },
  ...reliable(9),
];

export const loads: readonly Load[] = [
  { name: 'mixed', messages: 120, payloadBytes: 700, subscribers: mixed },
  { name: 'one', ...small, subscribers: reliable(1) },
  { name: 'ten', ...small, subscribers: reliable(10) },
  { name: 'hundred', ...small, messages: 10, subscribers: reliable(100) },
  { name: 'from-bucket', ...small, payloadBytes: 100 * KILOBYTE, subscribers: reliable(1) },
  { name: 'retried-from-bucket', ...small, payloadBytes: 20 * KILOBYTE, subscribers: [sqsOnce] },
  { name: 'retried-by-scheduler', ...small, subscribers: [schedulerOnce] },
  { name: 'exhausted', ...small, subscribers: [always] },
];

export function failuresOf({ every, failures }: Subscriber, number: number): number {
  return number % every === 0 ? failures : 0;
}

/** The deliveries of a load. `single`: those in single jobs, all to subscribers that fail. */
export function groupsOf({ messages, subscribers }: Load, single: number): Group[] {
  const failing = subscribers.filter(({ failures }) => failures > 0).length;
  return subscribers.flatMap(({ every, failures, policy }): Group[] => {
    const complete = completeRetryPolicy(policy, DEFAULT_RETRY_POLICY);
    const retries = plannedRetries({ policy: complete.policy, thresholdSeconds: THRESHOLD_SECONDS });
    const failed = failures === 0 ? 0 : Math.ceil(messages / every);
    const singleJobShare = failures === 0 ? 0 : single / (failing * messages);
    const group = { singleJobShare, retries };
    const course = { failures: Math.min(failures, retries.length + 1), exhausted: failures > retries.length };
    return [
      { ...group, deliveries: messages - failed, failures: 0, exhausted: false },
      { ...group, deliveries: failed, ...course },
    ];
  });
}

/** Requests to subscribers. */
export function requestsOf(load: Load): number {
  const attempts = ({ failures, exhausted }: Group): number => failures + (exhausted ? 0 : 1);
  return sumOf(groupsOf(load, 0), (group) => group.deliveries * attempts(group));
}

/** Messages with a failed delivery. */
export function keptOf({ messages, subscribers }: Load): number {
  const numbers = Array.from({ length: messages }, (_, number) => number);
  return numbers.filter((number) => subscribers.some((one) => failuresOf(one, number) > 0)).length;
}
