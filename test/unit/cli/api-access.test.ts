import { describe, expect, it } from 'vitest';
import { apiOf } from '../../../cli/api/api-access.ts';
import { clientOf } from '../../../local/endpoints.ts';
import { localEndpoints } from '../../support/local-endpoints.ts';

const local = { ...localEndpoints, name: 'the local deployment', client: clientOf(localEndpoints) };

describe('POSTHASTE_TOKEN', () => {
  it.each([
    [undefined, /^AWS4-HMAC-SHA256 /],
    ['none', /^AWS4-HMAC-SHA256 /],
    ['iam', /^AWS4-HMAC-SHA256 /],
    ['jwt', /^Bearer a\.b\.c$/],
  ])('at a local deployment with apiAuthorization %s', async (apiAuthorization, sent) => {
    const deployment = { ...local, ...(apiAuthorization !== undefined && { apiAuthorization }) };
    const api = await apiOf(deployment, { POSTHASTE_TOKEN: 'a.b.c' });
    const headers = await api.authorize({
      method: 'GET',
      url: `${api.apiUrl}/v2/ping`,
      headers: new Headers(),
    });
    expect(headers.get('authorization')).toMatch(sent);
  });
});
