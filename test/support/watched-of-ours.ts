import { CloudFormationClient, GetTemplateCommand } from '@aws-sdk/client-cloudformation';
import * as z from 'zod';
import { metricNamespace } from '../../shared/config/metrics.ts';
import { deployment } from './deployment.ts';
import { alarmsIn, graphedIn } from './monitored.ts';

const template = z.looseObject({ Resources: z.record(z.string(), z.unknown()) });

/**
 * Metrics of ours that the deployed alarms and graphs watch, each once, as `name by dimensions`: by the template that was
 * deployed, since the emulator keeps no more of an alarm than one metric.
 */
export const watchedOfOurs = async (): Promise<string[]> => {
  const { TemplateBody = '' } = await new CloudFormationClient(deployment.client).send(
    new GetTemplateCommand({ StackName: 'PosthasteMonitoring' }),
  );
  const { Resources } = template.parse(JSON.parse(TemplateBody));
  const watched = [...alarmsIn(Resources).flatMap(({ metrics }) => metrics), ...graphedIn(Resources)];
  const ours = watched.filter(({ namespace }) => namespace === metricNamespace);
  return [
    ...new Set(ours.map(({ metricName, dimensionNames }) => `${metricName} by ${dimensionNames.join()}`)),
  ];
};
