import { stripVTControlCharacters } from 'node:util';
import { describe, expect, it } from 'vitest';
import { feedLine } from '../../../local/demo/feed-line.ts';
import { nextStep } from '../../../local/demo/next-step.ts';
import { demoSubscribers } from '../../../local/demo/scenario.ts';
import { judge, verdictTable } from '../../../local/demo/verdict.ts';
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

describe('what comes after an attempt', () => {
  const [first, second] = [failedAttempt(1, 'initial', 0), failedAttempt(2, 'immediate', 1)];
  const pending = {
    number: 3,
    phase: 'pre_backoff',
    dueAt: '2026-01-01T10:00:20.000Z',
    by: 'scheduler',
  } as const;

  it('is the attempt that was made, with what brought it about', () => {
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

  it('is the attempt that is pending, at the time on record', () => {
    expect(nextStep(retrying([first, second], pending), 2)).toMatchObject({
      next: { ...pending, dueAt: Date.parse(pending.dueAt) },
    });
  });

  it('is nothing once it was delivered, rejected or cancelled, or the policy has run out', () => {
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

  it('says whose attempt it was, what came of it, and when and by what the next one comes', () => {
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
  ] as const)('fits into 100 columns, two of them indented, with %s next', (phase, dueAt, by) => {
    const attempt = failedAttempt(9, 'post_backoff', 0);
    const step = { kind: 'next', next: { number: 9, phase, dueAt, by }, endedAt: 0 } as const;
    const line = feedLine({ message: 'm1', subscriber: 'scheduled', attempt, step });
    expect(stripVTControlCharacters(line).length).toBeLessThanOrEqual(98);
  });

  it('shows the error where no status came', () => {
    const { statusCode, ...unanswered } = failedAttempt(1, 'initial', 0);
    expect(statusCode).toBe(503);
    expect(lineOf(retrying([{ ...unanswered, error: 'timeout' }]), 1)).toContain('timeout, 100 ms');
  });
});

describe('the verdict on a demo delivery', () => {
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

  it('finds no fault with one that ended as its subscriber is there to show', () => {
    expect(judge(asExpected)).toMatchObject({ status: 'delivered', attempts: 2, seconds: 10.1, faults: [] });
  });

  it('does not ask for Scheduler where the deployment leaves the retry to SQS', () => {
    expect(judge({ ...asExpected, view: byAnother, schedulerThreshold: 90 }).faults).toEqual([]);
  });

  it.each([
    ['another end', { view: { ...delivered, status: 'exhausted' as const } }, 'is exhausted, not delivered'],
    [
      'other attempts',
      { view: { ...delivered, attempts: [...delivered.attempts, ...delivered.attempts] }, requests: 4 },
      'took 4 attempts, not 2',
    ],
    ['requests that are not on record', { requests: 3 }, 'has 2 attempts on record, but 3 requests came'],
    ['requests that are not signed', { unverified: 1 }, 'came 1 times without a good signature'],
    ['another mechanism', { view: byAnother }, 'was not woken by EventBridge Scheduler'],
    ['no record', { view: undefined }, 'was never recorded'],
  ])('finds fault with %s', (_, difference, fault) => {
    expect(judge({ ...asExpected, ...difference }).faults).toEqual([fault]);
  });

  it('stands in the closing table, a row for each delivery', () => {
    const rows = verdictTable([judge(asExpected), judge({ ...asExpected, view: byAnother })]).split('\n');
    expect(rows.map((row) => row.split(/ {2,}/).at(-1))).toEqual([
      'as expected',
      'yes',
      'no: was not woken by EventBridge Scheduler',
    ]);
  });
});
