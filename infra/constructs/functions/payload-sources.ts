import { Stack } from 'aws-cdk-lib';
import { Grant, type IRole } from 'aws-cdk-lib/aws-iam';
import type { Construct } from 'constructs';
import type { DeploymentSettings } from '../../settings.ts';
import { acknowledgeWildcard } from '../acknowledged-wildcard.ts';

type Sources = DeploymentSettings['payloadSources'];

/** The variable `payloadSources`: each with the account that its bucket has to belong to, ours if none is named. */
export function payloadSourcesVariable(scope: Construct, sources: Sources): string {
  const { account } = Stack.of(scope);
  return Stack.of(scope).toJsonString(
    sources.map(({ bucket, prefix, owner }) => ({ bucket, prefix, owner: owner ?? account })),
  );
}

/**
 * Reading under these prefixes, and nothing else: no listing either, so S3 does not tell an object that is missing from one
 * that may not be read. A bucket of another account has to allow it as well, and so has a key.
 */
export function grantReadSources(grantee: IRole, sources: Sources): void {
  const { partition } = Stack.of(grantee);
  for (const { bucket, prefix, keyArn } of sources) {
    const objects = `arn:${partition}:s3:::${bucket}/${prefix}*`;
    acknowledgeWildcard(grantee, objects, 'Which objects producers refer to, only their messages say.');
    // With a version's id, S3 asks for the second ("GetObject", S3 API reference).
    const actions = ['s3:GetObject', 's3:GetObjectVersion'];
    Grant.addToPrincipal({ grantee, actions, resourceArns: [objects] });
    if (keyArn !== undefined)
      Grant.addToPrincipal({ grantee, actions: ['kms:Decrypt'], resourceArns: [keyArn] });
  }
}
