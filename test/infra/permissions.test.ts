import { Validations } from 'aws-cdk-lib';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { checkedVariants } from '../../infra/checked-variants.ts';
import { securityFindings } from '../../infra/security-findings.ts';
import {
  arnOf,
  cdkContext,
  environmentAt,
  queueStatementsOf,
  resourceAt,
  resourcesOf,
  SENDERS,
  SOURCES,
  statementsAt,
  statementsIn,
  templatesFor,
  TUNED,
} from './templates.ts';

const { state, pipeline, monitoring } = templatesFor();
const { pipeline: tuned } = templatesFor(TUNED);

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

const allowed = (actions: string[], resources: unknown[], condition?: unknown) => ({
  effect: 'Allow',
  actions,
  resources,
  condition,
});

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

/** Action → resources. */
const GRANTS: Record<string, Record<string, unknown[]>> = {
  Dispatch: {
    ...consume(queueArn('Ingress')),
    'dynamodb:Query': [table('Subscriptions')],
    // With `reject`: a repeat of a message that was accepted before its event type changed.
    'dynamodb:GetItem': [table('Deliveries')],
    'dynamodb:PutItem': [table('Deliveries')],
    'dynamodb:UpdateItem': [table('Deliveries')],
    's3:PutObject': [objects],
    's3:DeleteObject': [objects],
    'sqs:SendMessage': [queueArn('Delivery'), queueArn('IngressDeadLetters')],
  },
  Deliver: {
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
  },
  Reconcile: {
    'dynamodb:Query': [tableIndex('Deliveries', 'overdue'), tableIndex('Subscriptions', 'queues')],
    'dynamodb:UpdateItem': [table('Deliveries')],
    'sqs:SendMessage': [queueArn('Retry')],
  },
  Operate: {
    ...consume(queueArn('Operation')),
    'dynamodb:GetItem': [table('Subscriptions'), table('Deliveries')],
    'dynamodb:DeleteItem': [table('Subscriptions')],
    'dynamodb:ConditionCheckItem': [table('Subscriptions')],
    'dynamodb:BatchGetItem': [table('Deliveries')],
    'dynamodb:PutItem': [table('Subscriptions'), table('Deliveries')],
    'dynamodb:UpdateItem': [table('Deliveries')],
    'dynamodb:Query': [table('Subscriptions'), ...deliveryListings, tableIndex('Deliveries', 'overdue')],
    'events:PutEvents': [eventBus],
    ...keepBodies,
    'sqs:SendMessage': [queueArn('OperationDeadLetters'), queueArn('Operation'), queueArn('Retry')],
    'scheduler:DeleteSchedule': [expect.anything()],
  },
  Secrets: {
    'dynamodb:GetItem': [table('Subscriptions'), table('Deliveries')],
    'dynamodb:Query': [table('Subscriptions'), tableIndex('Deliveries', 'overdue')],
    'dynamodb:UpdateItem': [table('Deliveries')],
    ...keepBodies,
    'kms:Decrypt': [secretsKey],
  },
  Api: {
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
    'sqs:SendMessage': [queueArn('Delivery'), queueArn('Ingress'), queueArn('Operation'), queueArn('Retry')],
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
  },
};

describe('the role of a function', () => {
  it.each(Object.entries(GRANTS))('%s has exactly these permissions', (name, grants) => {
    expect(grantsOf(name)).toEqual(grants);
  });

  it.each(Object.keys(GRANTS))('%s writes only its log group', (name) => {
    const logs = statementsAt(pipeline, `Pipeline${name}RoleDefaultPolicy`).filter(({ actions }) =>
      actions.some((action) => action.startsWith('logs:')),
    );
    const logGroup = resourceAt(pipeline, 'AWS::Logs::LogGroup', `Pipeline${name}LogGroup`).id;
    expect(logs).toEqual([allowed(['logs:CreateLogStream', 'logs:PutLogEvents'], [arnOf(logGroup)])]);
  });
});

const allStatements = [state, pipeline, monitoring].flatMap((template) =>
  ['AWS::IAM::Policy', 'AWS::IAM::ManagedPolicy'].flatMap((type) =>
    [...resourcesOf(template, type).values()].flatMap(statementsIn),
  ),
);

it('no policy statement applies to every action of a service, or to every resource but the state of alarms', () => {
  expect(allStatements.length).toBeGreaterThan(0);
  for (const { actions, resources } of allStatements) {
    if (actions.join() !== 'cloudwatch:DescribeAlarms') expect(resources).not.toContain('*');
    expect(actions.filter((action) => action.includes('*'))).toEqual([]);
  }
});

it('CodeDeploy may move the aliases of the functions that it upgrades, and nothing else', () => {
  const functions = ['Api', 'Deliver', 'Dispatch', 'Secrets'].map((name) =>
    arnOf(resourceAt(pipeline, 'AWS::Lambda::Function', `Pipeline${name}Function`).id),
  );
  expect(resourceAt(pipeline, 'AWS::IAM::Role', 'PipelineUpgradesRole').Properties).not.toHaveProperty(
    'ManagedPolicyArns',
  );
  expect(statementsAt(pipeline, 'PipelineUpgradesRoleDefaultPolicy')).toEqual([
    allowed(
      ['lambda:GetAlias', 'lambda:GetProvisionedConcurrencyConfig', 'lambda:UpdateAlias'],
      [...functions, ...functions.map((arn) => ({ 'Fn::Join': ['', [arn, ':live']] }))],
    ),
    allowed(['cloudwatch:DescribeAlarms'], ['*']),
  ]);
});

