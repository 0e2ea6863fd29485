import { createHash } from 'node:crypto';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { isAnswer } from '../../../api-client/refusal.ts';
import { findApi, NoAnswerProblem, resolveApi } from '../../../cli/api/api-access.ts';
import { toClientOptions } from '../../../local/endpoints.ts';
import { localEndpoints } from '../../support/local-endpoints.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';
import { json, runOn } from './stub-api.ts';

it.each([
  [undefined, /^AWS4-HMAC-SHA256 /],
  ['none', /^AWS4-HMAC-SHA256 /],
  ['iam', /^AWS4-HMAC-SHA256 /],
  ['jwt', /^Bearer a\.b\.c$/],
])('POSTHASTE_TOKEN at a local deployment with apiAuthorization %s', async (apiAuthorization, sent) => {
  const local = {
    ...localEndpoints,
    name: 'the local deployment',
    client: toClientOptions(localEndpoints),
  };
  const deployment = { ...local, ...(apiAuthorization !== undefined && { apiAuthorization }) };
  const { apiUrl, authorize } = await resolveApi(deployment, { POSTHASTE_TOKEN: 'a.b.c' });
  const headers = await authorize({ method: 'GET', url: `${apiUrl}/v2/ping`, headers: new Headers() });
  expect(headers.get('authorization')).toMatch(sent);
});

it.each([
  ['a URL of the API with a password', { POSTHASTE_API_URL: 'https://ada:geheim@api.example' }],
  ['a token of several lines', { POSTHASTE_API_URL: 'https://api.example', POSTHASTE_TOKEN: 'a\ngeheim' }],
])('%s is refused without being printed', async (_, env) => {
  const refused = findApi({}, env);
  await expect(refused).rejects.toThrow(/^(?:POSTHASTE_API_URL|The token) must /);
  await expect(refused).rejects.not.toThrow('geheim');
});

it('says how a local deployment that has ended is started again', async () => {
  const access = await resolveApi(
    { ...localEndpoints, name: 'the local deployment', client: toClientOptions(localEndpoints) },
    {},
  );
  const { message } = new NoAnswerProblem({ ...access, isLocal: true }, new Error('connect ECONNREFUSED'));
  expect(message).toMatch(/ECONNREFUSED\. If it has ended, start it again: npm start$/);
});

/** A home with a profile `over`, whose SSO session has expired. */
const homeWithSession = (): string => {
  const home = temporaryFolder();
  const cache = join(home, '.aws', 'sso', 'cache');
  mkdirSync(cache, { recursive: true });
  const startUrl = 'https://sso.example.com/start';
  writeFileSync(
    join(home, '.aws', 'config'),
    `[profile over]
     sso_start_url = ${startUrl}
     sso_region = us-east-1
     sso_account_id = 111122223333
     sso_role_name = Operator
     region = us-east-1`,
  );
  const name = createHash('sha1').update(startUrl).digest('hex');
  const token = { startUrl, region: 'us-east-1', accessToken: 'a', expiresAt: '2020-01-01T00:00:00Z' };
  writeFileSync(join(cache, `${name}.json`), JSON.stringify(token));
  return home;
};

/** Removes the keys of the environment. */
const NONE = { AWS_ACCESS_KEY_ID: '', AWS_SECRET_ACCESS_KEY: '', AWS_ENDPOINT_URL: '' };

it.each([
  ['temporary ones', { AWS_CREDENTIAL_EXPIRATION: '2020-01-01T00:00:00Z' }, /credentials expired at 2020/],
  ['an SSO session', { ...NONE, AWS_PROFILE: 'over' }, /AWS credentials (have )?expired/],
  ['there are none', NONE, /^(?!.*expired).*No AWS credentials were found/s],
])(
  'unusable credentials are reported before any request, past ones or none: %s',
  async (_, env, sentence) => {
    const routes = { 'GET /v2/queues': json({ queues: [], links: [] }) };
    const run = await runOn(routes, 'queue list', { env: { ...env, HOME: homeWithSession() } });
    expect(run).toMatchObject({ status: 1, stdout: '', requests: [] });
    expect(run.stderr).toMatch(sentence);
  },
);

const unwell = JSON.stringify({ status: 'failing', checks: { queues: 'failing' } });
const refused = JSON.stringify({ error: { code: 'no_deployment', message: 'no stack' } });
const atTheDoor = JSON.stringify({ message: 'Service Unavailable' });

it.each<[string, boolean, { accept?: number }, { status: number; text: string }]>([
  ['of any 2xx', true, {}, { status: 204, text: '' }],
  ['of any 2xx beside another status', true, { accept: 503 }, { status: 200, text: '{}' }],
  ['of the additional status', true, { accept: 503 }, { status: 503, text: unwell }],
  ['of another status', false, { accept: 503 }, { status: 502, text: unwell }],
  ['of a status that the request does not accept', false, {}, { status: 503, text: unwell }],
  ['of a redirect', false, {}, { status: 304, text: '' }],
  ['of the console, with the additional status', false, { accept: 503 }, { status: 503, text: refused }],
  ['of API Gateway, with the additional status', false, { accept: 503 }, { status: 503, text: atTheDoor }],
  ['of an intermediary, with that status', false, { accept: 503 }, { status: 503, text: '<html></html>' }],
])('a response %s is an answer: %s', (_, expected, request, response) => {
  expect(isAnswer(request, response)).toBe(expected);
});
