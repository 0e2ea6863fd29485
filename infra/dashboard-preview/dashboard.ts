/** `npm run dashboard`: draws the CloudWatch dashboard with sample data, without an AWS account. */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { App, type Stack } from 'aws-cdk-lib';
import { Template } from 'aws-cdk-lib/assertions';
import { z } from 'zod';
import { createStacks } from '../deployment.ts';
import { type Widget, widgetsOf } from './dashboard-body.ts';
import { dashboardPage } from './dashboard-page.ts';

const project = new URL('../../', import.meta.url);
const file = new URL('.local/dashboard.html', project);

const cdkJson = z.object({ context: z.record(z.string(), z.unknown()) });

const dashboards = z
  .record(z.string(), z.object({ Properties: z.object({ DashboardBody: z.unknown() }) }))
  .transform((found) => Object.values(found)[0]?.Properties.DashboardBody);

/** The widgets of the deployment's dashboard, with the alarms' names in place of references. */
export function dashboardWidgets(): readonly Widget[] {
  const { context } = cdkJson.parse(JSON.parse(readFileSync(new URL('cdk.json', project), 'utf8')));
  // The functions need not be bundled for a template.
  const app = new App({ context: { ...context, 'aws:cdk:bundling-stacks': [] } });
  const { monitoring } = createStacks(app, {});
  const template = Template.fromStack(monitoring);
  const body = dashboards.parse(template.findResources('AWS::CloudWatch::Dashboard'));
  return widgetsOf(body, (logicalId) => alarmNameOf(monitoring, logicalId));
}

/** `MonitoringAlarmsIngressAge1A2B3C4D` → `IngressAge` */
function alarmNameOf(stack: Stack, logicalId: string): string {
  return /^MonitoringAlarms(.+)[0-9A-F]{8}$/.exec(logicalId)?.[1] ?? `${stack.stackName}/${logicalId}`;
}

if (import.meta.main) {
  mkdirSync(new URL('.', file), { recursive: true });
  writeFileSync(file, dashboardPage(dashboardWidgets()));
  process.stdout.write(`The dashboard with sample data: ${file.href}\n`);
}
