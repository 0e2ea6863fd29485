import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { courseThrough, plannedRetries } from '../../../cli/commands/plan/model/course.ts';
import { operationsOf, type Operations } from '../../../cli/commands/plan/model/operations.ts';
import type { Plan } from '../../../cli/commands/plan/model/plan.ts';
import { stepsOf } from '../../../cli/commands/plan/model/steps.ts';
import { workOfDay } from '../../../cli/commands/plan/model/work.ts';
import { DEFAULT_RETRY_POLICY } from '../../../shared/domain/retry/policy.ts';
import { plain, plans, table } from './plans.ts';

const operations = (plan: Plan): Operations => operationsOf(workOfDay(plan), table);

const counted = ({
  writeUnits,
  readUnits,
  sqsRequests,
  schedules,
  s3Puts,
  s3Gets,
  events,
  attempts,
}: Operations) => ({
  writeUnits,
  readUnits,
  sqsRequests,
  schedules,
  s3Puts,
  s3Gets,
  events,
  attempts,
});

const perMessage = (plan: Plan) =>
  Object.fromEntries(
    Object.entries(counted(operations(plan))).map(([name, value]) => [name, value / plan.messagesPerDay]),
  );

describe('the operations of a plan', () => {
  it('are those counted where it is a path that was measured', () => {
    const path = table.paths.find((one) => one.path === 'retried_by_sqs');
    const policy = {
      ...DEFAULT_RETRY_POLICY,
      retries_with_no_delay: 0,
      minimum_delay_retries: 1,
      minimum_delay: 1,
      backoff_retries: 0,
      maximum_delay_retries: 0,
    };
    const planned = perMessage({ ...plain, failureRate: 1, failingSeconds: 0, policy });
    const { dispatch, deliver, messages = 1 } = path ?? {};
    const written = (units = dispatch) =>
      (units?.deliveryWrites ?? 0) + (units?.indexWriteUnits ?? 0) + (units?.otherWriteUnits ?? 0);
    // The message is written as it comes by one unit, and kept by two: 1 KB and what is around it.
    expect(planned['writeUnits']).toBeCloseTo((written() + written(deliver)) / messages + 3, 5);
    expect(planned).toMatchObject({ attempts: 2, schedules: 0, s3Puts: 0 });
  });

  it('grow with each thing that there is more of, whatever the plan', () => {
    fc.assert(
      fc.property(plans, (given) => {
        // In chunks a subscription that fails may leave one chunk less to the others.
        const plan = { ...given, firstAttemptsPerJob: 1 };
        const usual = counted(operations(plan));
        const more: Plan[] = [
          { ...plan, messagesPerDay: plan.messagesPerDay + 1 },
          { ...plan, failureRate: Math.min(1, plan.failureRate + 0.1) },
          { ...plan, failingSeconds: plan.failingSeconds + 60 },
        ];
        for (const larger of more.map((one) => counted(operations(one)))) {
          // What differs between paths is measured, and that a little.
          expect(larger.writeUnits).toBeGreaterThanOrEqual(usual.writeUnits * 0.99);
          expect(larger.sqsRequests).toBeGreaterThanOrEqual(usual.sqsRequests * 0.99);
          expect(larger.attempts).toBeGreaterThanOrEqual(usual.attempts * 0.99);
        }
      }),
    );
  });

  it('are in proportion to the messages, and never less than none', () => {
    fc.assert(
      fc.property(plans, (given) => {
        // How many find their subscription failing, and are in no chunk, depends on how many there are.
        const plan = given.failureRate > 0 ? { ...given, firstAttemptsPerJob: 1 } : given;
        const one = counted(operations({ ...plan, messagesPerDay: 1 }));
        const all = counted(operations(plan));
        for (const [name, value] of Object.entries(all)) {
          expect(value, name).toBeGreaterThanOrEqual(0);
          const expected = (new Map(Object.entries(one)).get(name) ?? 0) * plan.messagesPerDay;
          expect(value - expected, name).toBeLessThanOrEqual(1e-9 * expected);
          expect(expected - value, name).toBeLessThanOrEqual(1e-9 * expected);
        }
      }),
    );
  });

  it('are fewer in full batches: requests that fetch and delete, and those of jobs, are shared', () => {
    const [single, full] = [operations(plain), operations({ ...plain, messagesPerBatch: 10 })];
    expect(full.invocations.deliver).toBeCloseTo(single.invocations.deliver / 10, 5);
    // The producer's request stays, ten of dispatch become two, four of Lambda four tenths.
    expect([single, full].map(({ sqsRequests }) => sqsRequests / plain.messagesPerDay)).toEqual([6, 1.6]);
    expect(full.readUnits).toBeLessThan(single.readUnits);
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
    const found = perMessage({ ...plain, ...given, failingSeconds: 1, policy });
    expect(found['s3Puts']).toBeCloseTo(puts, 1);
    expect(found['s3Gets']).toBeCloseTo(gets, 1);
  });

  it('hold a schedule for each retry that is as far away as the threshold, and none for others', () => {
    const policy = { ...DEFAULT_RETRY_POLICY, minimum_delay: 60, maximum_delay: 600 };
    const scheduled = (thresholdSeconds: number): number => {
      const plan = { ...plain, failureRate: 1, failingSeconds: 1e6, policy, thresholdSeconds };
      return perMessage(plan)['schedules'] ?? 0;
    };
    const delays = plannedRetries(policy, 90).map(({ delaySeconds }) => delaySeconds);
    for (const threshold of [0, 90, 300, 601]) {
      expect(scheduled(threshold)).toBeCloseTo(
        delays.filter((delay) => delay > 5 && delay >= threshold).length,
        5,
      );
    }
  });
});

describe('the course of a delivery', () => {
  const retries = plannedRetries(DEFAULT_RETRY_POLICY, 90);

  it('fails once at least, and ends with the first retry after the trouble', () => {
    expect(courseThrough(retries, 0)).toEqual({ failures: 1, exhausted: false });
    // Three at once, at 5 s and at 10 s.
    expect(courseThrough(retries, 12)).toEqual({ failures: 6, exhausted: false });
    expect(courseThrough(retries, 1e6)).toEqual({ failures: 20, exhausted: true });
    expect(courseThrough([], 0)).toEqual({ failures: 1, exhausted: true });
  });
});

describe('the steps of the table', () => {
  it('are what the code does: a retry at once is one write, any other two, and a schedule one schedule', () => {
    const { message, delivered, retry, firstFailure, exhaustion } = stepsOf(table);
    expect(message).toMatchObject({ messageWrites: 1, indexWriteUnits: 1 });
    expect(delivered).toMatchObject({ deliveryWrites: 2, attempts: 1, schedules: 0 });
    expect(retry.same_invocation).toMatchObject({ attempts: 1, schedules: 0, retryRecords: 0 });
    expect(retry.same_invocation.deliveryWrites).toBeCloseTo(1, 5);
    expect(retry.sqs_delay.deliveryWrites).toBeCloseTo(2, 5);
    expect(retry.scheduler.schedules).toBeCloseTo(1, 5);
    expect(firstFailure.messageWrites).toBeCloseTo(1, 5);
    // One of the delivery; and one of the subscription, as it begins to fail.
    expect(Math.round(exhaustion.events)).toBe(1);
  });

  it('ask for every path', () => {
    for (const { path } of table.paths) {
      const paths = table.paths.filter((one) => one.path !== path);
      expect(() => stepsOf({ ...table, paths }), path).toThrow(path);
    }
  });
});
