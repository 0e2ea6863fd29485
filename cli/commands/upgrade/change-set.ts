import type { Change as SdkChange, CloudFormation, ResourceChange } from '@aws-sdk/client-cloudformation';
import { randomUUID } from 'node:crypto';
import { pollUntil } from '../../../local/poll-until.ts';
import type { NewStack } from './assembly.ts';
import type { Action, Change } from './compare.ts';

/** The longest template in a request; a longer one must be in S3. */
const MAX_BODY_BYTES = 51_200;

/**
 * What CloudFormation says that an update would change. Nothing is deployed: the change set is deleted again, also after Ctrl-C.
 * @throws if the caller may not, or CloudFormation cannot create it
 */
export async function previewChanges(
  cloudFormation: CloudFormation,
  next: NewStack,
  { deployed, stackId, signal }: { deployed: { Parameters: object }; stackId: string; signal: AbortSignal },
): Promise<Change[]> {
  const { Id: ChangeSetName } = await cloudFormation.createChangeSet({
    StackName: stackId,
    ChangeSetName: `posthaste-upgrade-check-${randomUUID()}`,
    Description: 'posthaste upgrade --check',
    Capabilities: ['CAPABILITY_IAM', 'CAPABILITY_NAMED_IAM', 'CAPABILITY_AUTO_EXPAND'],
    Parameters: Object.keys(next.template.Parameters)
      .filter((name) => name in deployed.Parameters)
      .map((ParameterKey) => ({ ParameterKey, UsePreviousValue: true })),
    ...(await templateIn(next, stackId)),
  });
  const which = { StackName: stackId, ChangeSetName };
  try {
    return (await awaitChanges(cloudFormation, which, signal)).flatMap(toChange);
  } finally {
    await cloudFormation.deleteChangeSet({ ChangeSetName });
  }
}

/** In the request, or where `cdk deploy` puts it, under the same name. */
async function templateIn({ body, uploadTo = '' }: NewStack, stackId: string) {
  if (Buffer.byteLength(body) <= MAX_BODY_BYTES) return { TemplateBody: body };
  const [, partition = '', , region = '', account = ''] = stackId.split(':');
  const place = uploadTo
    .replaceAll('${AWS::Partition}', partition)
    .replaceAll('${AWS::Region}', region)
    .replaceAll('${AWS::AccountId}', account);
  await upload(place, body);
  const domain = partition === 'aws-cn' ? 'amazonaws.com.cn' : 'amazonaws.com';
  return { TemplateURL: place.replace('s3:/', `https://s3.${region}.${domain}`) };
}

/** `place`: as `s3://bucket/key`. */
async function upload(place: string, body: string): Promise<void> {
  const [, bucket, key] = /^s3:\/\/([^/]+)\/(.+)$/.exec(place) ?? [];
  if (bucket === undefined || key === undefined)
    throw new Error('The template is too long for a request, and the app has no bucket for it.');
  const { S3 } = await import('@aws-sdk/client-s3');
  // The local AWS has no host name for each bucket.
  const s3 = new S3({ forcePathStyle: true });
  await s3.putObject({ Bucket: bucket, Key: key, Body: body, ContentType: 'application/json' });
  s3.destroy();
}

const WAIT = { withinMs: 120_000, interval: { floor: 1, ceiling: 1 } };

/** Once CloudFormation has compared the templates. */
async function awaitChanges(
  client: CloudFormation,
  which: { StackName: string; ChangeSetName: string | undefined },
  signal: AbortSignal,
): Promise<SdkChange[]> {
  const { paginateDescribeChangeSet } = await import('@aws-sdk/client-cloudformation');
  const read = async (): Promise<SdkChange[] | undefined> => {
    const changes: SdkChange[] = [];
    for await (const page of paginateDescribeChangeSet({ client }, which)) {
      const { Status, StatusReason = '', Changes = [] } = page;
      if (Status === 'FAILED') {
        if (/didn't contain changes|No updates are to be performed/.test(StatusReason)) return [];
        throw new Error(StatusReason);
      }
      if (Status !== 'CREATE_COMPLETE') return undefined;
      changes.push(...Changes);
    }
    return changes;
  };
  const changes = await pollUntil(read, { ...WAIT, signal });
  if (changes !== undefined) return changes;
  throw new Error(`CloudFormation did not finish the change set in ${WAIT.withinMs / 1000} s.`);
}

function toChange({ ResourceChange: change }: SdkChange): Change[] {
  if (change === undefined) return [];
  const { ResourceType: type = '', LogicalResourceId: logicalId = '', Details = [] } = change;
  const names = Details.flatMap(({ Target }) => Target?.Name ?? Target?.Attribute ?? []);
  return [{ action: toAction(change), type, logicalId, properties: [...new Set(names)] }];
}

const ACTIONS: Readonly<Record<string, Action>> = { Add: 'added', Import: 'added', Remove: 'removed' };

const REPLACEMENTS: Readonly<Record<string, Action>> = { False: 'changed', True: 'replaced' };

/** What CloudFormation does not know yet may be a replacement. */
function toAction({ Action: kind, Replacement }: ResourceChange): Action {
  return ACTIONS[String(kind)] ?? REPLACEMENTS[String(Replacement)] ?? 'may_be_replaced';
}
