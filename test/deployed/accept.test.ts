import { CloudFormation } from '@aws-sdk/client-cloudformation';
import { DescribeTableCommand, UpdateTableCommand } from '@aws-sdk/client-dynamodb';
import {
  DisableRuleCommand,
  EnableRuleCommand,
  EventBridgeClient,
  ListRulesCommand,
} from '@aws-sdk/client-eventbridge';
import {
  DeleteFunctionConcurrencyCommand,
  GetAliasCommand,
  GetFunctionConfigurationCommand,
  ListEventSourceMappingsCommand,
  PublishVersionCommand,
  PutFunctionConcurrencyCommand,
  UpdateAliasCommand,
  UpdateEventSourceMappingCommand,
  UpdateFunctionConfigurationCommand,
} from '@aws-sdk/client-lambda';
import {
  GetRolePolicyCommand,
  IAMClient,
  ListRolePoliciesCommand,
  PutRolePolicyCommand,
} from '@aws-sdk/client-iam';
import { describe, expect, it } from 'vitest';
import * as z from 'zod';
import { onDeployment } from '../support/deployed-command.ts';
import { deployment } from '../support/deployment.ts';
import { eventually } from '../support/eventually.ts';
import { jsonLines } from '../unit/cli/run-command.ts';

const line = z.looseObject({ check: z.string(), state: z.string(), detail: z.string().exactOptional() });

/** Runs checks, and returns the results by their ids. */
const accept = async (...checks: string[]) => {
  const only = checks.flatMap((check) => ['--only', check]);
  const { status, stdout, stderr } = await onDeployment('accept', ...only, '--json');
  const results = z.array(line).parse(jsonLines(stdout));
  return { status, stderr, results: Object.fromEntries(results.map(({ check, ...more }) => [check, more])) };
};

const { functions, operationQueueUrl, deliveriesTable } = deployment.endpoints;

/** Lets the alias of a function point to a version that allows more addresses than the settings. */
const withGuardOpenFor = async (FunctionName: string, range: string, run: () => Promise<void>) => {
  const { lambda } = deployment;
  const alias = { FunctionName, Name: 'live' };
  const { FunctionVersion } = await lambda.send(new GetAliasCommand(alias));
  const { Environment } = await lambda.send(new GetFunctionConfigurationCommand({ FunctionName }));
  const setAddresses = (value: string | undefined) => {
    const Variables = { ...Environment?.Variables, ALLOWED_ADDRESSES: value ?? '[]' };
    return lambda.send(new UpdateFunctionConfigurationCommand({ FunctionName, Environment: { Variables } }));
  };
  const before = Environment?.Variables?.['ALLOWED_ADDRESSES'];
  const ranges = z.array(z.string()).parse(JSON.parse(before ?? '[]'));
  await setAddresses(JSON.stringify([...ranges, range]));
  try {
    await eventually('the function is updated', async () => {
      const { State } = await lambda.send(new GetFunctionConfigurationCommand({ FunctionName }));
      return State === 'Active' ? true : undefined;
    });
    const { Version } = await lambda.send(new PublishVersionCommand({ FunctionName }));
    await lambda.send(new UpdateAliasCommand({ ...alias, FunctionVersion: Version }));
    await run();
  } finally {
    await lambda.send(new UpdateAliasCommand({ ...alias, FunctionVersion }));
    await setAddresses(before);
  }
};

describe('posthaste accept on the deployed system', () => {
  it('passes for what the receiver, the policy, the ends and the resources promise, and leaves no queue', async () => {
    // Not `templates`: the setup of these tests changes a visibility timeout.
    const checks = [
      'event-sources',
      'timer',
      'reserved-concurrency',
      'tables',
      'permissions',
      'denied',
      'unsigned',
    ];
    const delivering = ['signature', 'filters', 'success', 'dead-letters', 'undeliverable'];
    const { status, stderr, results } = await accept(...checks, ...delivering);
    expect(Object.entries(results).filter(([, { state }]) => state !== 'passed')).toEqual([]);
    expect(Object.keys(results).toSorted()).toEqual([...checks, ...delivering].toSorted());
    expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
    const { stdout } = await onDeployment('queue', 'list', '--json');
    expect(stdout).not.toContain('"accept-');
  });
});

it('posthaste accept says which alarm of the deployment it cannot raise as a test', async () => {
  const { status, results } = await accept('alarm-actions');
  expect(results['alarm-actions']).toMatchObject({
    state: 'notShown',
    reason: 'Posthaste-SchedulerDeadLetters notifies no topic: the setting alarmTopicArn is not set',
  });
  expect(status).toBe(0);
});

