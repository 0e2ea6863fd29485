import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { operationsOf, type Operations } from '../../../cli/commands/plan/operations.ts';
import { failuresWithin, plannedRetries, workOfDay, type Plan } from '../../../cli/commands/plan/work.ts';
import { DEFAULT_RETRY_POLICY } from '../../../shared/domain/retry/policy.ts';
import { plain, plans, table } from './plans.ts';

const operations = (plan: Plan): Operations => operationsOf(workOfDay(plan), table);

const perMessage = (plan: Plan, of: (operations: Operations) => number): number =>
  of(operations(plan)) / plan.messagesPerDay;

/** The billed operations. */
const counted = ({
  writeUnits,
  readUnits,
  sqsRequests,
  invocations,
  schedules,
  attempts,
  logBytes,
}: Operations) => ({
  writeUnits,
  readUnits,
  sqsRequests,
  invocations: invocations.dispatch + invocations.deliver,
  schedules,
  attempts,
  logBytes,
});

describe('the operations of a plan', () => {
  it('grow with messages, failures and the failing time of subscribers', () => {
    fc.assert(
      fc.property(plans, (given) => {
        // Without chunks: a failing subscription may reduce the number of chunks.
        const plan = { ...given, firstAttemptsPerJob: 1 };
        const usual = counted(operations(plan));
        const more: Plan[] = [
          { ...plan, messagesPerDay: plan.messagesPerDay + 1 },
          { ...plan, failureRate: Math.min(1, plan.failureRate + 0.1) },
          { ...plan, failingSeconds: plan.failingSeconds + 60 },
        ];
        for (const larger of more.map((one) => counted(operations(one)))) {
          // Steps are differences of measurements, which vary slightly.
          expect(larger.writeUnits).toBeGreaterThanOrEqual(usual.writeUnits * 0.99);
          expect(larger.sqsRequests).toBeGreaterThanOrEqual(usual.sqsRequests * 0.99);
          expect(larger.attempts).toBeGreaterThanOrEqual(usual.attempts * 0.99);
        }
      }),
    );
  });

  it('are proportional to the messages, and never negative', () => {
    fc.assert(
      fc.property(plans, (given) => {
        // The share of deliveries with a known failing subscription depends on the number of messages.
        const plan = given.failureRate > 0 ? { ...given, firstAttemptsPerJob: 1 } : given;
        const one = counted(operations({ ...plan, messagesPerDay: 1 }));
        for (const [name, value] of Object.entries(counted(operations(plan)))) {
          expect(value, name).toBeGreaterThanOrEqual(0);
          const expected = (new Map(Object.entries(one)).get(name) ?? 0) * plan.messagesPerDay;
          expect(Math.abs(value - expected), name).toBeLessThanOrEqual(1e-9 * expected);
        }
      }),
    );
  });

  it('are fewer in full batches, which share receive, delete and send requests', () => {
    const full = { ...plain, messagesPerBatch: 10 };
    expect(perMessage(full, ({ invocations }) => invocations.deliver)).toBeCloseTo(0.1, 6);
    // Per message: the producer's request stays, dispatch needs two instead of ten, Lambda a tenth of four.
    expect(perMessage(plain, ({ sqsRequests }) => sqsRequests)).toBeCloseTo(6, 6);
    expect(perMessage(full, ({ sqsRequests }) => sqsRequests)).toBeCloseTo(1.6, 6);
    expect(operations(full).readUnits).toBeLessThan(operations(plain).readUnits);
  });

  it('include the writes of queue statistics, one unit and one call for each', () => {
    const written = { ...plain, messagesPerBatch: 10, statisticsPerInvocation: 0.5 };
    const added = (of: (made: ReturnType<typeof operations>) => number): number =>
      perMessage(written, of) - perMessage({ ...written, statisticsPerInvocation: 0 }, of);
    expect(added(({ writeUnits }) => writeUnits)).toBeCloseTo(0.1, 6);
    for (const name of ['dispatch', 'deliver'] as const) {
      expect(added(({ awsCalls }) => awsCalls[name])).toBeCloseTo(0.05, 6);
      expect(added(({ waits }) => waits[name].awsCalls)).toBeCloseTo(0.05, 6);
    }
  });

  it('are never more in batches than for single messages', () => {
    fc.assert(
      fc.property(plans, (plan) => {
        const [alone, batched] = [operations({ ...plan, messagesPerBatch: 1 }), operations(plan)];
        const most = 1 + 1e-9;
        expect(batched.sqsRequests).toBeLessThanOrEqual(alone.sqsRequests * most);
        expect(batched.awsCalls.dispatch).toBeLessThanOrEqual(alone.awsCalls.dispatch * most);
        expect(batched.awsCalls.deliver).toBeLessThanOrEqual(alone.awsCalls.deliver * most);
        expect(batched.waits.dispatch.awsCalls).toBeLessThanOrEqual(alone.waits.dispatch.awsCalls * most);
      }),
    );
  });

  it.each([
    { payloadBytes: 8_000, failureRate: 0, puts: 0, gets: 0 },
    { payloadBytes: 20_000, failureRate: 0, puts: 0, gets: 0 },
    { payloadBytes: 20_000, failureRate: 1, puts: 1, gets: 1 },
    { payloadBytes: 100_000, failureRate: 0, puts: 1, gets: 1 },
    { payloadBytes: 100_000, failureRate: 1, puts: 1, gets: 2 },
  ])('put $puts and get $gets objects for $payloadBytes bytes, failing at a rate of $failureRate', (one) => {
    const { puts, gets, ...given } = one;
    const policy = { ...DEFAULT_RETRY_POLICY, retries_with_no_delay: 0 };
    const plan = { ...plain, ...given, failingSeconds: 1, policy };
    expect(perMessage(plan, ({ s3Puts }) => s3Puts)).toBeCloseTo(puts, 1);
    expect(perMessage(plan, ({ s3Gets }) => s3Gets)).toBeCloseTo(gets, 1);
  });

  it('include a schedule for each retry with a delay of at least the threshold, and no others', () => {
    const policy = { ...DEFAULT_RETRY_POLICY, minimum_delay: 60, maximum_delay: 600 };
    const delays = plannedRetries({ policy, thresholdSeconds: 90 }).map(({ delaySeconds }) => delaySeconds);
    for (const thresholdSeconds of [0, 90, 300, 601]) {
      const plan = { ...plain, failureRate: 1, failingSeconds: 1e6, policy, thresholdSeconds };
      const far = delays.filter((delay) => delay > 5 && delay >= thresholdSeconds);
      expect(perMessage(plan, ({ schedules }) => schedules)).toBeCloseTo(far.length, 5);
    }
  });

  it('count a message group for every job and wake-up, delayed by SQS or sent by Scheduler', () => {
    const policy = { ...DEFAULT_RETRY_POLICY, minimum_delay: 60, maximum_delay: 600 };
    const grouped = (thresholdSeconds: number): number => {
      const plan = { ...plain, failureRate: 1, failingSeconds: 50, policy, thresholdSeconds };
      return perMessage(plan, ({ sqsGroupedRequests }) => sqsGroupedRequests);
    };
    expect(grouped(900)).toBeCloseTo(2, 5);
    // Scheduler sends the wake-up early, and deliver delays it by SQS for the remaining time.
    expect(grouped(0)).toBeCloseTo(3, 5);
  });

  it('add one call to the wait of dispatch in a batch, unless each message fills a request', () => {
    const waited = (plan: Plan): number => {
      const { waits, invocations } = operations(plan);
      return waits.dispatch.awsCalls / invocations.dispatch;
    };
    const more = (plan: Plan): number => waited({ ...plan, messagesPerBatch: 10 }) - waited(plan);
    expect(more(plain)).toBeCloseTo(1, 6);
    expect(more({ ...plain, fanOut: 20, firstAttemptsPerJob: 1 })).toBeCloseTo(0, 6);
  });
});

