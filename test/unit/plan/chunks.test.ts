import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { linesOfMessage } from '../../../cli/commands/plan/model/success-lines.ts';
import { jobsOf, type Jobs } from '../../../cli/commands/plan/model/jobs.ts';
import { operationsOf, type Operations } from '../../../cli/commands/plan/model/operations.ts';
import type { Plan } from '../../../cli/commands/plan/model/plan.ts';
import { unitsOf, withAnswers, WRITE_UNIT } from '../../../cli/commands/plan/model/weight.ts';
import { apartWhileFailing, workOfDay } from '../../../cli/commands/plan/model/work.ts';
import { bucketOf, bucketsFor, chunkOf, chunksFor } from '../../../shared/domain/delivery/fan-out.ts';
import { plain, plans, table } from './plans.ts';

const jobs = (plan: Plan): Jobs => jobsOf(workOfDay(plan));

const operations = (plan: Plan): Operations => operationsOf(workOfDay(plan), table);

const perMessage = (plan: Plan, of: (operations: Operations) => number): number =>
  of(operations(plan)) / plan.messagesPerDay;

const counted = (path: string) => {
  const found = table.paths.find((one) => one.path === path);
  if (found === undefined) throw new Error(`${path} is not in the table`);
  return found;
};

describe('the jobs of a message', () => {
  it('hold every delivery once, in chunks where there are several', () => {
    fc.assert(
      fc.property(plans, (plan) => {
        const { chunks, members, singles, sizes } = jobs(plan);
        expect(members + singles).toBeCloseTo(plan.fanOut, 6);
        if (plan.fanOut === 1 || plan.firstAttemptsPerJob === 1) expect(chunks).toBe(0);
        if (chunks === 0) return;
        expect(sizes.reduce((total, { share }) => total + share, 0)).toBeCloseTo(1, 6);
        const mean = sizes.reduce((total, { members: size, share }) => total + size * share, 0);
        expect(Math.abs(mean * chunks - members)).toBeLessThan(0.02 * members + 0.6);
      }),
      { numRuns: 300 },
    );
  });

  it.each([11, 25, 100, 600])('are as many as dispatch makes of %i subscriptions', (fanOut) => {
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

  it('are single ones for subscriptions that were failing when the message came', () => {
    const failing = { ...plain, fanOut: 10, failureRate: 0.1, failingSeconds: 3600 };
    const { singles, chunks } = jobs(failing);
    expect(chunks).toBe(1);
    expect(singles).toBeGreaterThan(0.99);
    expect(singles).toBeLessThan(1);
    // Too few messages for a second one to find it failing.
    expect(jobs({ ...failing, messagesPerDay: 1 }).singles).toBeLessThan(0.1);
    expect(apartWhileFailing(plain, 0)).toBe(0);
    expect(apartWhileFailing(plain, 5)).toBe(0);
  });
});

describe('a fan-out in chunks', () => {
  it('takes two writes of a record for all members, as long as they fit into a kilobyte', () => {
    // The message and its entry by hour, the claim and the record.
    expect(perMessage({ ...plain, fanOut: 10 }, ({ writeUnits }) => writeUnits)).toBeCloseTo(4, 6);
    expect(perMessage({ ...plain, fanOut: 2 }, ({ writeUnits }) => writeUnits)).toBeCloseTo(4, 6);
    const one = { ...plain, fanOut: 10, firstAttemptsPerJob: 1 };
    expect(perMessage(one, ({ writeUnits }) => writeUnits)).toBeCloseTo(22, 6);
  });

  it('weighs a record with the members on it', () => {
    const { claimed, recorded } = table.chunkItemBytes;
    const bytes = (item: typeof claimed, members: number): number => item.shared + members * item.member;
    const plan = { ...plain, fanOut: 25, firstAttemptsPerJob: 25 };
    const units = unitsOf(bytes(claimed, 25), WRITE_UNIT) + unitsOf(bytes(recorded, 25), WRITE_UNIT);
    expect(units).toBeGreaterThan(2);
    expect(perMessage(plan, ({ writeUnits }) => writeUnits)).toBeCloseTo(2 + units, 6);
    const late = { ...plan, recordsPerChunk: 3 };
    expect(perMessage(late, ({ writeUnits }) => writeUnits)).toBeCloseTo(
      2 + units + 2 * unitsOf(bytes(recorded, 25), WRITE_UNIT),
      6,
    );
  });

  it('weighs no more where subscribers answer with text, of which a chunk keeps little', () => {
    const written = (answerBytes: number): number =>
      operationsOf(workOfDay({ ...plain, fanOut: 10 }), withAnswers(table, answerBytes)).writeUnits /
      plain.messagesPerDay;
    expect(written(10)).toBeCloseTo(4, 6);
    expect(written(256)).toBeCloseTo(4, 6);
    expect(written(5_000)).toBeCloseTo(4, 6);
  });

  it('is never dearer than each by itself where all succeed', () => {
    fc.assert(
      fc.property(plans, (given) => {
        const plan = { ...given, failureRate: 0, recordsPerChunk: 1 };
        const [together, apart] = [operations(plan), operations({ ...plan, firstAttemptsPerJob: 1 })];
        for (const name of ['writeUnits', 'readUnits', 'sqsRequests', 'storedBytes'] as const)
          expect(together[name], name).toBeLessThanOrEqual(apart[name] * (1 + 1e-9));
      }),
    );
  });

  it('waits once for all its subscribers', () => {
    const plan = { ...plain, fanOut: 10 };
    expect(perMessage(plan, ({ waits }) => waits.deliver.attempts)).toBeCloseTo(1, 6);
    expect(perMessage(plan, ({ attempts }) => attempts)).toBeCloseTo(10, 6);
    const one = { ...plan, firstAttemptsPerJob: 1 };
    expect(perMessage(one, ({ waits }) => waits.deliver.attempts)).toBeCloseTo(10, 6);
  });

  it('costs what was counted where it is a path that was measured, one failure inside it as well', () => {
    const { deliver, dispatch, messages, fanOut } = counted('delivered_ten');
    const full = { ...plain, fanOut, messagesPerBatch: 1 };
    expect(perMessage(full, ({ attempts }) => attempts)).toBeCloseTo(deliver.attempts / messages, 6);
    expect(perMessage(full, ({ writeUnits }) => writeUnits)).toBeCloseTo(
      // Each of both by one write unit; what was counted may hold records that came one by one.
      (dispatch.messageWrites + dispatch.indexWriteUnits) / messages + 2,
      6,
    );
    const failing = counted('retried_at_once_in_ten');
    expect(failing.deliver.deliveryWrites / failing.messages).toBeCloseTo(2, 6);
  });
});

describe('the log of first successes', () => {
  const ofTen: Jobs = { chunks: 1, members: 10, singles: 0, sizes: [] };

  it('has a line for the members of a chunk, and for those of several in one invocation', () => {
    expect(linesOfMessage(ofTen, 1)).toEqual({ shared: 1, alone: 0 });
    expect(linesOfMessage(ofTen, 10)).toEqual({ shared: 1, alone: 0 });
    const ofHundred = { ...ofTen, chunks: 10, members: 100 };
    expect(linesOfMessage(ofHundred, 1)).toEqual({ shared: 10, alone: 0 });
    expect(linesOfMessage(ofHundred, 2)).toEqual({ shared: 5, alone: 0 });
    // Thirty on a line.
    expect(linesOfMessage(ofHundred, 10)).toEqual({ shared: 4, alone: 0 });
  });

  it('is shared by jobs of one delivery, too, as far as one invocation has several', () => {
    const beside = { ...ofTen, members: 8, singles: 2 };
    expect(linesOfMessage(beside, 1)).toEqual({ shared: 1, alone: 2 });
    expect(linesOfMessage(beside, 3)).toEqual({ shared: 1, alone: 0 });
    const singles = { chunks: 0, members: 0, singles: 10, sizes: [] };
    expect(linesOfMessage(singles, 1)).toEqual({ shared: 0, alone: 10 });
    expect(linesOfMessage(singles, 10)).toEqual({ shared: 1, alone: 0 });
    const bytes = (messagesPerBatch: number): number => {
      const plan = { ...plain, fanOut: 10, firstAttemptsPerJob: 1, messagesPerBatch };
      const { logBytes, invocations } = operations(plan);
      return logBytes - invocations.deliver * table.perInvocation.deliver.logBytes;
    };
    expect(bytes(10)).toBeLessThan(bytes(1) / 2);
  });
});