/** A stack with the role that infra/acceptance-stack.ts gives a producer. */
const PRODUCER = {
  Resources: {
    Producer: {
      Type: 'AWS::IAM::Role',
      Properties: {
        AssumeRolePolicyDocument: {
          Version: '2012-10-17',
          Statement: [
            {
              Effect: 'Allow',
              Action: 'sts:AssumeRole',
              Principal: { AWS: { 'Fn::Sub': 'arn:aws:iam::${AWS::AccountId}:root' } },
            },
          ],
        },
      },
    },
  },
  Outputs: { ProducerRoleArn: { Value: { 'Fn::GetAtt': ['Producer', 'Arn'] } } },
};

const allow = (...Action: string[]): string =>
  JSON.stringify({ Version: '2012-10-17', Statement: [{ Effect: 'Allow', Action, Resource: '*' }] });

it('posthaste accept tries with the role of a producer what no producer may do', async () => {
  const cloudFormation = new CloudFormation(deployment.client);
  const iam = new IAMClient(deployment.client);
  const StackName = 'PosthasteAcceptance';
  const TemplateBody = JSON.stringify(PRODUCER);
  await cloudFormation.createStack({ StackName, TemplateBody, Capabilities: ['CAPABILITY_IAM'] });
  try {
    const RoleName = await eventually('the stack is created', async () => {
      const { Stacks: [stack] = [] } = await cloudFormation.describeStacks({ StackName });
      return stack?.Outputs?.[0]?.OutputValue?.split('/').at(-1);
    });
    const policy = { RoleName, PolicyName: 'grants' };
    await iam.send(new PutRolePolicyCommand({ ...policy, PolicyDocument: allow('sqs:SendMessage') }));
    const { results } = await accept('producer');
    expect(results['producer']).toMatchObject({
      state: 'passed',
      detail: 'allowed to publish, denied 4 other calls',
    });
    const PolicyDocument = allow('sqs:ReceiveMessage', 'dynamodb:*', 'kms:*', 'lambda:InvokeFunction');
    await iam.send(new PutRolePolicyCommand({ ...policy, PolicyDocument }));
    expect((await accept('producer')).results['producer']).toMatchObject({
      state: 'failed',
      detail: [
        'to publish is denied, not allowed',
        ...['receive messages', 'read subscriptions', 'decrypt secrets', 'invoke deliver'].map(
          (what) => `to ${what} is allowed, not denied`,
        ),
      ].join('; '),
    });
  } finally {
    await cloudFormation.deleteStack({ StackName });
    iam.destroy();
  }
});

