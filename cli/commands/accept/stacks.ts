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
  /** By the name of each stack, how the ids of the deployment's resources begin. Others in it are its owner's. */
  prefixes: ReadonlyMap<string, string>;
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
  const prefixes = await findPrefixes(cloudFormation, deployment);
  const reading = Array.from(prefixes, (stack) => readResources(cloudFormation, ...stack));
  const resources = (await Promise.all(reading)).flat();
  return { prefixes, ofType: (type) => resources.filter((one) => one.type === type) };
}

/** Below a construct, CDK adds its path and a hash. */
const OUTPUT =
  /^(?:(.*)(?:IngressQueueUrl|SubscriptionsTable)[0-9A-F]{8}|IngressQueueUrl|SubscriptionsTable)$/g;

/** Those with an output that names the deployment's resources, and the stack with the alarms beside them. */
async function findPrefixes(
  cloudFormation: CloudFormation,
  { ingressQueueUrl, subscriptionsTable }: Deployment,
): Promise<Map<string, string>> {
  const { paginateDescribeStacks } = await import('@aws-sdk/client-cloudformation');
  const prefixes = new Map<string, string>();
  const names = new Set<string>();
  for await (const { Stacks = [] } of paginateDescribeStacks({ client: cloudFormation }, {}))
    for (const { StackName: name = '', Outputs = [] } of Stacks) {
      names.add(name);
      const keys = Outputs.flatMap(({ OutputKey: key = '', OutputValue: value }) =>
        value === ingressQueueUrl || value === subscriptionsTable ? [...key.matchAll(OUTPUT)] : [],
      );
      // One of the owner's may have the plain name.
      const prefix = keys
        .map(([, path = '']) => path)
        .toSorted()
        .at(-1);
      if (prefix !== undefined) prefixes.set(name, prefix);
    }
  const besides = [...prefixes.keys()].map((name) => [name.replace(/Pipeline$/, 'Monitoring'), ''] as const);
  return new Map([...besides.filter(([name]) => names.has(name)), ...prefixes]);
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

async function readResources(
  cloudFormation: CloudFormation,
  stack: string,
  prefix: string,
): Promise<DeployedResource[]> {
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
  return resources.filter(({ logicalId }) => logicalId.startsWith(prefix));
}
