import { Duration } from 'aws-cdk-lib';
import { MathExpression, Metric } from 'aws-cdk-lib/aws-cloudwatch';
import { metricNames } from '../../../shared/config/metrics.ts';
import type { NodeFunction } from '../functions/node-function.ts';
import { unlessHanging } from './capacity.ts';
import type { PlannedAlarm } from './planned-alarm.ts';
import { functionsOf, type MonitoringProps, type OwnMetrics } from './metrics.ts';

const period = Duration.minutes(1);

/**
 * One crash, timeout or throttle is healed by the message that comes back, and by reconcile's next minute; in three minutes
 * of five it is no accident. A subscriber cannot bring it about: whatever it does ends within the attempt timeout, which
 * leaves the function 15 s.
 */
const NO_ACCIDENT = { beyond: { above: 0 }, in: 3, of: 5 };

/** Lambda counts nothing for a function that is not called, so silence is fine. */
export function functionAlarms({ settings, pipeline }: MonitoringProps, own: OwnMetrics): PlannedAlarm[] {
  const mostWorkers = settings.deliverConcurrency + settings.retryConcurrency;
  return [
    ...Object.entries(functionsOf(pipeline)).flatMap(([name, { lambda }]): PlannedAlarm[] => [
      {
        id: `${name}Errors`,
        section: 'FunctionErrors',
        says: `Invocations of ${name.toLowerCase()} end in crashes or timeouts.`,
        watches: lambda.metricErrors({ statistic: 'sum', period }),
        ...NO_ACCIDENT,
      },
      {
        id: `${name}Throttles`,
        section: 'FunctionThrottles',
        says: `Lambda turns invocations of ${name.toLowerCase()} away: the account is short of concurrency.`,
        watches: lambda.metricThrottles({ statistic: 'sum', period }),
        ...NO_ACCIDENT,
      },
    ]),
    {
      id: 'Faults',
      says: 'Records fail because one of our own services fails: Lambda counts no error for these.',
      watches: own(metricNames.faults, { period }),
      ...NO_ACCIDENT,
    },
    {
      id: 'RecursionDropped',
      says: 'Lambda took the way of a message through our queues for a runaway loop and dropped it.',
      watches: droppedBy([pipeline.dispatch, pipeline.deliver, pipeline.operate]),
      beyond: { above: 0 },
      in: 1,
      of: 1,
    },
    {
      id: 'DeliverConcurrency',
      says: 'Deliver works at nearly all the concurrency that the settings give it.',
      // A peak is what the concurrency is for; a quarter of an hour of it is growth.
      watches: unlessHanging(running(pipeline.deliver), settings, own),
      beyond: { above: Math.floor(0.9 * mostWorkers) },
      in: 15,
      of: 15,
    },
    {
      id: 'AccountConcurrency',
      says: "The account's functions, others included, take more than 80 % of its concurrent executions.",
      // What functions have reserved is claimed as well, and cannot be had by others ("Monitoring concurrency", Lambda
      // developer guide). Ours take what the settings say at most, whatever subscribers do: it is raised by others, or by a quota too small for us.
      watches: new MathExpression({
        expression: '100 * claimed / SERVICE_QUOTA(running)',
        usingMetrics: {
          claimed: ofAccount('ClaimedAccountConcurrency'),
          // CloudWatch knows the quota by this one.
          running: ofAccount('ConcurrentExecutions'),
        },
        period,
      }),
      beyond: { above: 80 },
      in: 5,
      of: 5,
    },
  ];
}

/** Lambda gives it without dimensions, for all functions of the account in the region. */
function ofAccount(metricName: string): Metric {
  return new Metric({ namespace: 'AWS/Lambda', metricName, statistic: 'max' });
}

function running({ lambda }: NodeFunction): Metric {
  return lambda.metric('ConcurrentExecutions', { statistic: 'max' });
}

/** Those whose messages come from queues that functions of ours send to. */
function droppedBy(functions: readonly NodeFunction[]): MathExpression {
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
