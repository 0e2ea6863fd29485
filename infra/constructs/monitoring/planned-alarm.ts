import { Alarm, ComparisonOperator, type IMetric, TreatMissingData } from 'aws-cdk-lib/aws-cloudwatch';
import type { Construct } from 'constructs';

/** Where the runbook is, in the sources that were deployed. */
const RUNBOOK = 'docs/operations.md';

type Beyond = { readonly above: number } | { readonly below: number };

/** What an alarm watches, and when it is raised. */
export type PlannedAlarm = {
  /** Its construct id, which is final, and its name after the deployment's. */
  readonly id: string;
  /** Its section in the runbook. @default one of its own, by its id */
  readonly section?: string;
  /** One sentence for whoever is woken by it. */
  readonly says: string;
  readonly watches: IMetric;
  /** Raised by values beyond this, in the metric's unit … */
  readonly beyond: Beyond;
  /** … in so many periods … */
  readonly in: number;
  /** … of so many. */
  readonly of: number;
  /** What a period without data means. @default `fine`: nothing was counted, because nothing happened */
  readonly silence?: 'fine' | 'alarming';
};

export function descriptionOf({
  id,
  section = id,
  says,
}: Pick<PlannedAlarm, 'id' | 'section' | 'says'>): string {
  return `${says} Runbook: ${RUNBOOK}#alarm-${section.replaceAll(/(?<=[a-z])(?=[A-Z])/g, '-').toLowerCase()}`;
}

export function alarmAs(scope: Construct, deployment: string, plan: PlannedAlarm): Alarm {
  return new Alarm(scope, plan.id, {
    alarmName: `${deployment}-${plan.id}`,
    alarmDescription: descriptionOf(plan),
    metric: plan.watches,
    ...limitOf(plan.beyond),
    evaluationPeriods: plan.of,
    datapointsToAlarm: plan.in,
    treatMissingData:
      plan.silence === 'alarming' ? TreatMissingData.BREACHING : TreatMissingData.NOT_BREACHING,
  });
}

function limitOf(beyond: Beyond) {
  return 'above' in beyond
    ? { threshold: beyond.above, comparisonOperator: ComparisonOperator.GREATER_THAN_THRESHOLD }
    : { threshold: beyond.below, comparisonOperator: ComparisonOperator.LESS_THAN_THRESHOLD };
}
