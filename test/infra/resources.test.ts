import { describe, expect, it } from 'vitest';
import { checkedVariants } from '../../infra/checked-variants.ts';
import { arnOf, LOCAL, resourceAt, resourcesOf, statementsAt, templatesFor, TUNED } from './templates.ts';

const FUNCTION = 'AWS::Lambda::Function';
const ALIAS = 'AWS::Lambda::Alias';
const LOGS = 'AWS::Logs::LogGroup';
const QUEUE = 'AWS::SQS::Queue';
const MAPPING = 'AWS::Lambda::EventSourceMapping';
const TABLE = 'AWS::DynamoDB::GlobalTable';
const KEY = 'AWS::KMS::Key';
const BUCKET = 'AWS::S3::Bucket';
const DAY = 86_400;

const standard = templatesFor();
const { state, pipeline } = standard;
const tuned = templatesFor(TUNED);
const local = templatesFor(LOCAL);

/** The resource of either stack. */
const at = (type: string, path: string, templates = standard) =>
  resourceAt(path.startsWith('State') ? templates.state : templates.pipeline, type, path);

const index = (name: string, [partition, sort]: [string, string], projection: object) => ({
  IndexName: name,
  KeySchema: [
    { AttributeName: partition, KeyType: 'HASH' },
    { AttributeName: sort, KeyType: 'RANGE' },
  ],
  Projection: projection,
});

const KEYS = { ProjectionType: 'KEYS_ONLY' };
const STATUS = { ProjectionType: 'INCLUDE', NonKeyAttributes: ['status'] };

/** Tables are protected on AWS only. */
const protectedTable = (isProtected: boolean, policy: string) => ({
  DeletionPolicy: policy,
  UpdateReplacePolicy: policy,
  Properties: {
    BillingMode: 'PAY_PER_REQUEST',
    KeySchema: [
      { AttributeName: 'pk', KeyType: 'HASH' },
      { AttributeName: 'sk', KeyType: 'RANGE' },
    ],
    TimeToLiveSpecification: { AttributeName: 'ttl', Enabled: true },
    Replicas: [
      {
        DeletionProtectionEnabled: isProtected,
        PointInTimeRecoverySpecification: { PointInTimeRecoveryEnabled: isProtected },
      },
    ],
  },
});

const PRIVATE = {
  BlockPublicAcls: true,
  BlockPublicPolicy: true,
  IgnorePublicAcls: true,
  RestrictPublicBuckets: true,
};

const expiringAfter = (days: number) => ({ Rules: [{ ExpirationInDays: days, Status: 'Enabled' }] });

const PROTECTED = protectedTable(true, 'Retain');
const DELETABLE = protectedTable(false, 'Delete');
const SUBSCRIPTIONS_INDEX = index('queues', ['queuesPk', 'queuesSk'], { ProjectionType: 'ALL' });
const ENCRYPTED = [{ ServerSideEncryptionByDefault: { SSEAlgorithm: 'AES256' } }];

