import { Duration } from 'aws-cdk-lib';
import { type IMetric, MathExpression } from 'aws-cdk-lib/aws-cloudwatch';
import { metricNames } from '../../../shared/config/metrics.ts';
import type { DeploymentSettings } from '../../settings.ts';
import type { WorkQueue } from '../queues/sqs-queue.ts';
import type { OwnMetrics } from './metrics.ts';

/** Messages that one invocation takes. */
const BATCH = 10;

/** A subscriber that nobody answers for costs the connect timeout, or the attempt timeout if that is less (shared/adapters/http/subscriber.ts). */
const CONNECT_TIMEOUT_SECONDS = 5;

/** A queue of deliver, and how many invocations may take from it at once. */
export type Lane = { readonly queue: WorkQueue; readonly concurrency: number };

/**
 * The value, or 0 while the workers of a queue are taken and get through their messages. Then what waits, waits for workers,
 * and a single subscriber that hangs may be the reason: whether there are enough workers is an alarm of its own. While
 * nothing is dealt with, or workers are idle, the value counts.
 *
 * Taken: in flight is half of what the workers can hold, all of them with full batches. Half, since few batches are full.
 */
export function unlessTaken(
  value: IMetric,
  { queue, concurrency }: Lane,
  period = Duration.minutes(1),
): MathExpression {
  return new MathExpression({
    expression: `IF(FILL(taken, 0) >= ${(concurrency * BATCH) / 2} AND FILL(dealtWith, 0) > 0, 0, value)`,
    usingMetrics: { value, taken: queue.metricInFlight(), dealtWith: queue.metricDeleted() },
    period,
  });
}

/**
 * Concurrent invocations, or 0 while most of the attempts' time goes to attempts that take nearly as long as a timeout: that
 * many a single subscriber that hangs can hold, and no more workers would be enough for it.
 *
 * `SUM` takes an absent series for 0, which `+` does not: SUM([slow, all]) > 1.5 × all says slow > all ÷ 2 as well where
 * nothing was slow.
 */
export function unlessHanging(
  running: IMetric,
  { attemptTimeoutSeconds }: DeploymentSettings,
  own: OwnMetrics,
): MathExpression {
  const slowMs = 900 * Math.min(CONNECT_TIMEOUT_SECONDS, attemptTimeoutSeconds);
  return new MathExpression({
    expression: 'IF(SUM([slow, all]) > 1.5 * all, 0, running)',
    usingMetrics: {
      running,
      all: own(metricNames.attemptDuration),
      slow: own(metricNames.attemptDuration, { statistic: `TS(${slowMs}:)` }),
    },
    period: Duration.minutes(1),
  });
}
