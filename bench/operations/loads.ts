import {
  buildPlan,
  failuresWithin,
  parsePlanOptions,
  plannedRetries,
  type Plan,
  type PlanOptions,
  sumOver,
  workOfDay,
} from '../../cli/commands/plan/load.ts';
import type { PartialRetryPolicy } from '../../shared/domain/retry/policy.ts';
import { NO_RETRIES } from '../../test/support/builders.ts';

/** The day of a plan. Deliveries that fail are all to the first subscriber. */
export type Load = { name: string; plan: Plan };

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
const DEFAULT_SHAPE = { minimum_delay: SHORT_SECONDS, maximum_delay: 2 * SHORT_SECONDS };

/** Twice at once, by SQS and by Scheduler. */
const MIXED_POLICY = {
  ...retriesAfter(SHORT_SECONDS, 2),
  retries_with_no_delay: 2,
  maximum_delay_retries: 2,
  maximum_delay: LONG_SECONDS,
};

const once = { failureRate: 1, failingFor: 0 };
const always = { failureRate: 1, failingFor: Infinity };
const large = { payloadBytes: 100 * KILOBYTE };

export const loads: readonly Load[] = [
  // Failures among successes, and two chunks of varying sizes.
  load('mixed', { messagesPerDay: 120, fanOut: 12, failureRate: 1 / 60, failingFor: 12 }, MIXED_POLICY),
  load('one', {}),
  load('ten', { fanOut: 10 }),
  load('hundred', { messagesPerDay: 10, fanOut: 100 }),
  load('from-bucket', large),
  load('retried-from-bucket', { ...once, payloadBytes: 20 * KILOBYTE }, retriesAfter(SHORT_SECONDS, 1)),
  load('retried-by-scheduler', once, retriesAfter(LONG_SECONDS, 1)),
  load('exhausted', always, DEFAULT_SHAPE),
  load('pulled', { pullShare: 1 }),
  load('api', { apiRequestsPerDay: 300 }),
];

function load(name: string, options: Partial<PlanOptions>, policy?: PartialRetryPolicy): Load {
  const defaults = ['--messages-per-day', '30', '--scheduler-threshold', `${THRESHOLD_SECONDS}`];
  const plan = buildPlan({ ...parsePlanOptions(defaults), ...options }, policy);
  return { name, plan: { ...plan, cacheSeconds: 0 } };
}

/** How many requests for a message, by its number, a subscriber answers with 503. */
export function failuresOf({ plan }: Load, subscriber: number, message: number): number {
  const every = Math.round(1 / (plan.failureRate * plan.fanOut));
  const isFailing = plan.failureRate > 0 && subscriber === 0 && message % every === 0;
  return isFailing ? failuresWithin(plannedRetries(plan), plan.failingSeconds) : 0;
}

/** Requests to subscribers. */
export function requestsOf({ plan }: Load): number {
  return Math.round(sumOver(workOfDay(plan).groups, ({ retries }) => 1 + retries.length));
}
