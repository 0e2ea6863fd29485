import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  byRequest,
  furtherWaits,
  ofInvocation,
  requestsFor,
} from '../../../cli/commands/plan/model/joined-sends.ts';
import { operationsOf, type Operations } from '../../../cli/commands/plan/model/operations.ts';
import type { Plan } from '../../../cli/commands/plan/model/plan.ts';
import { workOfDay } from '../../../cli/commands/plan/model/work.ts';
import { DEFAULT_RETRY_POLICY } from '../../../shared/domain/retry/policy.ts';
import { plain, plans, table } from './plans.ts';

const operations = (plan: Plan): Operations => operationsOf(workOfDay(plan), table);

const requests = (records: number, messages: number): number =>
  ofInvocation({ records, messages }, requestsFor);

const averages = fc.double({ min: 0, max: 100, noNaN: true });

describe('the sends of an invocation', () => {
  it.each([
    { records: 0, messages: 1, made: 0 },
    { records: 1, messages: 1, made: 1 },
    { records: 2, messages: 1, made: 2 },
    { records: 10, messages: 1, made: 2 },
    { records: 11, messages: 1, made: 2 },
    { records: 12, messages: 1, made: 3 },
    { records: 10, messages: 3, made: 4 },
    { records: 10, messages: 10, made: 10 },
    { records: 10, messages: 12, made: 20 },
    // One invocation with one, and one with two; one with none, and one with one.
    { records: 1.5, messages: 1, made: 1.5 },
    { records: 0.5, messages: 1, made: 0.5 },
  ])('of $records records with $messages messages each are $made requests', (one) => {
    expect(requests(one.records, one.messages)).toBeCloseTo(one.made, 10);
  });

  it('are no more requests than each by itself, and no fewer than full ones, whatever the averages', () => {
    fc.assert(
      fc.property(averages, fc.double({ min: 0.1, max: 30, noNaN: true }), (records, messages) => {
        const made = requests(records, messages);
        expect(made).toBeLessThanOrEqual(records * requestsFor(messages) + 1e-9);
        expect(made).toBeGreaterThanOrEqual((records * messages) / 10 - 1e-9);
      }),
    );
  });

  it('are no fewer requests the more records there are', () => {
    fc.assert(
      fc.property(averages, averages, fc.integer({ min: 1, max: 30 }), (records, more, messages) => {
        expect(requests(records + more, messages)).toBeGreaterThanOrEqual(requests(records, messages) - 1e-9);
      }),
    );
  });

  it('are weighed by what a request carries: nine of 8 KB are two units of 64 KB', () => {
    const weighed = (messages: number): number => byRequest(messages, (inOne) => Math.ceil((inOne * 8) / 64));
    expect(ofInvocation({ records: 10, messages: 1 }, weighed)).toBe(1 + 2);
    expect(weighed(20)).toBe(4);
    expect(weighed(0)).toBe(0);
  });

  it('are waited for once more where they go together, however many go', () => {
    const waits = (records: number, messages = 1): number => furtherWaits({ records, messages });
    expect([0, 0.5, 1, 1.25, 2, 100].map((records) => waits(records))).toEqual([0, 0, 0, 0.25, 1, 1]);
    expect(waits(10, 10)).toBe(0);
  });
});

describe('the jobs of a batch', () => {
  it('go in no more requests than each message by itself, and are that with one in a batch', () => {
    fc.assert(
      fc.property(plans, (plan) => {
        const [alone, batched] = [operations({ ...plan, messagesPerBatch: 1 }), operations(plan)];
        expect(batched.sqsRequests).toBeLessThanOrEqual(alone.sqsRequests * (1 + 1e-9));
        expect(batched.awsCalls.dispatch).toBeLessThanOrEqual(alone.awsCalls.dispatch * (1 + 1e-9));
        expect(batched.awsCalls.deliver).toBeLessThanOrEqual(alone.awsCalls.deliver * (1 + 1e-9));
        expect(batched.waits.dispatch.awsCalls).toBeLessThanOrEqual(
          alone.waits.dispatch.awsCalls * (1 + 1e-9),
        );
      }),
      { numRuns: 300 },
    );
  });

  it('make dispatch wait for one call more than a single message does, unless each fills a request', () => {
    const waited = (plan: Plan): number => {
      const { waits, invocations } = operations(plan);
      return waits.dispatch.awsCalls / invocations.dispatch;
    };
    const more = (plan: Plan): number => waited({ ...plan, messagesPerBatch: 10 }) - waited(plan);
    expect(more(plain)).toBeCloseTo(1, 6);
    expect(more({ ...plain, fanOut: 20, firstAttemptsPerJob: 1 })).toBeCloseTo(0, 6);
  });
});

describe('wake-ups', () => {
  const policy = {
    ...DEFAULT_RETRY_POLICY,
    retries_with_no_delay: 0,
    minimum_delay_retries: 4,
    minimum_delay: 10,
    backoff_retries: 0,
    maximum_delay_retries: 0,
  };
  const failing: Plan = { ...plain, policy, failureRate: 1, failingSeconds: 1e6 };
  const perMessage = (plan: Plan, of: (operations: Operations) => number): number =>
    of(operations(plan)) / plan.messagesPerDay;

  it('of full batches share their requests', () => {
    const made = (messagesPerBatch: number): number =>
      perMessage({ ...failing, messagesPerBatch }, ({ sqsRequests }) => sqsRequests);
    // Six of a delivery that succeeds, three of each retry, and one to the undeliverable queue.
    expect(made(1)).toBeCloseTo(6 + 4 * 3 + 1, 6);
    // Of ten deliveries: 16, two to fetch and delete for each retry, two in each of the five invocations, and ten.
    expect(made(10)).toBeCloseTo((16 + 4 * 2 + 5 * 2 + 10) / 10, 6);
  });

  it('are as many calls fewer as they share requests', () => {
    const calls = (messagesPerBatch: number): number => {
      const plan = { ...failing, messagesPerBatch };
      // What the records of an invocation read together is no send.
      const { calls: read } = table.sharedReads.queue;
      const reads = (read + table.sharedReads.subscription.calls) / messagesPerBatch;
      return perMessage(plan, ({ awsCalls }) => awsCalls.deliver) - reads;
    };
    expect(calls(1) - calls(10)).toBeCloseTo(4 - 1, 6);
  });

  it('that are rare go by themselves', () => {
    const rare = (messagesPerBatch: number): number => {
      const one = { ...plain, policy, failingSeconds: 0, messagesPerBatch };
      const made = (failureRate: number): number =>
        perMessage({ ...one, failureRate }, ({ sqsRequests }) => sqsRequests);
      return (made(0.01) - made(0)) / 0.01;
    };
    expect(rare(1)).toBeCloseTo(3, 6);
    expect(rare(10)).toBeCloseTo(1.2, 6);
  });
});
