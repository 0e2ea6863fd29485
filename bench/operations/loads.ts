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
const once = { every: 1, failures: 1 };

export const loads: readonly Load[] = [
  // Failures among successes, twice by Scheduler, and two chunks of varying sizes.
  {
    name: 'mixed',
    messages: 120,
    payloadBytes: 700,
    subscribers: [
      { every: 5, failures: 1, policy: retriesAfter(SHORT_SECONDS, 2) },
      { every: 10, failures: 2, policy: retriesAfter(LONG_SECONDS, 3) },
      { every: 20, failures: 7, policy: DEFAULT_SHAPE },
      ...reliable(9),
    ],
  },
  { ...small, name: 'one', subscribers: reliable(1) },
  { ...small, name: 'ten', subscribers: reliable(10) },
  { ...small, name: 'hundred', messages: 10, subscribers: reliable(100) },
  { ...small, name: 'from-bucket', payloadBytes: 100 * KILOBYTE, subscribers: reliable(1) },
  {
    ...small,
    name: 'retried-from-bucket',
    payloadBytes: 20 * KILOBYTE,
    subscribers: [{ ...once, policy: retriesAfter(SHORT_SECONDS, 1) }],
  },
  {
    ...small,
    name: 'retried-by-scheduler',
    subscribers: [{ ...once, policy: retriesAfter(LONG_SECONDS, 1) }],
  },
  { ...small, name: 'exhausted', subscribers: [{ every: 1, failures: Infinity, policy: DEFAULT_SHAPE }] },
];

export function failuresOf({ every, failures }: Subscriber, number: number): number {
  return number % every === 0 ? failures : 0;
}

/** The deliveries of a subscriber. `single`: the share of them in single jobs, because it was failing. */
function groupsOf(subscriber: Subscriber, { messages }: Load, single: number): Group[] {
  const { every, failures } = subscriber;
  const { policy } = completeRetryPolicy(subscriber.policy, DEFAULT_RETRY_POLICY);
  const retries = plannedRetries({ policy, thresholdSeconds: THRESHOLD_SECONDS });
  const failed = failures === 0 ? 0 : Math.ceil(messages / every);
  const group = { singleJobShare: failures === 0 ? 0 : single, retries };
  const course = {
    failures: Math.min(failures, 1 + retries.length),
    exhausted: failures > retries.length,
  };
  return [
    { ...group, deliveries: messages - failed, failures: 0, exhausted: false },
    { ...group, deliveries: failed, ...course },
  ];
}

/** `single`: deliveries in single jobs, all to failing subscribers. */
export function groupsOfLoad(load: Load, single: number): Group[] {
  const failing = load.subscribers.filter(({ failures }) => failures > 0).length;
  const share = single === 0 ? 0 : single / (failing * load.messages);
  return load.subscribers.flatMap((subscriber) => groupsOf(subscriber, load, share));
}

/** Requests to subscribers. */
export function requestsOf(load: Load): number {
  return sumOf(
    groupsOfLoad(load, 0),
    ({ deliveries, failures, exhausted }) => deliveries * (failures + (exhausted ? 0 : 1)),
  );
}

/** Messages with a failed delivery. */
export function keptOf({ messages, subscribers }: Load): number {
  return Array.from({ length: messages }, (_, number) => number).filter((number) =>
    subscribers.some((subscriber) => failuresOf(subscriber, number) > 0),
  ).length;
}
