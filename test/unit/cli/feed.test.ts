import { stripVTControlCharacters } from 'node:util';
import { describe, expect, it } from 'vitest';
import { feedLine } from '../../../cli/commands/start/demo/feed-line.ts';
import { nextStep } from '../../../cli/commands/start/demo/next-step.ts';
import { demoSubscribers } from '../../../cli/commands/start/demo/scenario.ts';
import { judge, verdictTable } from '../../../cli/commands/start/demo/verdict.ts';
import type { DeliveryView } from '../../../shared/wire/views/delivery.ts';

type AttemptView = DeliveryView['attempts'][number];

const policy = {
  retries_with_no_delay: 1,
  minimum_delay_retries: 2,
  minimum_delay: 5,
  maximum_delay: 30,
  maximum_delay_retries: 0,
  retry_backoff_function: 'linear' as const,
  ignore_subscription_override: false,
  backoff_retries: 0,
  backoff_exponent: 2,
  jitter: 'none' as const,
  retry_on_status: [],
};

const failedAttempt = (number: number, phase: AttemptView['phase'], second: number): AttemptView => ({
  number,
  round: 1,
  phase,
  startedAt: `2026-01-01T10:00:${String(second).padStart(2, '0')}.000Z`,
  durationMs: 100,
  outcome: 'failed',
  statusCode: 503,
});

const retrying = (attempts: AttemptView[], nextAttempt?: DeliveryView['nextAttempt']): DeliveryView => ({
  queue: 'demo',
  messageId: 'm',
  subscriptionId: 's',
  status: 'retrying',
  attempts,
  policy,
  ...(nextAttempt === undefined ? {} : { nextAttempt, nextAttemptAt: nextAttempt.dueAt }),
});

describe('the next step after an attempt', () => {
  const [first, second] = [failedAttempt(1, 'initial', 0), failedAttempt(2, 'immediate', 1)];
  const pending = {
    number: 3,
    phase: 'pre_backoff',
    dueAt: '2026-01-01T10:00:20.000Z',
    by: 'scheduler',
  } as const;

  it('is a recorded attempt, with its mechanism', () => {
    const made = { ...second, by: 'same_invocation', dueAt: '2026-01-01T10:00:00.100Z' } as const;
    expect(nextStep(retrying([first, made]), 1)).toEqual({
      kind: 'next',
      next: {
        number: 2,
        phase: 'immediate',
        dueAt: Date.parse('2026-01-01T10:00:00.100Z'),
        by: 'same_invocation',
      },
      endedAt: Date.parse('2026-01-01T10:00:00.100Z'),
    });
  });

  it('is a pending attempt, at its recorded time', () => {
    expect(nextStep(retrying([first, second], pending), 2)).toMatchObject({
      next: { ...pending, dueAt: Date.parse(pending.dueAt) },
    });
  });

  it('is the end if the delivery was delivered, rejected, cancelled or exhausted', () => {
    expect(nextStep(retrying([{ ...first, outcome: 'delivered' }]), 1)).toEqual({ kind: 'delivered' });
    expect(nextStep(retrying([{ ...first, outcome: 'rejected' }]), 1)).toEqual({ kind: 'rejected' });
    expect(nextStep({ ...retrying([first]), status: 'cancelled' }, 1)).toEqual({ kind: 'cancelled' });
    expect(nextStep({ ...retrying([first]), status: 'exhausted' }, 1)).toEqual({ kind: 'exhausted' });
  });
});

