import { App, Stack, Validations } from 'aws-cdk-lib';
import { Bucket } from 'aws-cdk-lib/aws-s3';
import { AwsSolutionsChecks } from 'cdk-nag';
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

/** Action → resources. */
const GRANTS: Record<string, Record<string, unknown[]>> = {
  Dispatch: {
    ...consume(queueArn('Ingress')),
    'dynamodb:Query': [table('Subscriptions')],
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
    'dynamodb:PutItem': [table('Deliveries')],
    'dynamodb:UpdateItem': [table('Deliveries')],
    'dynamodb:Query': [table('Subscriptions'), ...deliveryListings],
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

const payloadSources = [
  { bucket: 'shop-exports', prefix: 'webhooks/' },
  {
    bucket: 'partner-data',
    owner: '999900001111',
    keyArn: 'arn:aws:kms:eu-central-1:999900001111:key/1234abcd-12ab-34cd-56ef-1234567890ab',
  },
];

const { pipeline: withSources } = templatesFor({ payloadSources });

const partitioned = (rest: string) => ({ 'Fn::Join': ['', ['arn:', { Ref: 'AWS::Partition' }, rest]] });

describe('payload sources', () => {
  const statements = statementsAt(withSources, 'PipelineDispatchRoleDefaultPolicy');

  it('can be read by dispatch, only under their prefixes', () => {
    expect(statements.filter(({ actions }) => actions.includes('s3:GetObjectVersion'))).toEqual([
      {
        effect: 'Allow',
        actions: ['s3:GetObject', 's3:GetObjectVersion'],
        resources: [
          partitioned(':s3:::shop-exports/webhooks/*'),
          partitioned(':s3:::partner-data/*'),
        ].toSorted((one, other) => JSON.stringify(one).localeCompare(JSON.stringify(other))),
        condition: undefined,
      },
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
      { effect: 'Allow', resources: [payloadSources[1]?.keyArn] },
    ]);
  });

  it("are passed to dispatch with the account that must own each, by default the deployment's", () => {
    expect(environmentAt(withSources, 'PipelineDispatchFunction')['PAYLOAD_SOURCES']).toEqual({
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

describe('the memory of dispatch', () => {
  it.each([
    { sources: [], megabytes: 512 },
    { sources: payloadSources, megabytes: 1024 },
  ])(
    'is $megabytes MB with $sources.length sources, so that ten of the largest messages fit',
    ({ sources, megabytes }) => {
      const { pipeline: template } = templatesFor({ payloadSources: sources });
      expect(
        resourceAt(template, 'AWS::Lambda::Function', 'PipelineDispatchFunction').Properties['MemorySize'],
      ).toBe(megabytes);
    },
  );
});

describe('the policy of the ingress queue', () => {
  const policyWith = (settings: Record<string, unknown>): unknown[] => {
    const { pipeline: template } = templatesFor(settings);
    const { id } = resourceAt(template, 'AWS::SQS::Queue', 'PipelineIngressQueue');
    return queueStatementsOf(template, id);
  };

  it('allows no service to send by default', () => {
    expect(policyWith({})).toEqual([expect.objectContaining({ Effect: 'Deny' })]);
  });

  it('allows the topics and rules of the setting to send, each by its service', () => {
    const topics = ['arn:aws:sns:eu-central-1:111122223333:orders-topic'];
    const rules = [
      'arn:aws:events:eu-central-1:111122223333:rule/orders',
      'arn:aws:events:eu-central-1:111122223333:rule/shop-bus/orders',
    ];
    const { pipeline: template } = templatesFor();
    const queue = arnOf(resourceAt(template, 'AWS::SQS::Queue', 'PipelineIngressQueue').id);
    const allowed = (service: string, senders: string[]) => ({
      Effect: 'Allow',
      Action: 'sqs:SendMessage',
      Principal: { Service: `${service}.amazonaws.com` },
      Resource: queue,
      Condition: { ArnEquals: { 'aws:SourceArn': senders } },
    });
    expect(policyWith({ ingressSenders: [...rules, ...topics].join(', ') })).toEqual([
      expect.objectContaining({ Effect: 'Deny' }),
      allowed('sns', topics),
      allowed('events', rules),
    ]);
  });
});

const variants = Object.entries(checkedVariants).map(([name, settings]) => ({ name, settings }));

afterEach(() => {
  vi.restoreAllMocks();
});

type Acknowledged = { path: string; id: string; reason: string };

/** The findings without acknowledgements, and the acknowledgements. */
const unacknowledged = (settings: Readonly<Record<string, unknown>>) => {
  const acknowledged: Acknowledged[] = [];
  const of = Validations.of.bind(Validations);
  vi.spyOn(Validations, 'of').mockImplementation((scope) => {
    const validations = of(scope);
    vi.spyOn(validations, 'acknowledge').mockImplementation((...rules) => {
      acknowledged.push(...rules.map(({ id, reason }) => ({ path: scope.node.path, id, reason })));
    });
    return validations;
  });
  const findings = securityFindings(settings, cdkContext);
  vi.restoreAllMocks();
  // Leaves out acknowledgements of CDK's warnings.
  return { findings, acknowledged: acknowledged.filter(({ id }) => id.startsWith('AwsSolutions-')) };
};

describe('the stacks, checked by cdk-nag', () => {
  it.each(variants)('have no finding that is not acknowledged: $name', ({ settings }) => {
    expect(securityFindings(settings, cdkContext)).toEqual([]);
  });

  it('would have findings for a careless bucket', () => {
    const app = new App({ context: { ...cdkContext } });
    new Bucket(new Stack(app, 'Careless'), 'Bucket');
    const found = new AwsSolutionsChecks(app).validateScope(app).violations.map(({ ruleName }) => ruleName);
    expect(found).toContain('AwsSolutions-S10');
  });

  it.each(variants)('acknowledge only real findings, each with a reason: $name', ({ settings }) => {
    const { findings, acknowledged } = unacknowledged(settings);
    const unused = acknowledged.filter(
      ({ path, id }) =>
        !findings.some((finding) => finding.startsWith(`${path}/`) && finding.includes(`: ${id},`)),
    );
    expect(unused).toEqual([]);
    for (const { reason } of acknowledged) expect(reason).toMatch(/^[A-Z].{30,}\.$/);
  });
});