describe('the steps of the table', () => {
  it('match the code: one write for an immediate retry, two for others, one schedule with Scheduler', () => {
    const { message, delivered, same_invocation, sqs_delay, scheduler, firstFailure, exhaustion } =
      table.steps;
    expect(message).toMatchObject({ messageWrites: 1, indexWriteUnits: 1 });
    expect(delivered).toMatchObject({ deliveryWrites: 2, attempts: 1 });
    expect(same_invocation).toMatchObject({ deliveryWrites: 1, attempts: 1 });
    expect(same_invocation).not.toHaveProperty('schedules');
    expect(sqs_delay).toMatchObject({ deliveryWrites: 2, attempts: 1 });
    expect(scheduler).toMatchObject({ deliveryWrites: 2, schedules: 1 });
    expect(firstFailure).toMatchObject({ messageWrites: 1 });
    expect(Math.round(exhaustion.events ?? 0)).toBe(1);
  });
});

describe('the failures of a delivery', () => {
  it('are at least one, and end with the first retry after the failing time', () => {
    const retries = plannedRetries({ policy: DEFAULT_RETRY_POLICY, thresholdSeconds: 90 });
    expect(failuresWithin(retries, 0)).toEqual({ failures: 1, exhausted: false });
    // Three immediate retries, one after 5 s and one after 10 s.
    expect(failuresWithin(retries, 12)).toEqual({ failures: 6, exhausted: false });
    expect(failuresWithin(retries, 1e6)).toEqual({ failures: 20, exhausted: true });
    expect(failuresWithin([], 0)).toEqual({ failures: 1, exhausted: true });
  });
});
