import type { CloudFormation } from '@aws-sdk/client-cloudformation';
import * as z from 'zod';
import type { Outputs } from '../../../local/endpoints.ts';
import { type Deployment, stackNamed, toOutputs } from '../../deployment.ts';
import { templateSchema } from '../upgrade/compare.ts';

/** A resource of the deployment. `properties`: as the deployed template has them, with its functions unresolved. */
export type DeployedResource = {
  stack: string;
  logicalId: string;
  type: string;
  physicalId: string;
  properties: Readonly<Record<string, unknown>>;
};

export type DeployedStacks = {
  names: readonly string[];
  /** Of one type, such as AWS::SQS::Queue. */
  ofType: (type: string) => readonly DeployedResource[];
};

const indexSchema = z.object({
  GlobalSecondaryIndexes: z.array(z.object({ IndexName: z.string() })).default([]),
});

/** The names of the indexes that the template gives a table. */
export function listIndexes({ properties }: DeployedResource): string[] {
  return indexSchema.parse(properties).GlobalSecondaryIndexes.map(({ IndexName }) => IndexName);
}

/** The stacks of a deployment, with what their templates say of each resource. */
export async function readStacks(deployment: Deployment): Promise<DeployedStacks> {
  // Loaded only here, as by findDeployment.
  const { CloudFormation } = await import('@aws-sdk/client-cloudformation');
  const cloudFormation = new CloudFormation(deployment.client);
  const names = await findStackNames(cloudFormation, deployment);
  const resources = (await Promise.all(names.map((name) => readResources(cloudFormation, name)))).flat();
  return { names, ofType: (type) => resources.filter((one) => one.type === type) };
}

/** Those with an output that names the deployment's resources, and the stack with the alarms beside them. */
async function findStackNames(
  cloudFormation: CloudFormation,
  { ingressQueueUrl, subscriptionsTable }: Deployment,
): Promise<string[]> {
  const { paginateDescribeStacks } = await import('@aws-sdk/client-cloudformation');
  const names = new Set<string>();
  const all = new Set<string>();
  for await (const { Stacks = [] } of paginateDescribeStacks({ client: cloudFormation }, {}))
    for (const { StackName = '', Outputs = [] } of Stacks) {
      all.add(StackName);
      if (Outputs.some(({ OutputValue: value }) => value === ingressQueueUrl || value === subscriptionsTable))
        names.add(StackName);
    }
  const besides = [...names].map((name) => name.replace(/Pipeline$/, 'Monitoring'));
  return [...new Set([...names, ...besides])].filter((name) => all.has(name));
}

/**
 * The outputs of a stack that is deployed beside a deployment for the acceptance; none without it. `name`: the setting
 * `deployment`.
 */
export async function readOutputsBeside(
  { name, deployment }: { name: string; deployment: Deployment },
  stack: 'Acceptance' | 'Crash',
): Promise<Outputs> {
  const { CloudFormation } = await import('@aws-sdk/client-cloudformation');
  return toOutputs((await stackNamed(new CloudFormation(deployment.client), name + stack)) ?? {});
}

async function readResources(cloudFormation: CloudFormation, stack: string): Promise<DeployedResource[]> {
  const { paginateListStackResources } = await import('@aws-sdk/client-cloudformation');
  const { TemplateBody = '{}' } = await cloudFormation.getTemplate({ StackName: stack });
  const template = templateSchema.parse(JSON.parse(TemplateBody));
  const resources: DeployedResource[] = [];
  for await (const { StackResourceSummaries: summaries = [] } of paginateListStackResources(
    { client: cloudFormation },
    { StackName: stack },
  ))
    resources.push(
      ...summaries.map(({ LogicalResourceId: logicalId = '', PhysicalResourceId, ResourceType }) => ({
        stack,
        logicalId,
        type: ResourceType ?? '',
        physicalId: PhysicalResourceId ?? '',
        properties: template.Resources[logicalId]?.Properties ?? {},
      })),
    );
  return resources;
}
