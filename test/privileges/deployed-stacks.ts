import {
  CloudFormationClient,
  GetTemplateCommand,
  paginateListExports,
  paginateListStackResources,
  paginateListStacks,
} from '@aws-sdk/client-cloudformation';
import { type LocalAccount, toClientOptions } from '../../local/endpoints.ts';
import { localAws } from '../../local/local-aws.ts';
import type { Account, DeployedStack } from './grants.ts';

/** The stacks of Posthaste on a local AWS, with their synthesised templates. */
export const deployedStacks = async (
  deployedIn: LocalAccount,
): Promise<{ account: Account; stacks: DeployedStack[] }> => {
  const { account, region } = localAws;
  const client = new CloudFormationClient(toClientOptions(deployedIn));
  const names: string[] = [];
  for await (const { StackSummaries = [] } of paginateListStacks({ client }, {})) {
    names.push(
      ...StackSummaries.flatMap(({ StackName = '', StackStatus: status }) =>
        // A test that deploys another stack deletes it, and the list keeps it.
        StackName === 'CDKToolkit' || status === 'DELETE_COMPLETE' ? [] : [StackName],
      ),
    );
  }
  const exports = new Map<string, string>();
  for await (const { Exports = [] } of paginateListExports({ client }, {})) {
    for (const { Name = '', Value = '' } of Exports) exports.set(Name, Value);
  }
  const stacks = await Promise.all(names.map((name) => stackOf(client, name)));
  return { account: { account, region, exports }, stacks };
};

const stackOf = async (client: CloudFormationClient, StackName: string): Promise<DeployedStack> => {
  const { TemplateBody = '' } = await client.send(new GetTemplateCommand({ StackName }));
  const resources = new Map<string, { type: string; physicalId: string }>();
  for await (const { StackResourceSummaries = [] } of paginateListStackResources({ client }, { StackName })) {
    for (const {
      LogicalResourceId = '',
      PhysicalResourceId = '',
      ResourceType = '',
    } of StackResourceSummaries) {
      resources.set(LogicalResourceId, { type: ResourceType, physicalId: PhysicalResourceId });
    }
  }
  return { template: JSON.parse(TemplateBody), resources };
};
