import { Alarm, ComparisonOperator, type IMetric, TreatMissingData } from 'aws-cdk-lib/aws-cloudwatch';
import type { Construct } from 'constructs';
import type { DeploymentSettings } from '../../settings.ts';

type Threshold = { readonly above: number } | { readonly below: number };

export type PlannedAlarm = {
  /** The construct id, which must not change, and the alarm's name after the deployment's. */
  readonly id: string;
  /** The section in the runbook. @default the section named after `id` */
  readonly section?: string;
  /** One sentence for the person on call. */
  readonly summary: string;
  readonly metric: IMetric;
  /** The threshold, in the metric's unit. The alarm is raised if `in` of the last `of` periods exceed it. */
  readonly threshold: Threshold;
  readonly in: number;
  readonly of: number;
  /** How to treat a period without data. @default `fine`: nothing was counted, because nothing happened */
  readonly missingData?: 'fine' | 'alarming';
};

/** What an alarm says. `runbookUrl`: the setting. */
export function descriptionOf(
  { id, section = id, summary }: Pick<PlannedAlarm, 'id' | 'section' | 'summary'>,
  runbookUrl: string,
): string {
  return `${summary} Runbook: ${runbookUrl}#alarm-${section.replaceAll(/(?<=[a-z])(?=[A-Z])/g, '-').toLowerCase()}`;
}

export function createAlarm(
  scope: Construct,
  { deployment, runbookUrl }: Pick<DeploymentSettings, 'deployment' | 'runbookUrl'>,
  plan: PlannedAlarm,
): Alarm {
  return new Alarm(scope, plan.id, {
    alarmName: `${deployment}-${plan.id}`,
    alarmDescription: descriptionOf(plan, runbookUrl),
    metric: plan.metric,
    ...limitOf(plan.threshold),
    evaluationPeriods: plan.of,
    datapointsToAlarm: plan.in,
    treatMissingData:
      plan.missingData === 'alarming' ? TreatMissingData.BREACHING : TreatMissingData.NOT_BREACHING,
  });
}

function limitOf(limit: Threshold) {
  return 'above' in limit
    ? { threshold: limit.above, comparisonOperator: ComparisonOperator.GREATER_THAN_THRESHOLD }
    : { threshold: limit.below, comparisonOperator: ComparisonOperator.LESS_THAN_THRESHOLD };
}