describe('posthaste accept on a deployment that was changed', () => {
  it('names an event source that is paused, and the command that enables it', async () => {
    const { EventSourceMappings: [mapping] = [] } = await deployment.lambda.send(
      new ListEventSourceMappingsCommand({ FunctionName: functions.operate }),
    );
    const UUID = mapping?.UUID ?? '';
    await deployment.lambda.send(new UpdateEventSourceMappingCommand({ UUID, Enabled: false }));
    try {
      const { status, results } = await accept('event-sources');
      expect(status).toBe(1);
      expect(results['event-sources']?.detail).toContain('Operations');
      expect(results['event-sources']).toMatchObject({
        state: 'failed',
        advice: `aws lambda update-event-source-mapping --enabled --uuid ${UUID}`,
      });
    } finally {
      await deployment.lambda.send(new UpdateEventSourceMappingCommand({ UUID, Enabled: true }));
    }
    await eventually('the event source is enabled', async () =>
      (await accept('event-sources')).status === 0 ? true : undefined,
    );
  });

  it('names the rule of reconcile that is disabled, and the command that enables it', async () => {
    const events = new EventBridgeClient(deployment.client);
    const { Rules = [] } = await events.send(new ListRulesCommand({}));
    const Name = Rules.find(({ Description = '' }) => Description.includes('runs reconcile'))?.Name;
    await events.send(new DisableRuleCommand({ Name }));
    try {
      const { status, results } = await accept('timer');
      expect(status).toBe(1);
      expect(results['timer']).toMatchObject({
        detail: `reconcile does not run: its rule ${Name} is DISABLED`,
        advice: `aws events enable-rule --name ${Name}`,
      });
    } finally {
      await events.send(new EnableRuleCommand({ Name }));
    }
    expect((await accept('timer')).status).toBe(0);
    events.destroy();
  });

  it('names a function that a reserved concurrency of 0 stops, and the command that lets it go on', async () => {
    const { lambda } = deployment;
    const FunctionName = functions.operate;
    await lambda.send(new PutFunctionConcurrencyCommand({ FunctionName, ReservedConcurrentExecutions: 0 }));
    try {
      const { status, results } = await accept('reserved-concurrency');
      expect(status).toBe(1);
      expect(results['reserved-concurrency']).toMatchObject({
        detail: 'operate has a reserved concurrency of 0, so nothing invokes it',
        advice: `aws lambda delete-function-concurrency --function-name ${FunctionName}`,
      });
    } finally {
      await lambda.send(new DeleteFunctionConcurrencyCommand({ FunctionName }));
    }
    expect((await accept('reserved-concurrency')).status).toBe(0);
  });

  it('names a queue without its redrive policy', async () => {
    const QueueUrl = operationQueueUrl;
    const { Attributes } = await deployment.sqs.getQueueAttributes({
      QueueUrl,
      AttributeNames: ['RedrivePolicy'],
    });
    await deployment.sqs.setQueueAttributes({ QueueUrl, Attributes: { RedrivePolicy: '' } });
    try {
      const { results } = await accept('templates');
      expect(results['templates']?.state).toBe('failed');
      expect(results['templates']?.detail).toMatch(/OperationQueue.*RedrivePolicy/);
    } finally {
      const RedrivePolicy = Attributes?.RedrivePolicy ?? '';
      await deployment.sqs.setQueueAttributes({ QueueUrl, Attributes: { RedrivePolicy } });
    }
  });

  it('names an index that a table has lost', async () => {
    const { dynamo } = deployment;
    const named = { TableName: deliveriesTable };
    const { Table } = await dynamo.send(new DescribeTableCommand(named));
    const { IndexName, KeySchema, Projection } =
      Table?.GlobalSecondaryIndexes?.find((index) => index.IndexName === 'by-hour') ?? {};
    const change = (one: 'Create' | 'Delete', index: object) =>
      dynamo.send(
        new UpdateTableCommand({
          ...named,
          AttributeDefinitions: Table?.AttributeDefinitions,
          GlobalSecondaryIndexUpdates: [{ [one]: index }],
        }),
      );
    await change('Delete', { IndexName });
    try {
      const { status, results } = await accept('tables');
      expect(status).toBe(1);
      expect(results['tables']?.state).toBe('failed');
      expect(results['tables']?.detail).toMatch(/^StateDeliveries\w+ has no index by-hour$/);
      expect(results['tables']?.['advice']).toContain('aws dynamodb update-table');
    } finally {
      await change('Create', { IndexName, KeySchema, Projection });
    }
  });

  it('names the address that the API accepts against the settings, and sends nothing to it', async () => {
    await withGuardOpenFor(functions.api, '0.0.0.0/0', async () => {
      const { status, results } = await accept('guard');
      expect(status).toBe(1);
      expect(results['guard']).toMatchObject({
        state: 'failed',
        detail: 'the API accepts http://10.0.0.1/ and http://224.0.0.1/',
      });
      expect(results['guard']?.['advice']).toContain('compare ALLOWED_ADDRESSES of the functions');
    });
  });

  it('names the address that deliver tries to connect to against the settings, and leaves no notice', async () => {
    // No packet leaves this machine: no system makes a TCP connection to multicast.
    await withGuardOpenFor(functions.deliver, '224.0.0.0/4', async () => {
      const { status, results } = await accept('guard');
      expect(status).toBe(1);
      expect(results['guard']).toMatchObject({
        state: 'failed',
        detail: 'a delivery to http://224.0.0.1/ is exhausted retries_exhausted',
      });
      expect(results['guard']?.['advice']).toContain('compare its ALLOWED_ADDRESSES');
    });
    const { stdout } = await onDeployment('deadletters', 'list', 'undeliverable', '--json');
    expect(stdout).not.toContain('"accept-');
  });

  it('names a permission that a role has lost', async () => {
    const iam = new IAMClient(deployment.client);
    const { Role = '' } = await deployment.lambda.send(
      new GetFunctionConfigurationCommand({ FunctionName: functions.operate }),
    );
    const RoleName = Role.slice(Role.lastIndexOf('/') + 1);
    const { PolicyNames: [PolicyName] = [] } = await iam.send(new ListRolePoliciesCommand({ RoleName }));
    const policy = { RoleName, PolicyName };
    const { PolicyDocument = '' } = await iam.send(new GetRolePolicyCommand(policy));
    const whole = decodeURIComponent(PolicyDocument);
    const lacking = whole.replaceAll('scheduler:DeleteSchedule', 'scheduler:GetSchedule');
    await iam.send(new PutRolePolicyCommand({ ...policy, PolicyDocument: lacking }));
    try {
      const { results } = await accept('permissions');
      expect(results['permissions']?.state).toBe('failed');
      expect(results['permissions']?.detail).toMatch(
        /^PipelineOperateRole\w+ lacks scheduler:DeleteSchedule$/,
      );
      const { stdout } = await onDeployment('doctor', '--json');
      const findings = z.array(line).parse(jsonLines(stdout));
      expect(findings.find(({ check }) => check === 'permissions')).toMatchObject({
        state: 'failing',
        detail: results['permissions']?.detail,
      });
    } finally {
      await iam.send(new PutRolePolicyCommand({ ...policy, PolicyDocument: whole }));
      iam.destroy();
    }
  });
});
