import type { PartialRetryPolicy, RetryPolicy } from '../../shared/domain/retry/policy.ts';
import { BACKOFF_FUNCTIONS, type ConnectionFault } from '../../shared/domain/retry/vocabulary.ts';
import type { Chance } from '../support/chance.ts';
import {
  DAY,
  HOUR,
  MINUTE,
  SECOND,
  type Answer,
  type Answers,
  type PlannedConfirmation,
  type PlannedInterests,
  type PlannedSubscription,
} from './scenario.ts';

const FAULTS: readonly ConnectionFault[] = [
  'dns_failed',
  'connection_refused',
  'connection_reset',
  'tls_failed',
  'invalid_response',
  'connection_failed',
];

/** Milliseconds: mostly quick, sometimes too slow for an immediate retry or for any timeout. */
const generateDurationMs = (chance: Chance): number => {
  const dice = chance.next();
  if (dice < 0.6) return chance.int(1, 300);
  return dice < 0.9 ? chance.int(1_500, 14_900) : chance.int(12_000, 40_000);
};

const generateRetryAfter = (chance: Chance): { retryAfter?: string } => {
  const dice = chance.next();
  if (dice < 0.7) return {};
  return { retryAfter: dice < 0.95 ? String(chance.int(0, 200)) : chance.pick(['soon', '-5', '7200']) };
};

const generateFailure = (chance: Chance): Answer => ({
  takesMs: generateDurationMs(chance),
  ...generateRetryAfter(chance),
  response: chance.happens(0.7)
    ? { status: chance.pick([500, 502, 503, 503, 504, 599, 199, 600]) }
    : { fault: chance.pick(FAULTS) },
});

/** Any status of redirections and refusals, half of the time one with a meaning. */
const REFUSALS: readonly number[] = [
  ...Array.from({ length: 20 }, () => [300, 301, 302, 400, 401, 404, 408, 410, 425, 429]).flat(),
  ...Array.from({ length: 200 }, (_, index) => 300 + index),
];

const generateRefusal = (chance: Chance): Answer => ({
  takesMs: generateDurationMs(chance),
  ...generateRetryAfter(chance),
  response: chance.happens(0.05) ? 'forbidden' : { status: chance.pick(REFUSALS) },
});

const generateSuccess = (chance: Chance): Answer => ({
  takesMs: generateDurationMs(chance),
  response: { status: chance.pick([200, 201, 202, 204, 299]) },
});

/** A receiver's responses: healthy, failing after one success, recovering, permanently down, or refusing. */
export const generateAnswers = (chance: Chance): Answers => {
  const failures = Array.from({ length: chance.int(1, 5) }, () => generateFailure(chance));
  const dice = chance.next();
  if (dice < 0.2) return { first: [], then: generateSuccess(chance) };
  if (dice < 0.25) return { first: [generateSuccess(chance)], then: generateFailure(chance) };
  if (dice < 0.6) return { first: failures, then: generateSuccess(chance) };
  if (dice < 0.8) return { first: failures, then: generateFailure(chance) };
  return { first: chance.happens(0.5) ? [] : failures, then: generateRefusal(chance) };
};

/** [minimum_delay, maximum_delay] in seconds: mostly by SQS, some by Scheduler, a few over days. */
const delays = (chance: Chance): [number, number] => {
  const dice = chance.next();
  if (dice < 0.5) return range(chance, 1, 20, 60);
  if (dice < 0.92) return range(chance, 5, 200, 1_500);
  return range(chance, 60, 4_000, 100_000);
};

const range = (chance: Chance, least: number, middle: number, most: number): [number, number] => {
  const minimum = chance.int(least, middle);
  return [minimum, chance.int(minimum, most)];
};

