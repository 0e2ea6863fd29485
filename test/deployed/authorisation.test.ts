import {
  CreateAccessKeyCommand,
  CreateUserCommand,
  IAMClient,
  PutUserPolicyCommand,
} from '@aws-sdk/client-iam';
import { randomUUID } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { callApi, type Credentials } from '../support/api-client.ts';
import { deployment } from '../support/deployment.ts';

const { apiUrl } = deployment.endpoints;
const iam = new IAMClient(deployment.client);

/** Creates an IAM user with this statement as its policy, or without a policy. */
const userWith = async (statement?: { Action: string; Resource: string }): Promise<Credentials> => {
  const UserName = `operator-${randomUUID()}`;
  await iam.send(new CreateUserCommand({ UserName }));
  if (statement !== undefined) {
    const document = { Version: '2012-10-17', Statement: [{ Effect: 'Allow', ...statement }] };
    await iam.send(
      new PutUserPolicyCommand({ UserName, PolicyName: 'api', PolicyDocument: JSON.stringify(document) }),
    );
  }
  const { AccessKey } = await iam.send(new CreateAccessKeyCommand({ UserName }));
  if (AccessKey?.AccessKeyId === undefined || AccessKey.SecretAccessKey === undefined)
    throw new Error('no access key');
  return { accessKeyId: AccessKey.AccessKeyId, secretAccessKey: AccessKey.SecretAccessKey };
};

describe('the API with IAM authorisation', () => {
  it('refuses an unsigned request', async () => {
    expect((await fetch(`${apiUrl}/v2/queues`)).status).toBe(403);
  });

  it('refuses a caller that signs with a wrong secret', async () => {
    const { accessKeyId } = await userWith({ Action: 'execute-api:Invoke', Resource: '*' });
    const response = await callApi('GET', '/v2/queues', undefined, {
      accessKeyId,
      secretAccessKey: 'guessed',
    });

    expect(response.status).toBe(403);
  });

  it('refuses a caller without permissions', async () => {
    expect((await callApi('GET', '/v2/queues', undefined, await userWith())).status).toBe(403);
  });

  it('accepts a caller with execute-api:Invoke', async () => {
    const granted = await userWith({ Action: 'execute-api:Invoke', Resource: '*' });

    expect((await callApi('GET', '/v2/queues', undefined, granted)).status).toBe(200);
  });
});
