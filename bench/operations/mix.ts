import { plannedRetries, type Group } from '../../cli/commands/plan/work.ts';
import {
  completeRetryPolicy,
  DEFAULT_RETRY_POLICY,
  type PartialRetryPolicy,
} from '../../shared/domain/retry/policy.ts';
import { sumOf } from '../harness/figures.ts';
import { byScheduler, bySqs, DEFAULT_SHAPE, noRetries, THRESHOLD_SECONDS } from './paths.ts';
import { failingFirst } from './run-path.ts';

export const MESSAGES = 120;
export const PAYLOAD_BYTES = 700;

/** A subscriber, of whose deliveries each `every`th fails so often; the others succeed at once. */
type Subscriber = { every: number; policy: PartialRetryPolicy; failures: number };

/** None of these is a path of the table: failures among successes, twice by Scheduler. */
const failing: readonly Subscriber[] = [
  { every: 5, policy: bySqs(2), failures: 1 },
  { every: 10, policy: byScheduler(3), failures: 2 },
  { every: 20, policy: DEFAULT_SHAPE, failures: 7 },
];

const reliable: Subscriber = { every: Infinity, policy: noRetries, failures: 0 };

/** Nor is their number: two chunks, of sizes that vary. */
export const subscribers: readonly Subscriber[] = [...failing, ...Array.from({ length: 9 }, () => reliable)];

function failuresOf({ every, failures }: Subscriber): number {
  return Math.floor(MESSAGES / every) * failures;
}

/** Requests that subscribers get, in all. */
export const REQUESTS = MESSAGES * subscribers.length + sumOf(subscribers, failuresOf);

/** Messages of which some delivery fails. */
export const KEPT = Array.from({ length: MESSAGES }, (_, number) => number).filter((number) =>
  failing.some(({ every }) => number % every === 0),
).length;

/** Messages are numbered; others than those with the prefix `m` succeed. */
export function answersOf({ every, failures }: Subscriber) {
  return failingFirst((id) => {
    const [prefix, number] = id.split('-');
    return prefix === 'm' && Number(number) % every === 0 ? failures : 0;
  });
}

/** @param single deliveries with jobs of their own: those to subscribers that fail now and then */
export function groupsOf(single: number): Group[] {
  return subscribers.flatMap((subscriber): Group[] => {
    const { every, policy, failures } = subscriber;
    const failingDeliveries = Math.floor(MESSAGES / every);
    const { policy: whole } = completeRetryPolicy(policy, DEFAULT_RETRY_POLICY);
    const retries = plannedRetries({ policy: whole, thresholdSeconds: THRESHOLD_SECONDS });
    const singleJobShare = failing.includes(subscriber) ? single / (failing.length * MESSAGES) : 0;
    return [
      { deliveries: MESSAGES - failingDeliveries, singleJobShare, failures: 0, exhausted: false, retries },
      { deliveries: failingDeliveries, singleJobShare, failures, exhausted: false, retries },
    ];
  });
}
