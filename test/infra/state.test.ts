import { describe, expect, it } from 'vitest';
import { resourceAt, resourcesOf, templatesFor } from './templates.ts';

const TABLE = 'AWS::DynamoDB::GlobalTable';
const { state: onAws } = templatesFor();
const { state: local } = templatesFor({ local: true });

const tables = [{ path: 'StateSubscriptionsTable' }, { path: 'StateDeliveriesTable' }];

describe('each table', () => {
  it.each(tables)('$path is protected against deletion and bad writes', ({ path }) => {
    expect(resourceAt(onAws, TABLE, path)).toMatchObject({
      DeletionPolicy: 'Retain',
      UpdateReplacePolicy: 'Retain',
      Properties: {
        Replicas: [
          {
            DeletionProtectionEnabled: true,
            PointInTimeRecoverySpecification: { PointInTimeRecoveryEnabled: true },
          },
        ],
      },
    });
  });

  it.each(tables)('$path can be deleted in a local deployment', ({ path }) => {
    expect(resourceAt(local, TABLE, path)).toMatchObject({
      DeletionPolicy: 'Delete',
      UpdateReplacePolicy: 'Delete',
      Properties: {
        Replicas: [
          {
            DeletionProtectionEnabled: false,
            PointInTimeRecoverySpecification: { PointInTimeRecoveryEnabled: false },
          },
        ],
      },
    });
  });

  it.each(tables)('$path is on demand, keyed by pk and sk, and expires by ttl', ({ path }) => {
    expect(resourceAt(onAws, TABLE, path).Properties).toMatchObject({
      BillingMode: 'PAY_PER_REQUEST',
      KeySchema: [
        { AttributeName: 'pk', KeyType: 'HASH' },
        { AttributeName: 'sk', KeyType: 'RANGE' },
      ],
      TimeToLiveSpecification: { AttributeName: 'ttl', Enabled: true },
    });
  });
});

const index = (name: string, partition: string, sort: string, projection: object) => ({
  IndexName: name,
  KeySchema: [
    { AttributeName: partition, KeyType: 'HASH' },
    { AttributeName: sort, KeyType: 'RANGE' },
  ],
  Projection: projection,
});

describe('the indexes', () => {
  it('of queues carry all attributes', () => {
    expect(resourceAt(onAws, TABLE, 'StateSubscriptionsTable').Properties).toMatchObject({
      GlobalSecondaryIndexes: [index('queues', 'queuesPk', 'queuesSk', { ProjectionType: 'ALL' })],
    });
  });

  it('of deliveries carry keys, and the status only where deliveries are listed', () => {
    const keys = { ProjectionType: 'KEYS_ONLY' };
    const status = { ProjectionType: 'INCLUDE', NonKeyAttributes: ['status'] };
    const { Properties } = resourceAt(onAws, TABLE, 'StateDeliveriesTable');
    expect(Properties['GlobalSecondaryIndexes']).toEqual([
      index('by-hour', 'byHourPk', 'byHourSk', keys),
      index('by-subscription', 'bySubscriptionPk', 'notDeliveredSk', status),
      index('by-queue', 'byQueuePk', 'notDeliveredSk', status),
      index('overdue', 'overduePk', 'overdueAt', keys),
    ]);
  });

  it('of overdue deliveries sort by number', () => {
    const { Properties } = resourceAt(onAws, TABLE, 'StateDeliveriesTable');
    expect(Properties['AttributeDefinitions']).toContainEqual({
      AttributeName: 'overdueAt',
      AttributeType: 'N',
    });
  });
});

