import { readCallLog, type Use } from '../support/call-log.ts';
import { readEndpoints, type LocalAccount, toClientOptions } from '../../local/endpoints.ts';
import { compare, type Exception } from './comparison.ts';
import { type Grant, grantsOf, type Account, type DeployedStack } from './grants.ts';
import { dirname, join } from 'node:path';
import { beforeAll, describe, expect, inject, it } from 'vitest';
import {
  CloudFormationClient,
  GetTemplateCommand,
  paginateListExports,
  paginateListStackResources,
  paginateListStacks,
} from '@aws-sdk/client-cloudformation';
import { localAws } from '../../local/local-aws.ts';

/** The stacks of Posthaste on a local AWS, with their synthesised templates. */
const deployedStacks = async (
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

const BY_LAMBDA = 'Lambda does it with the role of the function; the local AWS does not check IAM for it';

/** Grants whose use the run cannot show. */
const exceptions: readonly Exception[] = [
  { action: 'sqs:ReceiveMessage', reason: BY_LAMBDA },
  { action: 'sqs:DeleteMessage', reason: BY_LAMBDA },
  { role: 'Dispatch', action: 'sqs:GetQueueAttributes', reason: BY_LAMBDA },
  { role: 'Deliver', action: 'sqs:GetQueueAttributes', reason: BY_LAMBDA },
  { role: 'Operate', action: 'sqs:GetQueueAttributes', reason: BY_LAMBDA },
  {
    action: 'sqs:ChangeMessageVisibility',
    reason: 'used only after an internal error, which tests cannot cause from outside on every queue',
  },
  { action: 'logs:CreateLogStream', reason: BY_LAMBDA },
  { action: 'logs:PutLogEvents', reason: BY_LAMBDA },
  {
    action: 'iam:PassRole',
    reason: 'Scheduler checks it when a schedule is created; the local AWS does not',
  },
  {
    role: 'Operate',
    action: 's3:DeleteObject',
    reason:
      'used when a message is erased between two calls of a recovery, which tests cannot time from outside',
  },
  {
    role: 'Secrets',
    action: 's3:PutObject',
    reason: 'used to keep on the data of what was received weeks later, which tests cannot wait for',
  },
  {
    role: 'Secrets',
    action: 's3:DeleteObject',
    reason: 'used when a message is erased while its data is kept on',
  },
  {
    action: 's3:ListBucket',
    reason: 'not called: it makes S3 answer 404 instead of 403 for missing objects',
  },
];

let granted: readonly Grant[];
let used: readonly Use[];

beforeAll(async () => {
  const log = inject('useLog');
  const endpoints = readEndpoints(join(dirname(log), 'endpoints.json'));
  if (endpoints === undefined)
    throw new Error(
      'This test checks which permissions the deployed tests used. Run it together with them (npm test).',
    );
  used = readCallLog(log).filter((entry) => entry.kind === 'use');
  const { account, stacks } = await deployedStacks(endpoints);
  granted = stacks.flatMap((stack) => grantsOf(stack, account));
});

describe('the grants of the functions', () => {
  it('are exactly what the functions use in the deployed tests', () => {
    expect(granted.length).toBeGreaterThan(0);
    expect(compare({ granted, used, exceptions })).toEqual([]);
  });

  it('would be reported missing if any one were removed', () => {
    const excepted = new Set(exceptions.map(({ action }) => action));
    // If the run cannot show the use of a grant, it cannot show its absence. The infra tests check these.
    for (const grant of granted.filter(({ action }) => !excepted.has(action))) {
      const rest = granted.filter((other) => other !== grant);
      const findings = compare({ granted: rest, used, exceptions });
      expect(
        findings.map(({ kind }) => kind),
        JSON.stringify(grant),
      ).toContain('used_not_granted');
    }
  });

  it('would be reported unused if one were added', () => {
    const roles = [...new Set(granted.map(({ role }) => role))];
    for (const role of roles) {
      const added = { role, action: 'dynamodb:Scan', resource: '*' };
      expect(compare({ granted: [...granted, added], used, exceptions })).toContainEqual({
        kind: 'granted_not_used',
        ...added,
      });
    }
  });
});
