import type { Template } from 'aws-cdk-lib/assertions';
import { type Resource, resourcesOf } from './templates.ts';

/**
 * Resources with data, and the properties whose change makes CloudFormation replace the resource ("Update requires:
 * Replacement" in the CloudFormation template reference) or, for tables, rebuild an index.
 */
const REPLACING: Readonly<Record<string, readonly string[]>> = {
  'AWS::DynamoDB::GlobalTable': [
    'TableName',
    'KeySchema',
    'AttributeDefinitions',
    'LocalSecondaryIndexes',
    'indexes',
  ],
  'AWS::S3::Bucket': ['BucketName', 'BucketNamePrefix', 'BucketNamespace', 'ObjectLockEnabled'],
  'AWS::KMS::Key': ['KeySpec', 'KeyUsage', 'MultiRegion', 'Origin'],
  'AWS::SQS::Queue': ['QueueName', 'FifoQueue'],
  'AWS::Scheduler::ScheduleGroup': ['Name'],
  'AWS::Events::EventBus': ['Name'],
  'AWS::Logs::LogGroup': ['LogGroupName'],
  'AWS::EC2::EIP': ['Domain', 'PublicIpv4Pool', 'NetworkBorderGroup'],
  'AWS::ApiGatewayV2::Api': ['ProtocolType'],
};

export type Kept = { readonly type: string } & Readonly<Record<string, unknown>>;

/** Resources that a release must not replace, by stack and logical id. */
export const keptIn = (templates: Readonly<Record<string, Template>>): Record<string, Record<string, Kept>> =>
  Object.fromEntries(
    Object.entries(templates).map(([stack, template]) => [
      stack,
      Object.fromEntries(
        Object.keys(REPLACING).flatMap((type) =>
          [...resourcesOf(template, type)].map(([id, resource]): [string, Kept] => [
            id,
            keptOf(type, resource),
          ]),
        ),
      ),
    ]),
  );

const keptOf = (type: string, { Properties }: Resource): Kept => {
  const values: Record<string, unknown> = { ...Properties, indexes: indexesOf(Properties) };
  const kept = (REPLACING[type] ?? []).flatMap((name): [string, unknown][] => {
    const value = values[name];
    return value === undefined ? [] : [[name, value]];
  });
  return { type, ...Object.fromEntries(kept) };
};

/**
 * CloudFormation changes an index by rebuilding it, which reads the whole table, and refuses to rebuild two at once.
 */
const indexesOf = ({ GlobalSecondaryIndexes: indexes }: Record<string, unknown>): unknown => indexes;
