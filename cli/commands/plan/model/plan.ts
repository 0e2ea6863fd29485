import type { RetryPolicy } from '../../../../shared/domain/retry/policy.ts';

/** What is to be planned for. */
export type Plan = {
  messagesPerDay: number;
  /** Subscriptions that a message goes to. */
  fanOut: number;
  /** Of the deliveries, those whose first attempt fails: 0 to 1. */
  failureRate: number;
  /** How long their subscribers go on failing. */
  failingSeconds: number;
  policy: RetryPolicy;
  /** The setting `schedulerThreshold`. */
  thresholdSeconds: number;
  payloadBytes: number;
  /** The setting `firstAttemptsPerJob`. */
  firstAttemptsPerJob: number;
  /** Writes by which the successes of a chunk are recorded: 1 where all answer about as fast as each other. */
  recordsPerChunk: number;
  /** Messages in one invocation: 1 where traffic trickles, up to 10 where queues fill. */
  messagesPerBatch: number;
  /** How long a subscriber takes to answer, in milliseconds; and one that fails. */
  attemptMs: number;
  failedAttemptMs: number;
  /** What it answers with; some of it is kept on record. */
  answerBytes: number;
  /** How far the busiest second is above the average one. */
  peakFactor: number;
  /** The setting `retentionDays`. */
  retentionDays: number;
};

/** AWS bills by the month: 365 / 12 days. */
export const DAYS_A_MONTH = 365 / 12;

export const SECONDS_A_DAY = 86_400;
