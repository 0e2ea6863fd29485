import {
  completeRetryPolicy,
  DEFAULT_RETRY_POLICY,
  type PartialRetryPolicy,
} from '../../../shared/domain/retry/policy.ts';
import { billOf, type Bill } from './model/cost.ts';
import { outageOf, outageOperations, type OutageEffect } from './model/outage.ts';
import type { OperationTable } from './model/operation-table.ts';
import { operationsOf, type Operations } from './model/operations.ts';
import { peaksOf, type Peak } from './model/peaks.ts';
import { peersOf, type PeerCost } from './model/peers.ts';
import { DAYS_A_MONTH, type Plan } from './model/plan.ts';
import type { RegionPrices } from './model/prices.ts';
import { withAnswers } from './model/weight.ts';
import { workOfDay } from './model/work.ts';
import type { PlanOptions } from './options.ts';

/** Amazon SQS: messages in a batch. */
const FULL_BATCH = 10;

export type Planned = {
  plan: Plan;
  /** A day. */
  operations: Operations;
  bill: Bill;
  /** The same with full batches: between the two lies what it will be. */
  fullBatches: Bill;
  peers: readonly PeerCost[];
  peaks: readonly Peak[];
  outage?: Omit<OutageEffect, 'work'> & { extraUsd: number; hours: number; share: number };
};

export function planOf(options: PlanOptions, policy: PartialRetryPolicy): Plan {
  return {
    messagesPerDay: options.messagesPerDay,
    fanOut: options.fanOut,
    failureRate: options.failureRate,
    failingSeconds: options.failingFor,
    policy: completeRetryPolicy(policy, DEFAULT_RETRY_POLICY).policy,
    thresholdSeconds: options.schedulerThreshold,
    payloadBytes: options.payloadBytes,
    firstAttemptsPerJob: options.firstAttemptsPerJob,
    recordsPerChunk: options.recordsPerChunk,
    messagesPerBatch: options.messagesPerBatch,
    attemptMs: options.attemptMs,
    failedAttemptMs: options.failedAttemptMs ?? options.attemptMs,
    answerBytes: options.answerBytes,
    peakFactor: options.peakFactor,
    retentionDays: options.retentionDays,
  };
}

export function planned(
  plan: Plan,
  {
    table: counted,
    prices,
    outage,
  }: { table: OperationTable; prices: RegionPrices; outage?: { hours: number; share: number } },
): Planned {
  const table = withAnswers(counted, plan.answerBytes);
  const operations = operationsOf(workOfDay(plan), table);
  return {
    plan,
    operations,
    bill: billOf(plan, { operations, table }, prices),
    fullBatches: billWithFullBatches(plan, table, prices),
    peers: peersOf(plan, prices),
    peaks: peaksOf(plan, operations, table),
    ...(outage === undefined ? {} : { outage: { ...outage, ...effectOf(plan, outage, { table, prices }) } }),
  };
}

function billWithFullBatches(plan: Plan, table: OperationTable, prices: RegionPrices): Bill {
  const full = { ...plan, messagesPerBatch: FULL_BATCH };
  return billOf(full, { operations: operationsOf(workOfDay(full), table), table }, prices);
}

function effectOf(
  plan: Plan,
  outage: { hours: number; share: number },
  { table, prices }: { table: OperationTable; prices: RegionPrices },
) {
  const { work, ...effect } = outageOf(plan, outage);
  const counted = outageOperations({ work, ...effect }, table);
  // A bill is a month's: what is to be paid once is a month's part of it.
  const usd = (operations: Operations): number =>
    billOf(plan, { operations, table }, prices).usd / DAYS_A_MONTH;
  return { ...effect, extraUsd: usd(counted.outage) - usd(counted.usual) };
}
