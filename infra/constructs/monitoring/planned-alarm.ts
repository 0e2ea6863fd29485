import { Alarm, ComparisonOperator, type IMetric, TreatMissingData } from 'aws-cdk-lib/aws-cloudwatch';
import type { Construct } from 'constructs';
import type { DeploymentSettings } from '../../settings.ts';

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

/** By the construct id, which must not change. It is also the alarm's name, after the deployment's. */
export type PlannedAlarms = Readonly<Record<string, PlannedAlarm>>;

/** What an alarm says. `runbookUrl`: the setting. */
export function descriptionOf(summary: string, section: string, runbookUrl: string): string {
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
    alarmDescription: descriptionOf(summary, section, runbookUrl),
    metric,
    ...limitOf(when),
    evaluationPeriods: when.of,
    datapointsToAlarm: when.in,
    treatMissingData:
      missingData === 'alarming' ? TreatMissingData.BREACHING : TreatMissingData.NOT_BREACHING,
  });
}

function limitOf(limit: Threshold) {
  return 'above' in limit
    ? { threshold: limit.above, comparisonOperator: ComparisonOperator.GREATER_THAN_THRESHOLD }
    : { threshold: limit.below, comparisonOperator: ComparisonOperator.LESS_THAN_THRESHOLD };
}