/** A complete policy with at most a dozen retries, so that a scenario is short. */
export const generatePolicy = (chance: Chance): RetryPolicy => {
  const [minimum_delay, maximum_delay] = delays(chance);
  return {
    retries_with_no_delay: chance.int(0, 2),
    minimum_delay_retries: chance.int(0, 2),
    minimum_delay,
    maximum_delay,
    maximum_delay_retries: chance.int(0, 2),
    retry_backoff_function: chance.pick(BACKOFF_FUNCTIONS),
    ignore_subscription_override: chance.happens(0.1),
    backoff_retries: chance.int(0, 4),
    backoff_exponent: chance.pick([1.5, 2, 3]),
    jitter: chance.pick(['none', 'none', 'none', 'full', 'equal'] as const),
    retry_on_status: chance.pick([[], [], [404, 429], [301, 408, 425, 429]]),
  };
};

/** A policy as a user gives it: complete, partial or empty. */
export const generatePartialPolicy = (chance: Chance): PartialRetryPolicy => {
  const policy = generatePolicy(chance);
  const dice = chance.next();
  if (dice < 0.6) return policy;
  if (dice < 0.7) return {};
  const { minimum_delay, maximum_delay, retries_with_no_delay, backoff_retries } = policy;
  return dice < 0.85 ? { minimum_delay, maximum_delay } : { retries_with_no_delay, backoff_retries };
};

/**
 * Optional features of a scenario: filters, an expensive filter, confirmations, a frequently changed first
 * subscription, much work for operate.
 */
export type Traits = {
  filters: boolean;
  isExpensive: boolean;
  confirms: boolean;
  changesOften: boolean;
  usesOperate: boolean;
};

/** Requests per second. */
export const RATES = [0.02, 0.1, 0.3, 1, 2, 5];

export const generateSubscription = (
  chance: Chance,
  index: number,
  calmAt: number,
  { filters, isExpensive, confirms }: Traits,
): PlannedSubscription => ({
  id: `s${index}`,
  at: chance.happens(0.1) ? chance.int(0, calmAt / 4) : -DAY,
  policy: chance.happens(0.5) ? generatePartialPolicy(chance) : undefined,
  ttlSeconds: chance.happens(0.05) ? Math.ceil((DAY + chance.int(1, calmAt)) / SECOND) : undefined,
  rawDelivery: chance.happens(0.1),
  maxPerSecond: chance.happens(0.3) ? chance.pick(RATES) : undefined,
  interests: interestsIn(chance, index, { filters, isExpensive }),
  confirmation: confirms && chance.happens(0.7) ? generateConfirmation(chance) : undefined,
  failures: chance.happens(0.2) ? chance.int(14, 30) : 0,
  answers: generateAnswers(chance),
});

const interestsIn = (
  chance: Chance,
  index: number,
  { filters, isExpensive }: Pick<Traits, 'filters' | 'isExpensive'>,
): PlannedInterests => {
  if (isExpensive && index === 0) return { isExpensive: true };
  return filters && chance.happens(0.7) ? generateInterests(chance) : {};
};

export const generateInterests = (chance: Chance): PlannedInterests =>
  chance.pick<PlannedInterests>([
    {},
    { types: ['created'] },
    { types: ['created', 'cancelled'] },
    { types: ['other'] },
    { keys: [0, 1] },
    { keys: [2] },
    { types: ['created'], keys: [0] },
  ]);

const generateConfirmation = (chance: Chance): PlannedConfirmation => ({
  by: chance.pick(['subscriber', 'subscriber', 'operator', 'none'] as const),
  afterMs: chance.pick([100, SECOND, 30 * SECOND, 5 * MINUTE, HOUR]),
});

/** The subscription with several seconds of failures and a retry in each. */
export const withFrequentRequests = (
  chance: Chance,
  subscription: PlannedSubscription,
): PlannedSubscription => ({
  ...subscription,
  policy: {
    retries_with_no_delay: chance.int(0, 2),
    minimum_delay_retries: chance.int(2, 5),
    minimum_delay: chance.int(1, 3),
    maximum_delay: 3,
  },
  answers: {
    ...subscription.answers,
    first: Array.from({ length: chance.int(3, 6) }, () => ({
      ...generateFailure(chance),
      takesMs: chance.int(1, 1_500),
      retryAfter: '0',
    })),
  },
});
