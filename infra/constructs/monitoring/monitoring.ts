import { Alarms } from './alarms.ts';
import { figures } from './metrics.ts';
import { posthasteMetrics } from './posthaste-metrics.ts';
import { panels } from './panels.ts';
import { figureLine, widgetLines } from './panel.ts';
import { SavedQueries } from './saved-queries.ts';
import { Duration } from 'aws-cdk-lib';
import { AlarmStatusWidget, Dashboard, TextWidget } from 'aws-cdk-lib/aws-cloudwatch';
import { Construct } from 'constructs';
import type { Pipeline } from '../pipeline.ts';

export interface MonitoringProps {
  readonly pipeline: Pipeline;
}

/** The dashboard, the alarms and the saved log queries. Nothing depends on it. */
export class Monitoring extends Construct {
  constructor(scope: Construct, id: string, { pipeline }: MonitoringProps) {
    super(scope, id);
    const { deployment } = pipeline.state.settings;
    const metricOf = posthasteMetrics(deployment);
    const alarms = new Alarms(this, 'Alarms', pipeline, metricOf);
    new SavedQueries(this, 'Queries', pipeline);
    new Dashboard(this, 'Dashboard', {
      defaultInterval: Duration.hours(3),
      widgets: [
        [
          new TextWidget({
            width: 24,
            height: 2,
            markdown: `# ${deployment}\n**Good:** all alarms are green. The description of an alarm names its section in the runbook. Read the rows from the top and start with the first that is not good.`,
          }),
        ],
        figureLine(figures(pipeline, metricOf)),
        [new AlarmStatusWidget({ title: 'Alarms', alarms: [...alarms.notifying], width: 24, height: 6 })],
        ...widgetLines(panels(pipeline, metricOf)),
      ],
    });
  }
}
