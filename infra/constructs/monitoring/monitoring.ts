import { Alarms } from './alarms.ts';
import { deliveryPanels } from './delivery-panels.ts';
import { machineryPanels } from './machinery-panels.ts';
import { linesOf } from './panel.ts';
import { SavedQueries } from './saved-queries.ts';
import { Duration } from 'aws-cdk-lib';
import {
  type AlarmBase,
  AlarmStatusWidget,
  Dashboard,
  type IWidget,
  TextWidget,
} from 'aws-cdk-lib/aws-cloudwatch';
import { Construct } from 'constructs';
import { type MonitoringProps, ownMetrics } from './metrics.ts';

/** What an operator looks at: the dashboard, the alarms, and questions to the logs. It only reads, and nothing depends on it. */
export class Monitoring extends Construct {
  constructor(scope: Construct, id: string, props: MonitoringProps) {
    super(scope, id);
    const { settings, pipeline } = props;
    const own = ownMetrics(settings.deployment);
    const alarms = new Alarms(this, 'Alarms', { ...props, own });
    new SavedQueries(this, 'Queries', { deployment: settings.deployment, pipeline });
    new Dashboard(this, 'Dashboard', {
      defaultInterval: Duration.hours(3),
      widgets: [
        ...firstLook(settings.deployment, alarms.telling),
        ...[...deliveryPanels(props, own), ...machineryPanels(props, own)].flatMap(linesOf),
      ],
    });
  }
}

function firstLook(deployment: string, alarms: readonly AlarmBase[]): IWidget[][] {
  return [
    [
      new TextWidget({
        width: 24,
        height: 2,
        markdown: `# ${deployment}\n**Good:** all alarms are green. Of one that is not, the description names its section of the runbook. Read the rows from the top: the first that is not good is where to begin.`,
      }),
    ],
    [new AlarmStatusWidget({ title: 'Alarms', alarms: [...alarms], width: 24, height: 6 })],
  ];
}
