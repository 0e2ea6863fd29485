import { describe, expect, it } from 'vitest';
import {
  arnOf,
  resourceAt,
  resourcesOf,
  type Statement,
  statementsAt,
  statementsIn,
  templatesFor,
} from './templates.ts';

const { state, pipeline, monitoring } = templatesFor();

const queueArn = (path: string) => arnOf(resourceAt(pipeline, 'AWS::SQS::Queue', `Pipeline${path}Queue`).id);

const tableId = (name: string) => resourceAt(state, 'AWS::DynamoDB::GlobalTable', `State${name}Table`).id;

const imported = (id: string) => ({
  'Fn::ImportValue': expect.stringMatching(`^PosthasteState:ExportsOutputFnGetAtt${id}Arn`) as unknown,
});

const table = (name: string) => imported(tableId(name));
const tableIndex = (name: string, index: string) => ({
  'Fn::Join': ['', [imported(tableId(name)), `/index/${index}`]],
});
const bucket = imported(resourceAt(state, 'AWS::S3::Bucket', 'StatePayloadsBucket').id);
const eventBus = arnOf(resourceAt(pipeline, 'AWS::Events::EventBus', 'PipelineOperatorEventsBus').id);
const secretsKey = imported(resourceAt(state, 'AWS::KMS::Key', 'StateSecretsKey').id);
const objects = { 'Fn::Join': ['', [bucket, '/*']] };

/** The grants of a role, except for writing its log: action → resources. */
const grantsOf = (name: string): Record<string, unknown[]> => {
  const grants: Record<string, unknown[]> = {};
  for (const { actions, resources } of statementsAt(pipeline, `Pipeline${name}RoleDefaultPolicy`)) {
    for (const action of actions.filter((one) => !one.startsWith('logs:'))) {
      grants[action] = [...(grants[action] ?? []), ...resources];
    }
  }
  return grants;
};

const consume = (...arns: unknown[]) => ({
  'sqs:ReceiveMessage': arns,
  'sqs:DeleteMessage': arns,
  'sqs:GetQueueAttributes': arns,
  'sqs:ChangeMessageVisibility': arns,
});

const keepBodies = {
  's3:GetObject': [objects],
  's3:PutObject': [objects],
  's3:DeleteObject': [objects],
  's3:ListBucket': [bucket],
};

const deliveryListings = ['by-queue', 'by-subscription'].map((index) => tableIndex('Deliveries', index));

describe('the role of a function has exactly these permissions', () => {
  it('dispatch', () => {
    expect(grantsOf('Dispatch')).toEqual({
      ...consume(queueArn('Ingress')),
      'dynamodb:Query': [table('Subscriptions')],
      'dynamodb:PutItem': [table('Deliveries')],
      'dynamodb:UpdateItem': [table('Deliveries')],
      's3:PutObject': [objects],
      's3:DeleteObject': [objects],
      'sqs:SendMessage': [queueArn('Delivery'), queueArn('IngressDeadLetters')],
    });
  });

  it('deliver', () => {
    expect(grantsOf('Deliver')).toEqual({
      ...consume(queueArn('Delivery'), queueArn('Retry')),
      'dynamodb:GetItem': [table('Subscriptions'), table('Deliveries')],
      'dynamodb:UpdateItem': [table('Subscriptions'), table('Deliveries')],
      'dynamodb:PutItem': [table('Deliveries')],
      // Opens secrets to sign requests, but cannot seal any.
      'kms:Decrypt': [secretsKey],
      ...keepBodies,
      'sqs:SendMessage': [
        queueArn('DeliveryDeadLetters'),
        queueArn('Delivery'),
        queueArn('Operation'),
        queueArn('Retry'),
        queueArn('Undeliverable'),
      ],
      'events:PutEvents': [eventBus],
      'scheduler:CreateSchedule': [expect.anything()],
      'iam:PassRole': [expect.anything()],
    });
  });

  it('reconcile', () => {
    expect(grantsOf('Reconcile')).toEqual({
      'dynamodb:Query': [tableIndex('Deliveries', 'overdue'), tableIndex('Subscriptions', 'queues')],
      'dynamodb:UpdateItem': [table('Deliveries')],
      'sqs:SendMessage': [queueArn('Retry')],
    });
  });

  it('operate', () => {
    expect(grantsOf('Operate')).toEqual({
      ...consume(queueArn('Operation')),
      'dynamodb:GetItem': [table('Subscriptions'), table('Deliveries')],
      'dynamodb:DeleteItem': [table('Subscriptions')],
      'dynamodb:ConditionCheckItem': [table('Subscriptions')],
      'dynamodb:BatchGetItem': [table('Deliveries')],
      'dynamodb:PutItem': [table('Deliveries')],
      'dynamodb:UpdateItem': [table('Deliveries')],
      'dynamodb:Query': [table('Subscriptions'), ...deliveryListings],
      ...keepBodies,
      'sqs:SendMessage': [queueArn('OperationDeadLetters'), queueArn('Operation'), queueArn('Retry')],
      'scheduler:DeleteSchedule': [expect.anything()],
    });
  });

  it('secrets', () => {
    expect(grantsOf('Secrets')).toEqual({
      'dynamodb:GetItem': [table('Subscriptions'), table('Deliveries')],
      'dynamodb:Query': [table('Subscriptions'), tableIndex('Deliveries', 'overdue')],
      'dynamodb:UpdateItem': [table('Deliveries')],
      ...keepBodies,
      'kms:Decrypt': [secretsKey],
    });
  });

  it('api', () => {
    expect(grantsOf('Api')).toEqual({
      'dynamodb:GetItem': [table('Subscriptions'), table('Deliveries')],
      'dynamodb:BatchGetItem': [table('Subscriptions'), table('Deliveries')],
      'dynamodb:Query': [
        table('Subscriptions'),
        tableIndex('Deliveries', 'by-hour'),
        tableIndex('Deliveries', 'by-queue'),
        tableIndex('Deliveries', 'by-subscription'),
        tableIndex('Deliveries', 'overdue'),
        tableIndex('Subscriptions', 'queues'),
        table('Deliveries'),
      ],
      'dynamodb:ConditionCheckItem': [table('Subscriptions')],
      'dynamodb:DeleteItem': [table('Subscriptions')],
      'dynamodb:PutItem': [table('Subscriptions'), table('Deliveries')],
      'dynamodb:UpdateItem': [table('Subscriptions'), table('Deliveries')],
      ...keepBodies,
      'kms:GenerateDataKey': [secretsKey],
      'events:PutEvents': [eventBus],
      'sqs:SendMessage': [
        queueArn('Delivery'),
        queueArn('Ingress'),
        queueArn('Operation'),
        queueArn('Retry'),
      ],
      'sqs:GetQueueAttributes': [
        queueArn('DeliveryDeadLetters'),
        queueArn('Delivery'),
        queueArn('IngressDeadLetters'),
        queueArn('Ingress'),
        queueArn('OperationDeadLetters'),
        queueArn('Operation'),
        queueArn('Retry'),
        queueArn('SchedulesDeadLetters'),
        queueArn('Undeliverable'),
      ],
      'scheduler:DeleteSchedule': [expect.anything()],
    });
  });

  it.each(['Dispatch', 'Deliver', 'Reconcile', 'Operate', 'Api'])('%s writes only its log group', (name) => {
    const logs = statementsAt(pipeline, `Pipeline${name}RoleDefaultPolicy`).filter(({ actions }) =>
      actions.some((action) => action.startsWith('logs:')),
    );
    expect(logs).toEqual([
      {
        effect: 'Allow',
        actions: ['logs:CreateLogStream', 'logs:PutLogEvents'],
        resources: [arnOf(resourceAt(pipeline, 'AWS::Logs::LogGroup', `Pipeline${name}LogGroup`).id)],
        condition: undefined,
      },
    ]);
  });
});