describe('what is kept', () => {
  it.each<[what: string, resource: Parameters<typeof at>, facts: object]>([
    ['deliveries are protected, on demand, and expire by ttl', [TABLE, 'StateDeliveriesTable'], PROTECTED],
    ['subscriptions are too', [TABLE, 'StateSubscriptionsTable'], PROTECTED],
    [
      'subscriptions have an index of queues with all attributes',
      [TABLE, 'StateSubscriptionsTable'],
      { Properties: { GlobalSecondaryIndexes: [SUBSCRIPTIONS_INDEX] } },
    ],
    [
      'the key of secrets is rotated every year and retained, because secrets cannot be opened without it',
      [KEY, 'StateSecretsKey'],
      { DeletionPolicy: 'Retain', UpdateReplacePolicy: 'Retain', Properties: { EnableKeyRotation: true } },
    ],
    [
      'the payload bucket is private, encrypted, retained and has an access log',
      [BUCKET, 'StatePayloadsBucket'],
      {
        DeletionPolicy: 'Retain',
        Properties: {
          PublicAccessBlockConfiguration: PRIVATE,
          BucketEncryption: { ServerSideEncryptionConfiguration: ENCRYPTED },
          LoggingConfiguration: { DestinationBucketName: { Ref: at(BUCKET, 'StatePayloadsAccessLogs').id } },
        },
      },
    ],
    [
      'its access log is private and expires',
      [BUCKET, 'StatePayloadsAccessLogs', tuned],
      {
        Properties: { LifecycleConfiguration: expiringAfter(7), PublicAccessBlockConfiguration: PRIVATE },
      },
    ],
    ['deliveries can be deleted locally', [TABLE, 'StateDeliveriesTable', local], DELETABLE],
    ['subscriptions can be deleted locally', [TABLE, 'StateSubscriptionsTable', local], DELETABLE],
    ['the key of secrets is deleted locally', [KEY, 'StateSecretsKey', local], { DeletionPolicy: 'Delete' }],
    ['the bucket is deleted locally', [BUCKET, 'StatePayloadsBucket', local], { DeletionPolicy: 'Delete' }],
  ])('%s', (_what, resource, facts) => {
    expect(at(...resource)).toMatchObject(facts);
  });

  it('can be warm for many writes from the start, with a key for several regions', () => {
    const chosen = templatesFor(checkedVariants['fromTheStart']);
    const WarmThroughput = { WriteUnitsPerSecond: 10_000 };
    const { Properties } = at(TABLE, 'StateDeliveriesTable', chosen);
    expect(Properties).toMatchObject({
      WarmThroughput,
      GlobalSecondaryIndexes: Array(4).fill(expect.objectContaining({ WarmThroughput })),
    });
    expect(at(KEY, 'StateSecretsKey', chosen).Properties).toMatchObject({ MultiRegion: true });
    expect(at(TABLE, 'StateSubscriptionsTable', chosen)).toEqual(at(TABLE, 'StateSubscriptionsTable'));
    expect(at(KEY, 'StateSecretsKey').Properties).not.toHaveProperty('MultiRegion');
  });

  it('has indexes of deliveries with keys, and the status only where deliveries are listed', () => {
    const { GlobalSecondaryIndexes, AttributeDefinitions } = at(TABLE, 'StateDeliveriesTable').Properties;
    expect(GlobalSecondaryIndexes).toEqual([
      index('by-hour', ['byHourPk', 'byHourSk'], KEYS),
      index('by-subscription', ['bySubscriptionPk', 'notDeliveredSk'], STATUS),
      index('by-queue', ['byQueuePk', 'notDeliveredSk'], STATUS),
      index('overdue', ['overduePk', 'overdueAt'], KEYS),
    ]);
    expect(AttributeDefinitions).toContainEqual({ AttributeName: 'overdueAt', AttributeType: 'N' });
  });

  it('has no access control list, and a symmetric key', () => {
    expect(at(BUCKET, 'StatePayloadsAccessLogs').Properties).not.toHaveProperty('AccessControl');
    for (const name of ['KeySpec', 'KeyUsage'])
      expect(at(KEY, 'StateSecretsKey').Properties).not.toHaveProperty(name);
  });

  it('has a key that only principals can use that IAM policies of the account allow', () => {
    const root = ['arn:', { Ref: 'AWS::Partition' }, ':iam::', { Ref: 'AWS::AccountId' }, ':root'];
    const AWS = { 'Fn::Join': ['', root] };
    expect(at(KEY, 'StateSecretsKey').Properties['KeyPolicy']).toEqual({
      Version: '2012-10-17',
      Statement: [{ Effect: 'Allow', Action: 'kms:*', Resource: '*', Principal: { AWS } }],
    });
  });

  it('has payloads for the longest schedule, extended by Retry-After, plus the retention', () => {
    const expiry = (templates = standard) =>
      at(BUCKET, 'StatePayloadsBucket', templates).Properties['LifecycleConfiguration'];
    expect(expiry()).toEqual(expiringAfter(30 + 15 + 5 + 1));
    expect(expiry(tuned)).toEqual(expiringAfter(20 + 15 + 9 + 1));
  });

  it('has a bucket that accepts only TLS', () => {
    const Condition = { Bool: { 'aws:SecureTransport': 'false' } };
    state.hasResourceProperties('AWS::S3::BucketPolicy', {
      PolicyDocument: { Statement: [{ Effect: 'Deny', Action: 's3:*', Principal: { AWS: '*' }, Condition }] },
    });
  });
});

const functions = ['Dispatch', 'Deliver', 'Reconcile', 'Operate', 'Api', 'Secrets'];

