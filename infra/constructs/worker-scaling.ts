import { Duration } from 'aws-cdk-lib';
import { MathExpression } from 'aws-cdk-lib/aws-cloudwatch';
import type { FargateService } from 'aws-cdk-lib/aws-ecs';
import type { WorkerStep } from '../../shared/config/rules.ts';
import type { Pipeline } from './pipeline.ts';

/** Workers of the service poll at least so often when idle, so that the age of a message speaks of load, not of pauses. */
export const LONGEST_PAUSE_SECONDS = 5;

export interface WorkerScaling {
  readonly pipeline: Pipeline;
  readonly steps: readonly WorkerStep[];
  readonly minCount: number;
  readonly maxCount: number;
}

/** One more task from 30 s of lateness on, two more from 2 minutes on, one less below the longest pause. */
export function scaleOnLateness(
  service: FargateService,
  { pipeline, steps, minCount, maxCount }: WorkerScaling,
): void {
  const scaling = service.autoScaleTaskCount({ minCapacity: minCount, maxCapacity: maxCount });
  const metric = latenessOf(pipeline, steps);
  if (metric === undefined) return;
  scaling.scaleOnMetric('Lateness', {
    metric,
    scalingSteps: [
      { upper: LONGEST_PAUSE_SECONDS, change: -1 },
      { lower: 30, change: 1 },
      { lower: 120, change: 2 },
    ],
    evaluationPeriods: 2,
    cooldown: Duration.minutes(2),
  });
}

/**
 * Seconds by which the oldest waiting message of these steps is late. Undefined for steps that do not speak of load.
 * A queue where nothing waits is on time: its oldest message is in work, or was delayed until now. Retries are planned
 * to wait in their queue for up to `schedulerThreshold`.
 */
function latenessOf({ queues, state }: Pipeline, steps: readonly WorkerStep[]): MathExpression | undefined {
  const late = [
    ...(steps.includes('dispatch') ? [{ name: 'Ingress', queue: queues.ingress, planned: 0 }] : []),
    ...(steps.includes('deliver')
      ? [
          { name: 'Delivery', queue: queues.delivery, planned: 0 },
          { name: 'Retry', queue: queues.retry, planned: state.settings.schedulerThreshold },
        ]
      : []),
  ].map(({ name, queue, planned }) => ({
    // SQS writes no data for a queue that is unused for six hours.
    expression: `IF(FILL(waiting${name}, 0) > 0, FILL(age${name}, 0) - ${planned}, 0)`,
    metrics: {
      [`waiting${name}`]: queue.metricWaiting(),
      [`age${name}`]: queue.metricAgeOfOldest(),
    },
  }));
  if (late.length === 0) return undefined;
  return new MathExpression({
    label: 'Oldest waiting message, seconds late',
    expression: `MAX([${late.map(({ expression }) => expression).join(', ')}])`,
    usingMetrics: Object.fromEntries(late.flatMap(({ metrics }) => Object.entries(metrics))),
    period: Duration.minutes(1),
  });
}
