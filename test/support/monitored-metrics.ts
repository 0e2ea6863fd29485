import { CloudFormationClient, GetTemplateCommand } from '@aws-sdk/client-cloudformation';
import * as z from 'zod';
import { metricNamespace } from '../../shared/config/metrics.ts';
import { deployment } from './deployment.ts';
import { alarmsIn, graphedIn } from './monitored.ts';

const template = z.looseObject({
  Resources: z.record(
    z.string(),
    z.looseObject({ Type: z.string(), Properties: z.record(z.string(), z.unknown()).default({}) }),
  ),
});

/** The resources of the deployed template with the alarms, the dashboard and the saved queries. */
export const monitoringResources = async () => {
  const { TemplateBody = '' } = await new CloudFormationClient(deployment.client).send(
    new GetTemplateCommand({ StackName: 'PosthasteMonitoring' }),
  );
  return template.parse(JSON.parse(TemplateBody)).Resources;
};

/**
 * The project's metrics that the deployed alarms and graphs use, each once, as `name by dimensions`. Read from
 * the deployed template, because the emulator keeps only one metric of an alarm.
 */
export const monitoredMetrics = async (): Promise<string[]> => {
  const resources = await monitoringResources();
  const watched = [...alarmsIn(resources).flatMap(({ metrics }) => metrics), ...graphedIn(resources)];
  const projectMetrics = watched.filter(({ namespace }) => namespace === metricNamespace);
  return [
    ...new Set(
      projectMetrics.map(({ metricName, dimensionNames }) => `${metricName} by ${dimensionNames.join()}`),
    ),
  ];
};