describe('each function', () => {
  it.each(functions)('%s runs Node 24 on arm64, with a role and a log group that expires', (name) => {
    const path = `Pipeline${name}`;
    const role = at('AWS::IAM::Role', `${path}Role`);
    const logGroup = at(LOGS, `${path}LogGroup`);
    expect(at(FUNCTION, `${path}Function`).Properties).toMatchObject({
      Runtime: 'nodejs24.x',
      Architectures: ['arm64'],
      Handler: 'index.handler',
      LoggingConfig: {
        LogGroup: { Ref: logGroup.id },
        LogFormat: 'JSON',
        SystemLogLevel: 'WARN',
        ApplicationLogLevel: 'TRACE',
      },
      Role: arnOf(role.id),
    });
    expect(role.Properties).not.toHaveProperty('ManagedPolicyArns');
    expect(logGroup).toMatchObject({ DeletionPolicy: 'Retain', Properties: { RetentionInDays: 30 } });
    expect(at(LOGS, `${path}LogGroup`, tuned).Properties['RetentionInDays']).toBe(7);
    expect(at(LOGS, `${path}LogGroup`, local).DeletionPolicy).toBe('Delete');
  });

  it('has its memory: of dispatch more with payload sources, of deliver what is set', () => {
    const memory = (templates = standard) =>
      functions.map((name) => at(FUNCTION, `Pipeline${name}Function`, templates).Properties['MemorySize']);
    expect(memory()).toEqual([512, 512, 256, 512, 1_769, 1_769]);
    expect(memory(tuned)).toEqual([1_024, 384, 256, 512, 1_769, 1_769]);
  });

  it('is stopped by loop detection, except deliver and operate, which send to queues that they consume', () => {
    const allowed = [...resourcesOf(pipeline, FUNCTION)]
      .filter(([, { Properties }]) => Properties['RecursiveLoop'] === 'Allow')
      .map(([id]) => id.slice(0, -8));
    expect(allowed).toEqual(['PipelineDeliverFunction', 'PipelineOperateFunction']);
  });

  it.each(functions)('%s sends traces, and may do so, only with the setting', (name) => {
    const tracingIn = (templates = standard) => ({
      config: at(FUNCTION, `Pipeline${name}Function`, templates).Properties['TracingConfig'],
      may: statementsAt(templates.pipeline, `Pipeline${name}RoleDefaultPolicy`)
        .filter(({ actions }) => actions.some((action) => action.startsWith('xray:')))
        .map(({ actions, resources }) => [actions.toSorted(), resources]),
    });
    const calls = ['xray:PutTelemetryRecords', 'xray:PutTraceSegments'];
    expect(tracingIn()).toEqual({ config: undefined, may: [] });
    expect(tracingIn(tuned)).toEqual({ config: { Mode: 'Active' }, may: [[calls, ['*']]] });
  });
});

it('reconcile runs every minute and ends before its next run; failed or late runs are not repeated', () => {
  const { id, Properties } = at(FUNCTION, 'PipelineReconcileFunction');
  const alias = at(ALIAS, 'PipelineReconcileLive').id;
  expect(Properties['Timeout']).toBe(60);
  pipeline.hasResourceProperties('AWS::Events::Rule', {
    ScheduleExpression: 'rate(1 minute)',
    State: 'ENABLED',
    Targets: [
      { Arn: { Ref: alias }, RetryPolicy: { MaximumEventAgeInSeconds: 60, MaximumRetryAttempts: 0 } },
    ],
  });
  pipeline.hasResourceProperties('AWS::Lambda::EventInvokeConfig', {
    FunctionName: { Ref: id },
    Qualifier: 'live',
    MaximumEventAgeInSeconds: 60,
    MaximumRetryAttempts: 0,
  });
});

/** Each queue with its dead letters; those without keep what they get for longer. */
const queues: { queue: string; deadLetters?: string }[] = [
  { queue: 'Ingress', deadLetters: 'IngressDeadLetters' },
  { queue: 'Delivery', deadLetters: 'DeliveryDeadLetters' },
  { queue: 'Retry', deadLetters: 'DeliveryDeadLetters' },
  { queue: 'Operation', deadLetters: 'OperationDeadLetters' },
  { queue: 'IngressDeadLetters' },
  { queue: 'DeliveryDeadLetters' },
  { queue: 'SchedulesDeadLetters' },
  { queue: 'OperationDeadLetters' },
  { queue: 'Undeliverable' },
];

