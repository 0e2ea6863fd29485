import * as fc from 'fast-check';
import { operationTable } from '../../../cli/commands/plan/tables.ts';
import type { Plan } from '../../../cli/commands/plan/work.ts';
import { DEFAULT_RETRY_POLICY } from '../../../shared/domain/retry/policy.ts';

export const table = operationTable();

/** A million small messages per day, each for one subscriber that succeeds, without queue statistics. */
export const plain: Plan = {
  messagesPerDay: 1_000_000,
  fanOut: 1,
  failureRate: 0,
  failingSeconds: 60,
  policy: DEFAULT_RETRY_POLICY,
  thresholdSeconds: 90,
  payloadBytes: 1024,
  firstAttemptsPerJob: 10,
  recordsPerChunk: 1,
  statisticsPerInvocation: 0,
  messagesPerBatch: 1,
  batchWindowSeconds: 0,
  attemptMs: 100,
  failedAttemptMs: 100,
  answerBytes: 0,
  peakFactor: 4,
  retentionDays: 30,
};

/** Policies with delays on both sides of most thresholds. */
const policies = fc
  .record({
    retries_with_no_delay: fc.integer({ min: 0, max: 4 }),
    minimum_delay_retries: fc.integer({ min: 0, max: 4 }),
    backoff_retries: fc.integer({ min: 0, max: 8 }),
    maximum_delay_retries: fc.integer({ min: 0, max: 4 }),
    minimum_delay: fc.integer({ min: 1, max: 100 }),
    maximum_delay: fc.integer({ min: 100, max: 3_600 }),
  })
  .map((policy) => ({ ...DEFAULT_RETRY_POLICY, ...policy }));

export const plans: fc.Arbitrary<Plan> = fc.record({
  messagesPerDay: fc.integer({ min: 1, max: 1_000_000_000 }),
  fanOut: fc.integer({ min: 1, max: 1_000 }),
  failureRate: fc.integer({ min: 0, max: 1_000 }).map((thousandths) => thousandths / 1_000),
  failingSeconds: fc.integer({ min: 0, max: 100_000 }),
  policy: policies,
  thresholdSeconds: fc.integer({ min: 0, max: 900 }),
  payloadBytes: fc.integer({ min: 1, max: 1024 * 1024 }),
  firstAttemptsPerJob: fc.integer({ min: 1, max: 25 }),
  recordsPerChunk: fc.integer({ min: 1, max: 10 }),
  statisticsPerInvocation: fc.double({ min: 0, max: 1, noNaN: true }),
  messagesPerBatch: fc.integer({ min: 1, max: 10 }),
  batchWindowSeconds: fc.integer({ min: 0, max: 60 }),
  attemptMs: fc.integer({ min: 1, max: 30_000 }),
  failedAttemptMs: fc.integer({ min: 1, max: 30_000 }),
  answerBytes: fc.integer({ min: 0, max: 1024 }),
  peakFactor: fc.integer({ min: 1, max: 100 }),
  retentionDays: fc.integer({ min: 15, max: 365 }),
});