describe('EventBridge Scheduler', () => {
  const role = resourceAt(pipeline, 'AWS::IAM::Role', 'PipelineSchedulesRole');
  const group = resourceAt(pipeline, 'AWS::Scheduler::ScheduleGroup', 'PipelineSchedulesGroup');

  it('can get one role, which only deliver may pass', () => {
    const passes = allStatements.filter(({ actions }) => actions.includes('iam:PassRole'));
    const condition = { StringEquals: { 'iam:PassedToService': 'scheduler.amazonaws.com' } };
    expect(passes).toEqual([allowed(['iam:PassRole'], [arnOf(role.id)], condition)]);
    expect(grantsOf('Deliver')['iam:PassRole']).toEqual([arnOf(role.id)]);
  });

  it('can only send to the retry queue and to the scheduler dead letters', () => {
    expect(statementsAt(pipeline, 'PipelineSchedulesRoleDefaultPolicy')).toEqual([
      allowed(['sqs:SendMessage'], [queueArn('Retry'), queueArn('SchedulesDeadLetters')]),
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

const partitioned = (rest: string) => ({ 'Fn::Join': ['', ['arn:', { Ref: 'AWS::Partition' }, rest]] });

describe('payload sources', () => {
  const statements = statementsAt(tuned, 'PipelineDispatchRoleDefaultPolicy');

  it('can be read by dispatch, only under their prefixes', () => {
    expect(statements.filter(({ actions }) => actions.includes('s3:GetObjectVersion'))).toEqual([
      allowed(
        ['s3:GetObject', 's3:GetObjectVersion'],
        [partitioned(':s3:::partner-data/*'), partitioned(':s3:::shop-exports/webhooks/*')],
      ),
    ]);
  });

  it('cannot be listed: dispatch lists only the payload bucket, for repeats whose source object is deleted', () => {
    const listed = statements.filter(({ actions }) => actions.includes('s3:ListBucket'));
    expect(listed.flatMap(({ resources }) => resources)).toEqual([
      { 'Fn::ImportValue': expect.stringContaining('StatePayloadsBucket') as unknown },
    ]);
    expect(statements.flatMap(({ actions }) => actions)).toContain('dynamodb:GetItem');
  });

  it('allow decryption with their KMS key if they have one', () => {
    expect(statements.filter(({ actions }) => actions.includes('kms:Decrypt'))).toMatchObject([
      { effect: 'Allow', resources: [SOURCES[1]?.keyArn] },
    ]);
  });

  it("are passed to dispatch with the account that must own each, by default the deployment's", () => {
    expect(environmentAt(tuned, 'PipelineDispatchFunction')['PAYLOAD_SOURCES']).toEqual({
      'Fn::Join': [
        '',
        [
          '[{"bucket":"shop-exports","prefix":"webhooks/","owner":"',
          { Ref: 'AWS::AccountId' },
          '"},{"bucket":"partner-data","prefix":"","owner":"999900001111"}]',
        ],
      ],
    });
  });
});

describe('the policy of the ingress queue', () => {
  const { id } = resourceAt(pipeline, 'AWS::SQS::Queue', 'PipelineIngressQueue');
  const deny = expect.objectContaining({ Effect: 'Deny' }) as unknown;

  it('allows no service to send by default', () => {
    expect(queueStatementsOf(pipeline, id)).toEqual([deny]);
  });

  it('allows the topics and rules of the setting to send, each by its service', () => {
    const maySend = (service: string, senders: string[]) => ({
      Effect: 'Allow',
      Action: 'sqs:SendMessage',
      Principal: { Service: `${service}.amazonaws.com` },
      Resource: arnOf(id),
      Condition: { ArnEquals: { 'aws:SourceArn': senders } },
    });
    expect(queueStatementsOf(tuned, id)).toEqual([
      deny,
      maySend('sns', SENDERS.topics),
      maySend('events', SENDERS.rules),
    ]);
  });
});

afterEach(() => {
  vi.restoreAllMocks();
});

/** The findings without acknowledgements, and the acknowledgements. */
const unacknowledged = (settings: Readonly<Record<string, unknown>>) => {
  const acknowledged: { path: string; id: string; reason: string }[] = [];
  const of = Validations.of.bind(Validations);
  vi.spyOn(Validations, 'of').mockImplementation((scope) => {
    const validations = of(scope);
    vi.spyOn(validations, 'acknowledge').mockImplementation((...rules) => {
      acknowledged.push(...rules.map(({ id, reason }) => ({ path: scope.node.path, id, reason })));
    });
    return validations;
  });
  const findings = securityFindings(settings, cdkContext);
  // Leaves out acknowledgements of CDK's warnings.
  return { findings, acknowledged: acknowledged.filter(({ id }) => id.startsWith('AwsSolutions-')) };
};

// `npm run check:templates` shows that there are no others.
it.each(Object.entries(checkedVariants))(
  'the stacks acknowledge only real findings of cdk-nag, each with a reason: %s',
  (_, settings) => {
    const { findings, acknowledged } = unacknowledged(settings);
    const unused = acknowledged.filter(
      ({ path, id }) =>
        !findings.some((finding) => finding.startsWith(`${path}/`) && finding.includes(`: ${id},`)),
    );
    expect(unused).toEqual([]);
    for (const { reason } of acknowledged) expect(reason).toMatch(/^[A-Z].{30,}\.$/);
  },
);
