/**
 * Writes .local/dashboard.html: the dashboard as CloudWatch would lay it out, to look at without an account. Takes settings
 * as `key=value` in its arguments, the way `cdk -c` does.
 */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { App } from 'aws-cdk-lib';
import { CfnAlarm, CfnCompositeAlarm, CfnDashboard } from 'aws-cdk-lib/aws-cloudwatch';
import { z } from 'zod';
import { widgetsOf } from './dashboard-body.ts';
import { dashboardPage } from './dashboard-page.ts';
import { placeStacks } from './deployment.ts';
import { parseSettings, SettingsError } from './settings.ts';

const project = fileURLToPath(new URL('..', import.meta.url));
const page = join(project, '.local', 'dashboard.html');

function render(): void {
  const cdkJson = z.object({ context: z.record(z.string(), z.unknown()) });
  const { context } = cdkJson.parse(JSON.parse(readFileSync(join(project, 'cdk.json'), 'utf8')));
  const given = process.argv.slice(2).map((argument): [string, string] => {
    const [key = '', value = ''] = argument.split(/=(.*)/s);
    return [key, value];
  });
  const settings = parseSettings(Object.fromEntries(given));
  const app = new App({ context: { ...context, 'aws:cdk:bundling-stacks': [] } });
  const { monitoring } = placeStacks(app, settings);
  const [dashboard] = monitoring.node.findAll().filter((child) => child instanceof CfnDashboard);
  const alarmNames = new Map(
    monitoring.node
      .findAll()
      .filter((child) => child instanceof CfnAlarm || child instanceof CfnCompositeAlarm)
      .map((alarm) => [monitoring.getLogicalId(alarm), alarm.alarmName]),
  );
  const widgets = widgetsOf(
    monitoring.resolve(dashboard?.dashboardBody),
    (logicalId) => alarmNames.get(logicalId) ?? logicalId,
  );
  mkdirSync(dirname(page), { recursive: true });
  writeFileSync(page, dashboardPage(settings.deployment, widgets));
  process.stdout.write(
    `${page}: ${widgets.length} widgets. To see it, open ${pathToFileURL(page).href} in a browser.\n`,
  );
}

try {
  render();
} catch (error) {
  if (!(error instanceof SettingsError)) throw error;
  process.stderr.write(`${error.message}\n`);
  process.exitCode = 2;
}
