import {
  CreateAccessKeyCommand,
  CreateUserCommand,
  IAMClient,
  PutUserPolicyCommand,
} from '@aws-sdk/client-iam';
import { randomUUID } from 'node:crypto';
import type { Credentials } from './api-client.ts';
import { deployment } from './deployment.ts';

type Statement = { Effect: 'Allow' | 'Deny'; Action: string; Resource: string };

/** Creates an IAM user with these statements as its policy, or without a policy. */
export const userWith = async (...Statement: readonly Statement[]): Promise<Credentials> => {
  const iam = new IAMClient(deployment.client);
  const UserName = `user-${randomUUID()}`;
  await iam.send(new CreateUserCommand({ UserName }));
  if (Statement.length > 0) {
    const PolicyDocument = JSON.stringify({ Version: '2012-10-17', Statement });
    await iam.send(new PutUserPolicyCommand({ UserName, PolicyName: 'policy', PolicyDocument }));
  }
  const { AccessKey } = await iam.send(new CreateAccessKeyCommand({ UserName }));
  if (AccessKey?.AccessKeyId === undefined || AccessKey.SecretAccessKey === undefined)
    throw new Error('no access key');
  return { accessKeyId: AccessKey.AccessKeyId, secretAccessKey: AccessKey.SecretAccessKey };
};
