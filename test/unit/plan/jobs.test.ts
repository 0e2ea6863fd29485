import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { extraWaits, jobsOf, sendsOf } from '../../../cli/commands/plan/jobs.ts';
import { operationsOf, type Operations } from '../../../cli/commands/plan/operations.ts';
import { unitsOf, WRITE_UNIT } from '../../../cli/commands/plan/tables.ts';
import { knownFailingShare, withAnswers, workOfDay, type Plan } from '../../../cli/commands/plan/work.ts';
import { bucketOf, bucketsFor, chunkOf, chunksFor } from '../../../shared/domain/delivery/fan-out.ts';
import { DEFAULT_RETRY_POLICY } from '../../../shared/domain/retry/policy.ts';
import { plain, plans, table } from './plans.ts';

const operations = (plan: Plan): Operations => operationsOf(workOfDay(plan), table);

const jobs = (plan: Plan) => jobsOf(workOfDay(plan));

const perMessage = (plan: Plan, of: (operations: Operations) => number): number =>
  of(operations(plan)) / plan.messagesPerDay;

describe('the jobs of a message', () => {
  it.each([11, 25, 100, 600])('are as many as dispatch creates for %i subscriptions', (fanOut) => {
    const trials = 100;
    const buckets = bucketsFor(fanOut);
    const perBucket = chunksFor(fanOut, buckets, 10) ?? 0;
    const made = Array.from({ length: trials }, (_, trial) => {
      const ids = Array.from({ length: fanOut }, (__, index) => `s-${trial}-${index}`);
      return new Set(ids.map((id) => bucketOf(id, buckets) * perBucket + chunkOf(id, perBucket))).size;
    });
    const mean = made.reduce((total, count) => total + count, 0) / trials;
    expect(jobs({ ...plain, fanOut }).chunks).toBeCloseTo(mean, 0);
  });

  it('are single jobs for subscriptions that were failing when the message arrived', () => {
    const failing = { ...plain, fanOut: 10, failureRate: 0.1, failingSeconds: 3600 };
    const { singles, chunks } = jobs(failing);
    expect(chunks).toBe(1);
    expect(singles).toBeGreaterThan(0.99);
    expect(singles).toBeLessThan(1);
    // Too few messages: the subscription is not known to be failing when the next one arrives.
    expect(jobs({ ...failing, messagesPerDay: 1 }).singles).toBeLessThan(0.1);
    expect(knownFailingShare(plain, 5)).toBe(0);
  });
});

describe('a fan-out in chunks', () => {
  const written = ({ writeUnits }: Operations): number => writeUnits;

  it('takes two record writes for all members together, if they fit into a kilobyte', () => {
    // The message, its hourly index entry, the claim and the record.
    expect(perMessage({ ...plain, fanOut: 10 }, written)).toBeCloseTo(4, 6);
    expect(perMessage({ ...plain, fanOut: 10, firstAttemptsPerJob: 1 }, written)).toBeCloseTo(22, 6);
  });

  it('includes the members in the size of a record', () => {
    const { claimed, recorded } = table.chunkItemBytes;
    const units = (item: typeof claimed): number => unitsOf(item.shared + 25 * item.member, WRITE_UNIT);
    const plan = { ...plain, fanOut: 25, firstAttemptsPerJob: 25 };
    expect(units(claimed) + units(recorded)).toBeGreaterThan(2);
    expect(perMessage(plan, written)).toBeCloseTo(2 + units(claimed) + units(recorded), 6);
    expect(perMessage({ ...plan, recordsPerChunk: 3 }, written)).toBeCloseTo(
      2 + units(claimed) + 3 * units(recorded),
      6,
    );
  });

  it('keeps so little of each response that ten still fit into a kilobyte', () => {
    const work = workOfDay({ ...plain, fanOut: 10 });
    const units = operationsOf(work, withAnswers(table, 5_000)).writeUnits;
    expect(units / plain.messagesPerDay).toBeCloseTo(4, 6);
  });

  it('never costs more than single jobs if all deliveries succeed', () => {
    fc.assert(
      fc.property(plans, (given) => {
        const plan = { ...given, failureRate: 0, recordsPerChunk: 1 };
        const [together, apart] = [operations(plan), operations({ ...plan, firstAttemptsPerJob: 1 })];
        for (const name of ['writeUnits', 'readUnits', 'sqsRequests', 'storedBytes'] as const)
          expect(together[name], name).toBeLessThanOrEqual(apart[name] * (1 + 1e-9));
      }),
    );
  });

  it('waits for its subscribers in parallel', () => {
    const waits = (plan: Plan) => perMessage(plan, ({ waits: { deliver } }) => deliver.attempts);
    expect(waits({ ...plain, fanOut: 10 })).toBeCloseTo(1, 6);
    expect(waits({ ...plain, fanOut: 10, firstAttemptsPerJob: 1 })).toBeCloseTo(10, 6);
  });

  it('logs up to thirty first successes of a message per invocation on one line', () => {
    const bytes = (given: Partial<Plan>): number => {
      const { logBytes, invocations } = operations({ ...plain, ...given });
      const [ofDispatch, ofDeliver] = [
        table.perInvocation.dispatch.logBytes,
        table.perInvocation.deliver.logBytes,
      ];
      return (
        (logBytes - invocations.dispatch * ofDispatch - invocations.deliver * ofDeliver) /
        plain.messagesPerDay
      );
    };
    const line = table.steps.chunk.logBytes ?? 0;
    // Ten chunks of ten: ten lines, or four lines for a hundred successes.
    const chunks = { fanOut: 100 };
    const { chunks: made } = jobs({ ...plain, ...chunks });
    expect(bytes(chunks) - bytes({ ...chunks, messagesPerBatch: 10 })).toBeCloseTo((made - 4) * line, 0);
    const singles = { fanOut: 10, firstAttemptsPerJob: 1 };
    expect(bytes({ ...singles, messagesPerBatch: 10 })).toBeLessThan(bytes(singles) / 2);
  });
});

