import { Duration } from 'aws-cdk-lib';
import { Alarm, ComparisonOperator, type IMetric, TreatMissingData } from 'aws-cdk-lib/aws-cloudwatch';
import type { IFunction } from 'aws-cdk-lib/aws-lambda';
import type { Construct } from 'constructs';
import { metricNames } from '../../../shared/config/metrics.ts';
import type { DeploymentSettings } from '../../settings.ts';
import type { PosthasteMetrics } from './posthaste-metrics.ts';

type Threshold = { readonly above: number } | { readonly below: number };

export type PlannedAlarm = {
  /** The section in the runbook. @default the section named after the id */
  readonly section?: string;
  /** One sentence for the person on call. */
  readonly summary: string;
  readonly metric: IMetric;
  /** The threshold, in the metric's unit. The alarm is raised if `in` of the last `of` periods exceed it. */
  readonly when: Threshold & { readonly in: number; readonly of: number };
  /** How to treat a period without data. @default `fine`: nothing was counted, because nothing happened */
  readonly missingData?: 'fine' | 'alarming';
};

/** What an alarm says. `runbookUrl`: the setting. */
export function formatDescription(summary: string, section: string, runbookUrl: string): string {
  return `${summary} Runbook: ${runbookUrl}#alarm-${section.replaceAll(/(?<=[a-z])(?=[A-Z])/g, '-').toLowerCase()}`;
}

export function createAlarm(
  scope: Construct,
  id: string,
  { deployment, runbookUrl }: Pick<DeploymentSettings, 'deployment' | 'runbookUrl'>,
  { section = id, summary, metric, when, missingData }: PlannedAlarm,
): Alarm {
  return new Alarm(scope, id, {
    alarmName: `${deployment}-${id}`,
    alarmDescription: formatDescription(summary, section, runbookUrl),
    metric,
    ...toThreshold(when),
    evaluationPeriods: when.of,
    datapointsToAlarm: when.in,
    treatMissingData:
      missingData === 'alarming' ? TreatMissingData.BREACHING : TreatMissingData.NOT_BREACHING,
  });
}

function toThreshold(limit: Threshold) {
  return 'above' in limit
    ? { threshold: limit.above, comparisonOperator: ComparisonOperator.GREATER_THAN_THRESHOLD }
    : { threshold: limit.below, comparisonOperator: ComparisonOperator.LESS_THAN_THRESHOLD };
}

export const period = Duration.minutes(1);

/**
 * Ignores single crashes, timeouts and throttles: SQS redelivers the message, and reconcile runs again. A subscriber
 * cannot cause timeouts, because the timeout of deliver exceeds the attempt timeout by 15 s.
 */
export const REPEATED = { when: { above: 0, in: 3, of: 5 } };

/** `invoked`: a function, or its alias, which an upgrade moves. */
export function errorsAlarm(name: string, invoked: IFunction): PlannedAlarm {
  return {
    section: 'FunctionErrors',
    summary: `Invocations of ${name.toLowerCase()} crash or time out.`,
    metric: invoked.metricErrors({ statistic: 'sum', period }),
    ...REPEATED,
  };
}

export function faultsAlarm(metricOf: PosthasteMetrics): PlannedAlarm {
  return {
    section: 'Faults',
    summary:
      'Functions fail to process messages because calls to AWS fail. Lambda counts no errors for these.',
    metric: metricOf(metricNames.faults, { period }),
    ...REPEATED,
  };
}