describe('the key of signing secrets', () => {
  const KEY = 'AWS::KMS::Key';

  it('is symmetric, rotated every year, and retained, because secrets cannot be opened without it', () => {
    const { DeletionPolicy, UpdateReplacePolicy, Properties } = resourceAt(onAws, KEY, 'StateSecretsKey');
    expect([DeletionPolicy, UpdateReplacePolicy]).toEqual(['Retain', 'Retain']);
    expect(Properties).toMatchObject({ EnableKeyRotation: true });
    expect(Properties).not.toHaveProperty('KeySpec');
    expect(Properties).not.toHaveProperty('KeyUsage');
  });

  it('can be used only by principals that IAM policies of the account allow', () => {
    expect(resourceAt(onAws, KEY, 'StateSecretsKey').Properties['KeyPolicy']).toEqual({
      Version: '2012-10-17',
      Statement: [
        {
          Effect: 'Allow',
          Action: 'kms:*',
          Resource: '*',
          Principal: {
            AWS: {
              'Fn::Join': [
                '',
                ['arn:', { Ref: 'AWS::Partition' }, ':iam::', { Ref: 'AWS::AccountId' }, ':root'],
              ],
            },
          },
        },
      ],
    });
  });

  it('is deleted with a local deployment', () => {
    expect(resourceAt(local, KEY, 'StateSecretsKey').DeletionPolicy).toBe('Delete');
  });
});

describe('the payload bucket', () => {
  it('is private, encrypted and retained', () => {
    expect(resourceAt(onAws, 'AWS::S3::Bucket', 'StatePayloadsBucket')).toMatchObject({
      DeletionPolicy: 'Retain',
      Properties: {
        PublicAccessBlockConfiguration: {
          BlockPublicAcls: true,
          BlockPublicPolicy: true,
          IgnorePublicAcls: true,
          RestrictPublicBuckets: true,
        },
        BucketEncryption: {
          ServerSideEncryptionConfiguration: [{ ServerSideEncryptionByDefault: { SSEAlgorithm: 'AES256' } }],
        },
      },
    });
  });

  it('accepts only TLS', () => {
    onAws.hasResourceProperties('AWS::S3::BucketPolicy', {
      PolicyDocument: {
        Statement: [
          {
            Effect: 'Deny',
            Action: 's3:*',
            Principal: { AWS: '*' },
            Condition: { Bool: { 'aws:SecureTransport': 'false' } },
          },
        ],
      },
    });
  });

  const expiryWith = (settings: Record<string, unknown>): unknown =>
    resourceAt(templatesFor(settings).state, 'AWS::S3::Bucket', 'StatePayloadsBucket').Properties[
      'LifecycleConfiguration'
    ];

  it('keeps payloads for the longest schedule, extended by Retry-After, plus the retention', () => {
    const expiry = (days: number) => ({ Rules: [{ ExpirationInDays: days, Status: 'Enabled' }] });
    expect(expiryWith({ retentionDays: 20, retryAfterCapSeconds: 0 })).toEqual(expiry(20 + 15 + 1));
    expect(expiryWith({ retentionDays: 20, retryAfterCapSeconds: 3600 })).toEqual(expiry(20 + 15 + 5 + 1));
  });

  it('has an access log in another private bucket, which expires', () => {
    const logs = resourceAt(
      templatesFor({ logRetentionDays: 7 }).state,
      'AWS::S3::Bucket',
      'StatePayloadsAccessLogs',
    );
    expect(
      resourceAt(onAws, 'AWS::S3::Bucket', 'StatePayloadsBucket').Properties['LoggingConfiguration'],
    ).toEqual({ DestinationBucketName: { Ref: logs.id } });
    expect(logs.Properties).toMatchObject({
      LifecycleConfiguration: { Rules: [{ ExpirationInDays: 7, Status: 'Enabled' }] },
      PublicAccessBlockConfiguration: { BlockPublicPolicy: true, RestrictPublicBuckets: true },
    });
    expect(logs.Properties).not.toHaveProperty('AccessControl');
  });

  it('is deleted with a local deployment, without a function by CDK that empties it', () => {
    expect(resourceAt(local, 'AWS::S3::Bucket', 'StatePayloadsBucket').DeletionPolicy).toBe('Delete');
    expect(resourcesOf(local, 'AWS::Lambda::Function').size).toBe(0);
  });
});
