import type { TerminalStatus } from '../../../../shared/domain/delivery/vocabulary.ts';
import type { PartialRetryPolicy } from '../../../../shared/domain/retry/policy.ts';
import type { DeliveryView } from '../../../../shared/wire/views/delivery.ts';
import { tableLines } from '../../../output/list.ts';

export type DemoSubscriber = {
  name: string;
  /** Description, printed for the reader of the demo. */
  shows: string;
  /** Status codes for each message, in order; the last one repeats. */
  answers: readonly [number, ...number[]];
  policy: PartialRetryPolicy;
  expected: { status: TerminalStatus; attempts: number; byScheduler: boolean };
};

export const demoQueue = 'demo';

/** Delay in seconds from which the demo uses EventBridge Scheduler. A schedule must be at least 5 s ahead. */
export const demoSchedulerThreshold = 7;

/** The heading of the demo. @param schedulerThreshold the deployed setting, in seconds */
export function demoHeading(schedulerThreshold: number): string {
  return `Demo: queue "${demoQueue}" with ${demoSubscribers.length} subscribers.
Here, retries due in ${schedulerThreshold} s or more use EventBridge Scheduler, so that the demo is short; the default on AWS is 90 s.`;
}

/** Delay in seconds of the retry that uses Scheduler, unless the deployment's threshold is higher. */
const SCHEDULED_DELAY = 10;

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
    shows: 'answers 400: rejected, so there is no retry',
    answers: [400],
    policy: {},
    expected: { status: 'rejected', attempts: 1, byScheduler: false },
  },
  {
    name: 'hopeless',
    shows: 'always answers 503: all four phases, then exhausted',
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

export type DemoDelivery = {
  subscriber: DemoSubscriber;
  message: string;
  /** Undefined if the delivery was never recorded. */
  view: DeliveryView | undefined;
  /** Requests counted by the receiver. */
  requests: number;
  /** Requests without a valid signature. */
  unverified: number;
  /** Delay in seconds from which the deployment uses EventBridge Scheduler. */
  schedulerThreshold: number;
};

/** A delivery, and how it differs from the expectation of its subscriber. */
type Verdict = DemoDelivery & { faults: readonly string[] };

export function judge(delivery: DemoDelivery): Verdict {
  const { view } = delivery;
  return { ...delivery, faults: view === undefined ? ['was never recorded'] : findFaults(view, delivery) };
}

function findFaults(
  view: DeliveryView,
  { subscriber, requests, unverified, schedulerThreshold }: DemoDelivery,
): string[] {
  const { expected } = subscriber;
  const attempts = view.attempts.length;
  const isForScheduler = expected.byScheduler && schedulerThreshold <= SCHEDULED_DELAY;
  const wasScheduled = view.attempts.some(({ by }) => by === 'scheduler');
  const faults = [
    view.status !== expected.status && `is ${view.status}, not ${expected.status}`,
    attempts !== expected.attempts && `took ${attempts} attempts, not ${expected.attempts}`,
    requests !== attempts &&
      `has ${attempts} recorded attempts, but the receiver counted ${requests} requests`,
    unverified > 0 && `had ${unverified} requests without a valid signature`,
    isForScheduler && !wasScheduled && 'was not started by EventBridge Scheduler',
  ];
  return faults.filter((fault) => fault !== false);
}

/** The result table at the end of the demo. */
export function verdictTable(verdicts: readonly Verdict[]): string {
  const rows = verdicts.map(({ subscriber, message, view, faults }) => {
    const { status = 'not recorded', attempts = [] } = view ?? {};
    return [
      subscriber.name,
      message,
      status,
      String(attempts.length),
      `${secondsFrom(attempts).toFixed(1)} s`,
      faults.length === 0 ? 'yes' : `no: ${faults.join('; ')}`,
    ];
  });
  const heads = ['subscriber', 'message', 'status', 'attempts', 'duration', 'as expected'];
  return tableLines(heads, rows).join('\n');
}

/** From the start of the first attempt to the end of the last. */
function secondsFrom(attempts: DeliveryView['attempts']): number {
  const [first, last] = [attempts.at(0), attempts.at(-1)];
  if (first === undefined || last === undefined) return 0;
  return (Date.parse(last.startedAt) + last.durationMs - Date.parse(first.startedAt)) / 1000;
}
