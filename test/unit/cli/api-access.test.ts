import { createHash } from 'node:crypto';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, beforeEach } from 'vitest';
import { isAnswer } from '../../../api-client/refusal.ts';
import { apiOf } from '../../../cli/api/api-access.ts';
import { clientOf } from '../../../local/endpoints.ts';
import { localEndpoints } from '../../support/local-endpoints.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';
import { json, stubApi, type StubApi } from './stub-api.ts';

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

const START_URL = 'https://sso.example.com/start';

describe('unusable credentials', () => {
  let api: StubApi;
  let home: string;
  beforeEach(async () => {
    api = await stubApi({ 'GET /v2/queues': () => json({ queues: [], links: [] }) });
    home = temporaryFolder();
    const cache = join(home, '.aws', 'sso', 'cache');
    mkdirSync(cache, { recursive: true });
    writeFileSync(
      join(home, '.aws', 'config'),
      `[profile over]
     sso_start_url = ${START_URL}
     sso_region = us-east-1
     sso_account_id = 111122223333
     sso_role_name = Operator
     region = us-east-1`,
    );
    const name = createHash('sha1').update(START_URL).digest('hex');
    const token = {
      startUrl: START_URL,
      region: 'us-east-1',
      accessToken: 'a',
      expiresAt: '2020-01-01T00:00:00Z',
    };
    writeFileSync(join(cache, `${name}.json`), JSON.stringify(token));
  });

  /** Removes the keys of the environment. */
  const NONE = { AWS_ACCESS_KEY_ID: '', AWS_SECRET_ACCESS_KEY: '', AWS_ENDPOINT_URL: '' };

  it.each([
    ['temporary credentials', { AWS_CREDENTIAL_EXPIRATION: '2020-01-01T00:00:00Z' }],
    ['an SSO session', { ...NONE, AWS_PROFILE: 'over' }],
  ])('are reported as expired for %s past the expiry', async (_, env) => {
    const before = api.requests.length;
    const { status, stdout, stderr } = await api.run(['queue', 'list'], { env: { ...env, HOME: home } });
    expect({ status, stdout }).toEqual({ status: 1, stdout: '' });
    expect(stderr).toMatch(/Your AWS credentials (have )?expired/);
    expect(api.requests).toHaveLength(before);
  });

  it('are reported as missing if there are none', async () => {
    const { status, stderr } = await api.run(['queue', 'list'], { env: { ...NONE, HOME: home } });
    expect(status).toBe(1);
    expect(stderr).toContain('No AWS credentials were found');
    expect(stderr).not.toContain('expired');
  });
});

const UNWELL = JSON.stringify({ status: 'failing', checks: { queues: 'failing' } });

describe('the check whether a response is an answer', () => {
  it('accepts every 2xx response, independent of the body', () => {
    expect(isAnswer({}, { status: 204, text: '' })).toBe(true);
    expect(isAnswer({ accept: 503 }, { status: 200, text: '{}' })).toBe(true);
  });

  it('accepts the additional status of the request, and no other', () => {
    expect(isAnswer({ accept: 503 }, { status: 503, text: UNWELL })).toBe(true);
    expect(isAnswer({ accept: 503 }, { status: 502, text: UNWELL })).toBe(false);
    expect(isAnswer({}, { status: 503, text: UNWELL })).toBe(false);
    expect(isAnswer({}, { status: 304, text: '' })).toBe(false);
  });

  it.each([
    ['the console', JSON.stringify({ error: { code: 'no_deployment', message: 'no stack' } })],
    ['API Gateway', JSON.stringify({ message: 'Service Unavailable' })],
    ['an intermediary', '<html>503</html>'],
  ])('does not accept a refusal of %s with the additional status', (_, text) => {
    expect(isAnswer({ accept: 503 }, { status: 503, text })).toBe(false);
  });
});
