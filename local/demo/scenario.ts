import type { TerminalStatus } from '../../shared/domain/vocabulary.ts';
import type { PartialRetryPolicy } from '../../shared/domain/retry/policy.ts';

export type DemoSubscriber = {
  name: string;
  /** What it shows, for the reader of the demo. */
  shows: string;
  /** Status codes for each message, in order; the last one again and again. */
  answers: readonly [number, ...number[]];
  policy: PartialRetryPolicy;
  expected: { status: TerminalStatus; attempts: number; byScheduler: boolean };
};

export const demoQueue = 'demo';

/** Retries this far ahead go by EventBridge Scheduler in the demo, in seconds. Its schedules are 5 s ahead at the least. */
export const demoSchedulerThreshold = 7;

/** @param schedulerThreshold seconds, as deployed */
export function demoHeading(schedulerThreshold: number): string {
  return `Demo: queue "${demoQueue}" with ${demoSubscribers.length} subscribers.
Retries ${schedulerThreshold} s ahead and more go by EventBridge Scheduler here, so that it shows within seconds; on AWS 90 s.`;
}

/** Seconds until the retry that is to go by Scheduler, if the deployment's threshold is not above it. */
export const SCHEDULED_DELAY = 10;

const noRetries = {
  retries_with_no_delay: 0,
  minimum_delay_retries: 0,
  backoff_retries: 0,
  maximum_delay_retries: 0,
};

export const demoSubscribers: readonly DemoSubscriber[] = [
  {
    name: 'healthy',
    shows: 'answers 200',
    answers: [200],
    policy: {},
    expected: { status: 'delivered', attempts: 1, byScheduler: false },
  },
  {
    name: 'flaky',
    shows: 'answers 503 twice, then 200',
    answers: [503, 503, 200],
    policy: { ...noRetries, retries_with_no_delay: 1, minimum_delay_retries: 3, minimum_delay: 2 },
    expected: { status: 'delivered', attempts: 3, byScheduler: false },
  },
  {
    name: 'scheduled',
    shows: 'answers 503, then 200 ten seconds later',
    answers: [503, 200],
    policy: { ...noRetries, minimum_delay_retries: 2, minimum_delay: SCHEDULED_DELAY },
    expected: { status: 'delivered', attempts: 2, byScheduler: true },
  },
  {
    name: 'refusing',
    shows: 'answers 400: a refusal is final',
    answers: [400],
    policy: {},
    expected: { status: 'rejected', attempts: 1, byScheduler: false },
  },
  {
    name: 'hopeless',
    shows: 'answers 503 for ever: all four phases, then the end of its policy',
    answers: [503],
    policy: {
      retries_with_no_delay: 1,
      minimum_delay_retries: 1,
      minimum_delay: 1,
      backoff_retries: 2,
      maximum_delay: 3,
      maximum_delay_retries: 1,
    },
    expected: { status: 'exhausted', attempts: 6, byScheduler: false },
  },
];

export const demoMessages = [
  { id: 'order-1001-created', type: 'order.created', data: { order: 1001, total: '49.90' } },
  { id: 'order-1001-paid', type: 'order.paid', data: { order: 1001, method: 'card' } },
] as const;
