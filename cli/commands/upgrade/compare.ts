import { isDeepStrictEqual } from 'node:util';
import * as z from 'zod';

const resourceSchema = z.looseObject({
  Type: z.string(),
  Properties: z.record(z.string(), z.unknown()).default({}),
  DeletionPolicy: z.string().optional(),
  UpdateReplacePolicy: z.string().optional(),
});

type Resource = z.output<typeof resourceSchema>;

/** The parts of a CloudFormation template that the check reads. */
export const templateSchema = z.object({
  Resources: z.record(z.string(), resourceSchema),
  Parameters: z.record(z.string(), z.unknown()).default({}),
});

export type Template = z.output<typeof templateSchema>;

/** `may_be_replaced`: CloudFormation learns it only while it deploys. */
export type Action = 'added' | 'changed' | 'may_be_replaced' | 'replaced' | 'removed';

export type Change = {
  action: Action;
  type: string;
  logicalId: string;
  /** Names of the properties that differ. */
  properties: readonly string[];
};

/**
 * Types with data or with an address that others know, by the properties whose change replaces the resource ("Update
 * requires: Replacement" in the CloudFormation template reference).
 */
export const REPLACING: Readonly<Record<string, readonly string[]>> = {
  'AWS::DynamoDB::GlobalTable': ['TableName', 'KeySchema', 'LocalSecondaryIndexes'],
  'AWS::S3::Bucket': ['BucketName', 'BucketNamePrefix', 'BucketNamespace', 'ObjectLockEnabled'],
  'AWS::KMS::Key': ['KeySpec', 'KeyUsage', 'MultiRegion', 'Origin'],
  'AWS::SQS::Queue': ['QueueName', 'FifoQueue'],
  'AWS::Scheduler::ScheduleGroup': ['Name'],
  'AWS::Events::EventBus': ['Name'],
  'AWS::Logs::LogGroup': ['LogGroupName'],
  'AWS::EC2::EIP': ['Domain', 'PublicIpv4Pool', 'NetworkBorderGroup'],
  'AWS::ApiGatewayV2::Api': ['ProtocolType'],
};

/** Changes between two templates. Of types that are not in `REPLACING`, replacements look like other changes. */
export function compareTemplates(deployed: Template, next: Template): Change[] {
  const ids = new Set([...Object.keys(deployed.Resources), ...Object.keys(next.Resources)]);
  return [...ids].flatMap((logicalId) => {
    const [before, after] = [deployed.Resources[logicalId], next.Resources[logicalId]];
    const type = (before ?? after)?.Type ?? '';
    const properties = differingProperties(before, after);
    const action = findAction(before, after, properties);
    return action === undefined ? [] : [{ action, type, logicalId, properties }];
  });
}

function findAction(
  before: Resource | undefined,
  after: Resource | undefined,
  properties: readonly string[],
): Action | undefined {
  if (before === undefined) return 'added';
  if (after === undefined) return 'removed';
  if (before.Type !== after.Type) return 'replaced';
  if (properties.length === 0) return undefined;
  return properties.some((name) => REPLACING[after.Type]?.includes(name)) ? 'replaced' : 'changed';
}

function differingProperties(before: Resource | undefined, after: Resource | undefined): string[] {
  if (before === undefined || after === undefined) return [];
  // With what happens to the resource when it is removed or replaced.
  const [one = {}, other = {}] = [before, after].map(
    ({ Properties, DeletionPolicy, UpdateReplacePolicy }): Resource['Properties'] => ({
      ...Properties,
      ...{ DeletionPolicy, UpdateReplacePolicy },
    }),
  );
  const names = new Set([...Object.keys(one), ...Object.keys(other)]);
  return [...names].filter((name) => !isDeepStrictEqual(one[name], other[name]));
}

/** A change that takes data away from the deployment. `stays`: the resource stays in the account, outside of the stack. */
export type Loss = Change & { stays: boolean };

const LOSING: readonly Action[] = ['may_be_replaced', 'replaced', 'removed'];

/** The changes that take data away. What the template says to retain counts as data, also of other constructs. */
export function findLosses(changes: readonly Change[], { Resources }: Template): Loss[] {
  return changes.flatMap((change) => {
    const resource = Resources[change.logicalId];
    if (resource === undefined || !LOSING.includes(change.action)) return [];
    const policy = change.action === 'removed' ? resource.DeletionPolicy : resource.UpdateReplacePolicy;
    const stays = isRetained(policy);
    return stays || isRetained(resource.DeletionPolicy) || resource.Type in REPLACING
      ? [{ ...change, stays }]
      : [];
  });
}

function isRetained(policy = 'Delete'): boolean {
  return policy !== 'Delete';
}

const functionSchema = z.object({
  Environment: z.object({ Variables: z.object({ POSTHASTE_VERSION: z.string() }) }),
});

/** The version of the functions in these templates; undefined if they have none. */
export function findVersion(templates: readonly Template[]): string | undefined {
  const resources = templates.flatMap((template) => Object.values(template.Resources));
  const functions = resources.flatMap(({ Properties }) => functionSchema.safeParse(Properties).data ?? []);
  return functions[0]?.Environment.Variables.POSTHASTE_VERSION;
}

/** Whether two templates have the same code of all functions. */
export function isSameCode(changes: readonly Change[]): boolean {
  return !changes.some(
    ({ type, properties, action }) =>
      type === 'AWS::Lambda::Function' && (action !== 'changed' || properties.includes('Code')),
  );
}
