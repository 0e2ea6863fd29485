import { Duration } from 'aws-cdk-lib';
import { type IMetric, MathExpression } from 'aws-cdk-lib/aws-cloudwatch';
import { metricNames } from '../../../shared/config/metrics.ts';
import type { DeploymentSettings } from '../../settings.ts';
import { DEFAULT_BATCH_SIZE } from '../functions/node-function.ts';
import type { WorkQueue } from '../queues/sqs-queue.ts';
import type { Monitored, PosthasteMetrics } from './metrics.ts';

/**
 * An attempt to an unreachable subscriber takes this long, or the attempt timeout if that is less
 * (shared/adapters/http/subscriber.ts).
 */
const CONNECT_TIMEOUT_SECONDS = 5;

/** A queue of deliver, the most concurrent invocations for it, and the most messages in one of them. */
export type QueueWorkers = {
  readonly queue: WorkQueue;
  readonly concurrency: number;
  readonly batch: number;
};

export function firstAttemptWorkers({ settings, pipeline }: Monitored): QueueWorkers {
  const { deliverConcurrency, messagesPerBatch } = settings;
  return { queue: pipeline.queues.delivery, concurrency: deliverConcurrency, batch: messagesPerBatch };
}

export function retryWorkers({ settings, pipeline }: Monitored): QueueWorkers {
  return {
    queue: pipeline.queues.retry,
    concurrency: settings.retryConcurrency,
    batch: DEFAULT_BATCH_SIZE,
  };
}

/**
 * The value, or 0 while the workers of a queue are busy and make progress. Then messages wait for workers, possibly
 * because a single subscriber hangs; `DeliverConcurrency` watches whether there are enough workers.
 *
 * Busy means that at least half as many messages are in flight as all workers can hold. Not more, because few batches
 * are full.
 */
export function zeroWhileBusy(
  value: IMetric,
  { queue, concurrency, batch }: QueueWorkers,
  period = Duration.minutes(1),
): MathExpression {
  return new MathExpression({
    expression: `IF(FILL(taken, 0) >= ${(concurrency * batch) / 2} AND FILL(dealtWith, 0) > 0, 0, value)`,
    usingMetrics: { value, taken: queue.metricInFlight(), dealtWith: queue.metricDeleted() },
    period,
  });
}

/**
 * Concurrent invocations, or 0 while most attempt time is spent on attempts that take nearly as long as a timeout. A
 * single subscriber that hangs can cause this, and more workers would not help.
 *
 * SUM([slow, all]) > 1.5 × all means slow > all ÷ 2. Unlike `+`, SUM treats an absent series as 0.
 */
export function zeroWhileSubscribersHang(
  running: IMetric,
  { attemptTimeoutSeconds }: DeploymentSettings,
  metricOf: PosthasteMetrics,
): MathExpression {
  const slowMs = 900 * Math.min(CONNECT_TIMEOUT_SECONDS, attemptTimeoutSeconds);
  return new MathExpression({
    expression: 'IF(SUM([slow, all]) > 1.5 * all, 0, running)',
    usingMetrics: {
      running,
      all: metricOf(metricNames.attemptDuration),
      slow: metricOf(metricNames.attemptDuration, { statistic: `TS(${slowMs}:)` }),
    },
    period: Duration.minutes(1),
  });
}