describe('SQS queues', () => {
  it.each(queues)(
    '$queue is encrypted, accepts only TLS, and keeps messages for 4 days, dead letters for 14',
    ({ queue, deadLetters }) => {
      const { id, Properties } = at(QUEUE, `Pipeline${queue}Queue`);
      expect(Properties).toMatchObject({
        SqsManagedSseEnabled: true,
        MessageRetentionPeriod: (deadLetters === undefined ? 14 : 4) * DAY,
      });
      expect(Properties['RedrivePolicy']).toEqual(
        deadLetters && {
          deadLetterTargetArn: arnOf(at(QUEUE, `Pipeline${deadLetters}Queue`).id),
          maxReceiveCount: 100,
        },
      );
      const deny = { Effect: 'Deny', Action: 'sqs:*', Principal: { AWS: '*' }, Resource: arnOf(id) };
      const Statement = [{ ...deny, Condition: { Bool: { 'aws:SecureTransport': 'false' } } }];
      expect(
        [...resourcesOf(pipeline, 'AWS::SQS::QueuePolicy').values()].map((policy) => policy.Properties),
      ).toContainEqual({
        Queues: [{ Ref: id }],
        PolicyDocument: { Version: '2012-10-17', Statement },
      });
    },
  );

  it('are kept with their messages when the stack is deleted, but not locally', () => {
    const policiesIn = ({ pipeline: template }: typeof standard) => [
      ...new Set([...resourcesOf(template, QUEUE).values()].map(({ DeletionPolicy }) => DeletionPolicy)),
    ];
    expect(policiesIn(standard)).toEqual(['Retain']);
    expect(policiesIn(local)).toEqual(['Delete']);
  });

  it.each([
    { queue: 'Ingress', consumer: 'Dispatch', timeout: 30, gathering: 20 },
    { queue: 'Operation', consumer: 'Operate', timeout: 40, gathering: 0 },
    { queue: 'Delivery', consumer: 'Deliver', timeout: 15 + 15, tunedTimeout: 30 + 15, gathering: 20 },
    { queue: 'Retry', consumer: 'Deliver', timeout: 15 + 15, tunedTimeout: 30 + 15, gathering: 0 },
  ])(
    '$queue hides messages for the timeout of $consumer, plus 5 s, plus $gathering s if Lambda gathers them',
    ({ queue, consumer, timeout, tunedTimeout = timeout, gathering }) => {
      const timesIn = (templates = standard) => [
        at(FUNCTION, `Pipeline${consumer}Function`, templates).Properties['Timeout'],
        at(QUEUE, `Pipeline${queue}Queue`, templates).Properties['VisibilityTimeout'],
      ];
      expect(timesIn()).toEqual([timeout, timeout + 5]);
      expect(timesIn(tuned)).toEqual([tunedTimeout, tunedTimeout + 5 + gathering]);
    },
  );
});

/** The name of the function in the ARN of its alias. */
const nameInArn = (alias: string) => ({ 'Fn::Select': [6, { 'Fn::Split': [':', { Ref: alias }] }] });

const gathered = { BatchSize: 50, MaximumBatchingWindowInSeconds: 3 };

it.each([
  { path: 'DispatchIngress', from: 'Ingress', to: 'Dispatch', most: [50, 11], size: 10, inTuned: gathered },
  {
    path: 'DeliverFirstAttempts',
    from: 'Delivery',
    to: 'Deliver',
    most: [100, 400],
    size: 10,
    inTuned: gathered,
  },
  { path: 'DeliverRetries', from: 'Retry', to: 'Deliver', most: [50, 100], size: 10, inTuned: {} },
  { path: 'OperateOperations', from: 'Operation', to: 'Operate', most: [5, 5], size: 1, inTuned: {} },
])(
  'the event source mapping $path has batches of $size, reports failures for each message, and limits concurrency by its setting',
  ({ path, from, to, most, size, inTuned }) => {
    const mappingIn = (templates = standard) => at(MAPPING, `Pipeline${path}`, templates).Properties;
    const mapping = {
      BatchSize: size,
      EventSourceArn: arnOf(at(QUEUE, `Pipeline${from}Queue`).id),
      FunctionName: { 'Fn::Join': ['', [nameInArn(at(ALIAS, `Pipeline${to}Live`).id), ':live']] },
      FunctionResponseTypes: ['ReportBatchItemFailures'],
    };
    expect(mappingIn()).toEqual({ ...mapping, ScalingConfig: { MaximumConcurrency: most[0] } });
    const ScalingConfig = { MaximumConcurrency: most[1] };
    expect(mappingIn(tuned)).toEqual({ ...mapping, ...inTuned, ScalingConfig });
  },
);
