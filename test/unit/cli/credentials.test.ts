import { createHash } from 'node:crypto';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { closeStubs, json, stubApi, type StubApi } from './stub-api.ts';

afterAll(closeStubs);

const START_URL = 'https://sso.example.com/start';

let api: StubApi;
let home: string;
beforeAll(async () => {
  api = await stubApi({ 'GET /v2/queues': () => json({ queues: [], links: [] }) });
  home = mkdtempSync(join(tmpdir(), 'home-'));
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

afterAll(() => {
  rmSync(home, { recursive: true });
});

/** Removes the keys of the environment. */
const NONE = { AWS_ACCESS_KEY_ID: '', AWS_SECRET_ACCESS_KEY: '', AWS_ENDPOINT_URL: '' };

describe('unusable credentials', () => {
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