describe('the sends of an invocation', () => {
  const averages = fc.double({ min: 0, max: 100, noNaN: true });

  it.each([
    { records: 0, messages: 1, made: 0 },
    { records: 1, messages: 1, made: 1 },
    { records: 10, messages: 1, made: 2 },
    { records: 11, messages: 1, made: 2 },
    { records: 12, messages: 1, made: 3 },
    { records: 10, messages: 3, made: 4 },
    { records: 10, messages: 10, made: 10 },
    { records: 10, messages: 12, made: 20 },
    // On average of an invocation with one record and one with two, or of one with none and one with one.
    { records: 1.5, messages: 1, made: 1.5 },
    { records: 0.5, messages: 1, made: 0.5 },
  ])('of $records records with $messages messages each are $made requests', ({ records, messages, made }) => {
    expect(sendsOf({ records, messages }, 0)).toBeCloseTo(made, 10);
  });

  it('need at most one request per message, at least the number of full batches, and more for more records', () => {
    fc.assert(
      fc.property(averages, averages, fc.integer({ min: 1, max: 30 }), (records, more, messages) => {
        const made = sendsOf({ records, messages }, 0);
        expect(made).toBeLessThanOrEqual(records * Math.ceil(messages / 10) + 1e-9);
        expect(made).toBeGreaterThanOrEqual((records * messages) / 10 - 1e-9);
        expect(sendsOf({ records: records + more, messages }, 0)).toBeGreaterThanOrEqual(made - 1e-9);
      }),
    );
  });

  it('are counted in units of 64 KB: nine messages of 8 KB are two units', () => {
    expect(sendsOf({ records: 10, messages: 1 }, 8 * 1024)).toBe(1 + 2);
    expect(sendsOf({ records: 1, messages: 20 }, 8 * 1024)).toBe(4);
  });

  it('add at most one wait if they are joined', () => {
    const waits = (records: number): number => extraWaits({ records, messages: 1 });
    expect([0, 0.5, 1, 1.25, 2, 100].map(waits)).toEqual([0, 0, 0, 0.25, 1, 1]);
    expect(extraWaits({ records: 10, messages: 10 })).toBe(0);
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

  it('of full batches share requests', () => {
    const made = (messagesPerBatch: number): number =>
      perMessage(
        { ...plain, policy, failureRate: 1, failingSeconds: 1e6, messagesPerBatch },
        ({ sqsRequests }) => sqsRequests,
      );
    // Six requests of a successful delivery, three of each retry, and one to the undeliverable queue.
    expect(made(1)).toBeCloseTo(6 + 4 * 3 + 1, 6);
    // For ten deliveries: 16, two to receive and delete for each retry, two in each of the five invocations, and ten.
    expect(made(10)).toBeCloseTo((16 + 4 * 2 + 5 * 2 + 10) / 10, 6);
  });

  it('do not share requests if they are rare', () => {
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
