import { describe, expect, it } from 'vitest';
import { callApi } from '../support/api-client.ts';
import { deployment } from '../support/deployment.ts';
import { userWith } from '../support/iam-user.ts';

const { apiUrl } = deployment.endpoints;

describe('the API with IAM authorisation', () => {
  it('refuses an unsigned request', async () => {
    expect((await fetch(`${apiUrl}/v2/queues`)).status).toBe(403);
  });

  it('refuses a caller that signs with a wrong secret', async () => {
    const { accessKeyId } = await userWith({ Effect: 'Allow', Action: 'execute-api:Invoke', Resource: '*' });
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
    const granted = await userWith({ Effect: 'Allow', Action: 'execute-api:Invoke', Resource: '*' });

    expect((await callApi('GET', '/v2/queues', undefined, granted)).status).toBe(200);
  });
});
