import { Duration } from 'aws-cdk-lib';
import { MathExpression, Metric } from 'aws-cdk-lib/aws-cloudwatch';
import { metricNames } from '../../../shared/config/metrics.ts';
import type { NodeFunction } from '../functions/node-function.ts';
import { zeroWhileSubscribersHang } from './capacity.ts';
import type { PlannedAlarm, PlannedAlarms } from './planned-alarm.ts';
import { functionsOf, type Monitored, type PosthasteMetrics } from './metrics.ts';

const period = Duration.minutes(1);

/**
 * Ignores single crashes, timeouts and throttles: SQS redelivers the message, and reconcile runs again. A subscriber
 * cannot cause timeouts, because the timeout of deliver exceeds the attempt timeout by 15 s.
 */
const REPEATED = { when: { above: 0, in: 3, of: 5 } };

/** Lambda writes no data for a function that is not invoked, so missing data is fine. */
export function functionAlarms({ settings, pipeline }: Monitored, metricOf: PosthasteMetrics): PlannedAlarms {
  const mostWorkers = settings.deliverConcurrency + settings.retryConcurrency;
  const ofFunctions = Object.entries(functionsOf(pipeline)).flatMap(
    ([name, { lambda }]): [id: string, PlannedAlarm][] => [
      [
        `${name}Errors`,
        {
          section: 'FunctionErrors',
          summary: `Invocations of ${name.toLowerCase()} crash or time out.`,
          metric: lambda.metricErrors({ statistic: 'sum', period }),
          ...REPEATED,
        },
      ],
      [
        `${name}Throttles`,
        {
          section: 'FunctionThrottles',
          summary: `Lambda throttles ${name.toLowerCase()}: the account has too little concurrency.`,
          metric: lambda.metricThrottles({ statistic: 'sum', period }),
          ...REPEATED,
        },
      ],
    ],
  );
  return {
    ...Object.fromEntries(ofFunctions),
    Faults: {
      summary:
        'Functions fail to process messages because calls to AWS fail. Lambda counts no errors for these.',
      metric: metricOf(metricNames.faults, { period }),
      ...REPEATED,
    },
    RecursionDropped: {
      summary: 'Lambda mistook a message for a runaway loop and dropped it.',
      metric: droppedInvocations([pipeline.dispatch, pipeline.deliver, pipeline.operate]),
      when: { above: 0, in: 1, of: 1 },
    },
    DeliverConcurrency: {
      summary: 'Deliver uses nearly all the concurrency that the settings allow.',
      // Peaks are expected; 15 minutes mean growth.
      metric: zeroWhileSubscribersHang(running(pipeline.deliver), settings, metricOf),
      when: { above: Math.floor(0.9 * mostWorkers), in: 15, of: 15 },
    },
    AccountConcurrency: {
      summary: 'All functions of the account together use more than 80 % of its concurrent executions.',
      // Reserved concurrency counts as claimed ("Monitoring concurrency", Lambda developer guide). The settings limit
      // the functions of Posthaste, so other functions or a small quota are the cause.
      metric: new MathExpression({
        expression: '100 * claimed / SERVICE_QUOTA(running)',
        usingMetrics: {
          claimed: accountMetric('ClaimedAccountConcurrency'),
          // SERVICE_QUOTA supports only this metric.
          running: accountMetric('ConcurrentExecutions'),
        },
        period,
      }),
      when: { above: 80, in: 5, of: 5 },
    },
  };
}

/** Without dimensions: for all functions of the account in the region. */
function accountMetric(metricName: string): Metric {
  return new Metric({ namespace: 'AWS/Lambda', metricName, statistic: 'max' });
}

function running({ lambda }: NodeFunction): Metric {
  return lambda.metric('ConcurrentExecutions', { statistic: 'max' });
}

/** Invocations that Lambda's loop detection dropped. */
function droppedInvocations(functions: readonly NodeFunction[]): MathExpression {
  const dropped = functions.map(({ lambda }, at): [string, Metric] => [
    `dropped${at}`,
    lambda.metric('RecursiveInvocationsDropped', { statistic: 'sum' }),
  ]);
  return new MathExpression({
    expression: `SUM([${dropped.map(([id]) => id).join(', ')}])`,
    usingMetrics: Object.fromEntries(dropped),
    period: Duration.minutes(5),
  });
}