const allPolicies = [state, pipeline, monitoring].flatMap((template) =>
  ['AWS::IAM::Policy', 'AWS::IAM::ManagedPolicy'].flatMap((type) => [
    ...resourcesOf(template, type).values(),
  ]),
);
const allStatements: Statement[] = allPolicies.flatMap(statementsIn);

describe('no policy statement', () => {
  it('applies to every resource or to every action of a service', () => {
    expect(allStatements.length).toBeGreaterThan(0);
    for (const { actions, resources } of allStatements) {
      expect(resources).not.toContain('*');
      expect(actions.filter((action) => action.includes('*'))).toEqual([]);
    }
  });

  it('allows scanning a table', () => {
    const actions = allStatements.flatMap((statement) => statement.actions);
    expect(actions).toContain('dynamodb:Query');
    expect(actions.filter((action) => /^dynamodb:(?:Scan|PartiQL|Export)/i.test(action))).toEqual([]);
  });
});

describe('EventBridge Scheduler', () => {
  const role = resourceAt(pipeline, 'AWS::IAM::Role', 'PipelineSchedulesRole');
  const group = resourceAt(pipeline, 'AWS::Scheduler::ScheduleGroup', 'PipelineSchedulesGroup');

  it('can get one role, which only deliver may pass', () => {
    const passes = allStatements.filter(({ actions }) => actions.includes('iam:PassRole'));
    expect(passes).toEqual([
      {
        effect: 'Allow',
        actions: ['iam:PassRole'],
        resources: [arnOf(role.id)],
        condition: { StringEquals: { 'iam:PassedToService': 'scheduler.amazonaws.com' } },
      },
    ]);
    expect(grantsOf('Deliver')['iam:PassRole']).toEqual([arnOf(role.id)]);
  });

  it('can only send to the retry queue and to the scheduler dead letters', () => {
    expect(statementsAt(pipeline, 'PipelineSchedulesRoleDefaultPolicy')).toEqual([
      {
        effect: 'Allow',
        actions: ['sqs:SendMessage'],
        resources: [queueArn('Retry'), queueArn('SchedulesDeadLetters')],
        condition: undefined,
      },
    ]);
  });

  it("can assume the role only for schedules of the deployment's group and account", () => {
    expect(role.Properties['AssumeRolePolicyDocument']).toEqual({
      Version: '2012-10-17',
      Statement: [
        {
          Effect: 'Allow',
          Action: 'sts:AssumeRole',
          Principal: { Service: 'scheduler.amazonaws.com' },
          Condition: {
            StringEquals: {
              'aws:SourceAccount': { Ref: 'AWS::AccountId' },
              'aws:SourceArn': arnOf(group.id),
            },
          },
        },
      ],
    });
  });

  it("lets deliver create schedules only in the deployment's group", () => {
    const [schedules] = grantsOf('Deliver')['scheduler:CreateSchedule'] ?? [];
    expect(JSON.stringify(schedules)).toContain(`:schedule/${String(group.Properties['Name'])}/*`);
  });
});