describe('a line of the feed', () => {
  const lineOf = (view: DeliveryView, number: number): string => {
    const [attempt, step] = [view.attempts[number - 1], nextStep(view, number)];
    if (attempt === undefined || step === undefined) throw new Error('no such attempt');
    return stripVTControlCharacters(feedLine({ message: 'm1', subscriber: 'scheduled', attempt, step }));
  };

  it('shows the subscriber, the result, and the time and mechanism of the next attempt', () => {
    const line = lineOf(
      retrying([failedAttempt(1, 'initial', 0), failedAttempt(2, 'immediate', 1)], {
        number: 3,
        phase: 'pre_backoff',
        dueAt: '2026-01-01T10:00:06.100Z',
        by: 'sqs_delay',
      }),
      2,
    );
    expect(line).toMatch(
      /^\d\d:00:01\.000 {2}m1 {2}scheduled {2}#2 immediate {5}503, 100 ms {2}→ #3 pre_backoff in 5\.0 s, SQS delay$/,
    );
  });

  it.each([
    ['immediate', 0, 'same_invocation'],
    ['post_backoff', 30_000, 'sqs_delay'],
    ['pre_backoff', 10_000, 'scheduler'],
  ] as const)('fits into 100 columns with indentation if the next phase is %s', (phase, dueAt, by) => {
    const attempt = failedAttempt(9, 'post_backoff', 0);
    const step = { kind: 'next', next: { number: 9, phase, dueAt, by }, endedAt: 0 } as const;
    const line = feedLine({ message: 'm1', subscriber: 'scheduled', attempt, step });
    expect(stripVTControlCharacters(line).length).toBeLessThanOrEqual(98);
  });

  it('shows the error if there is no status', () => {
    const { statusCode, ...unanswered } = failedAttempt(1, 'initial', 0);
    expect(statusCode).toBe(503);
    expect(lineOf(retrying([{ ...unanswered, error: 'timeout' }]), 1)).toContain('timeout, 100 ms');
  });
});

describe('the check of a demo delivery', () => {
  const scheduled = demoSubscribers.find(({ name }) => name === 'scheduled');
  if (scheduled === undefined) throw new Error('no such subscriber');
  const delivered: DeliveryView = {
    ...retrying([
      failedAttempt(1, 'initial', 0),
      { ...failedAttempt(2, 'pre_backoff', 10), outcome: 'delivered', by: 'scheduler' },
    ]),
    status: 'delivered',
  };
  const asExpected = {
    subscriber: scheduled,
    message: 'm',
    view: delivered,
    requests: 2,
    unverified: 0,
    schedulerThreshold: 7,
  };

  const byAnother = {
    ...delivered,
    attempts: delivered.attempts.map((attempt) => ({ ...attempt, by: 'sqs_delay' as const })),
  };

  it('finds no fault in a delivery that ended as expected', () => {
    expect(judge(asExpected)).toMatchObject({ status: 'delivered', attempts: 2, seconds: 10.1, faults: [] });
  });

  it('does not expect Scheduler if the deployment uses SQS for that delay', () => {
    expect(judge({ ...asExpected, view: byAnother, schedulerThreshold: 90 }).faults).toEqual([]);
  });

  it.each([
    ['another end', { view: { ...delivered, status: 'exhausted' as const } }, 'is exhausted, not delivered'],
    [
      'other attempts',
      { view: { ...delivered, attempts: [...delivered.attempts, ...delivered.attempts] }, requests: 4 },
      'took 4 attempts, not 2',
    ],
    [
      'requests that are not on record',
      { requests: 3 },
      'has 2 recorded attempts, but the receiver counted 3 requests',
    ],
    ['requests that are not signed', { unverified: 1 }, 'had 1 requests without a valid signature'],
    ['another mechanism', { view: byAnother }, 'was not started by EventBridge Scheduler'],
    ['no record', { view: undefined }, 'was never recorded'],
  ])('reports %s', (_, difference, fault) => {
    expect(judge({ ...asExpected, ...difference }).faults).toEqual([fault]);
  });

  it('is printed as one table row per delivery', () => {
    const rows = verdictTable([judge(asExpected), judge({ ...asExpected, view: byAnother })]).split('\n');
    expect(rows.map((row) => row.split(/ {2,}/).at(-1))).toEqual([
      'as expected',
      'yes',
      'no: was not started by EventBridge Scheduler',
    ]);
  });
});
