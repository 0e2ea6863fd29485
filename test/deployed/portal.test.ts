import { randomUUID } from 'node:crypto';
import { GetRoleCommand, IAMClient, UpdateAssumeRolePolicyCommand } from '@aws-sdk/client-iam';
import { GetFunctionConfigurationCommand } from '@aws-sdk/client-lambda';
import { STSClient } from '@aws-sdk/client-sts';
import { beforeAll, describe, expect, it, vi } from 'vitest';
import * as z from 'zod';
import { createSessionCredentials } from '../../shared/adapters/sts/session-credentials.ts';
import { signedHeaders } from '../../shared/adapters/aws/signed-headers.ts';
import { portalPath, portalRoutes } from '../../shared/config/portal-routes.ts';
import { CAPABILITIES, type Capability, type PortalRight } from '../../shared/domain/portal/vocabulary.ts';
import { answerOf, callApi, putQueue, subscribe } from '../support/api-client.ts';
import { deployment } from '../support/deployment.ts';
import { eventually } from '../support/eventually.ts';
import { functionLogs } from '../support/function-logs.ts';
import { userWith } from '../support/iam-user.ts';
import { receiverOfTests } from '../support/receiver-of-tests.ts';

const { apiUrl, functions, region } = deployment.endpoints;

const ALL: readonly PortalRight[] = ['see', ...CAPABILITIES];

const sessionSchema = z.object({ session: z.string(), session_name: z.string(), queue: z.string() });

type Session = z.infer<typeof sessionSchema>;

/** As a browser asks: without AWS credentials. */
const browse = async (method: string, path: string, headers: Record<string, string> = {}, body?: unknown) => {
  const response = await fetch(`${apiUrl}/portal${path}`, {
    method,
    headers: { ...(body !== undefined && { 'content-type': 'application/json' }), ...headers },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
  const text = await response.text();
  const isJson = response.headers.get('content-type')?.includes('json') === true;
  return {
    status: response.status,
    headers: response.headers,
    text,
    body: isJson && text !== '' ? (JSON.parse(text) as unknown) : undefined,
  };
};

const makeLink = async (queue: string, body: object = {}): Promise<{ token: string; url: string }> => {
  const answer = await answerOf('POST', `/v2/queues/${queue}/portal-links`, {
    capabilities: CAPABILITIES,
    ...body,
  });
  const { url } = z.object({ url: z.string() }).parse(answer);
  return { url, token: new URL(url).hash.slice(1) };
};

const open = async (queue: string, body: object = {}): Promise<Session> => {
  const { token } = await makeLink(queue, body);
  return sessionSchema.parse((await browse('POST', '/session', {}, { token })).body);
};

/** A request of the page. */
const byPage = ({ session }: Session, method: string, rest: string, body?: unknown) =>
  browse(method, `/api${rest}`, { 'posthaste-portal-session': session }, body);

const queues = { own: `portal-${randomUUID()}`, other: `portal-${randomUUID()}` };
const receiver = await receiverOfTests();
let ids: { own: string; other: string };

beforeAll(async () => {
  await Promise.all([putQueue(queues.own), putQueue(queues.other)]);
  ids = {
    own: await subscribe(queues.own, receiver.url('/own')),
    other: await subscribe(queues.other, receiver.url('/other')),
  };
});

describe('the portal', () => {
  it('serves its page with strict headers, and the link leads to it', async () => {
    const { url } = await makeLink(queues.own);
    expect(url.split('#')[0]).toBe(`${apiUrl}/portal/`);
    const { status, headers, text } = await browse('GET', '/');
    expect([status, headers.get('content-type')]).toEqual([200, 'text/html; charset=utf-8']);
    expect(text).toContain('<!doctype html>');
    expect(headers.get('content-security-policy')).toContain("frame-ancestors 'none'");
    expect(headers.get('referrer-policy')).toBe('no-referrer');
    expect((await browse('GET', '/none.js')).status).toBe(404);
    expect((await browse('GET', '/../v2/queues')).status).toBeGreaterThanOrEqual(400);
  });

  it('leads a tenant from a link to an endpoint, a test, its delivery and the end', async () => {
    const session = await open(queues.own, { session_id: 'customer-42' });
    const shown = await browse('GET', '/session', { 'posthaste-portal-session': session.session });
    expect(shown).toMatchObject({ status: 200, body: { queue: queues.own } });
    const created = await byPage(session, 'POST', '/subscriptions', { subscriber: receiver.url('/new') });
    expect(created).toMatchObject({
      status: 201,
      body: { secret: expect.stringMatching(/^whsec_/) as string },
    });
    const { subscription_id: id } = z.object({ subscription_id: z.string() }).parse(created.body);
    expect((await byPage(session, 'GET', '/subscriptions')).text).toContain(id);
    const tested = await byPage(session, 'POST', `/subscriptions/${id}/test`, {});
    const { delivery } = z
      .object({ delivery: z.object({ messageId: z.string(), status: z.string() }) })
      .parse(tested.body);
    const path = `/messages/${delivery.messageId}/deliveries/${id}`;
    await eventually('the test is delivered', async () => {
      const { body } = await byPage(session, 'GET', path);
      return z.object({ status: z.literal('delivered') }).safeParse(body).success ? true : undefined;
    });
    expect(await byPage(session, 'GET', `${path}/payload`)).toMatchObject({ status: 200 });
    expect((await byPage(session, 'GET', `/subscriptions/${id}/deliveries`)).text).toContain(
      delivery.messageId,
    );
    expect(await byPage(session, 'GET', '/statistics')).toMatchObject({ status: 200 });
    expect(await byPage(session, 'PATCH', `/subscriptions/${id}`, { name: 'Mine' })).toMatchObject({
      status: 200,
    });
    expect(await byPage(session, 'DELETE', `/subscriptions/${id}`)).toMatchObject({ status: 204 });
    await answerOf('DELETE', `/v2/queues/${queues.own}/portal-links/customer-42`);
    expect(await byPage(session, 'GET', '/subscriptions')).toMatchObject({ status: 401 });
    expect(await byPage(session, 'GET', '/subscriptions')).toMatchObject({ status: 401 });
  });
});

it('gets its links from a backend', async () => {
  const { accessKeyId, secretAccessKey } = deployment.endpoints;
  vi.stubEnv('API_URL', apiUrl);
  vi.stubEnv('AWS_REGION', region);
  vi.stubEnv('AWS_ACCESS_KEY_ID', accessKeyId);
  vi.stubEnv('AWS_SECRET_ACCESS_KEY', secretAccessKey);
  const { linkToPortal } = await import('../../examples/portal-backend/link-to-portal.ts');
  const token = new URL(await linkToPortal(queues.own, 'customer-7')).hash.slice(1);
  expect(await browse('POST', '/session', {}, { token })).toMatchObject({
    status: 200,
    body: { queue: queues.own, capabilities: ['manage', 'secrets', 'test'] },
  });
  vi.unstubAllEnvs();
});

describe('an attacker', () => {
  it('cannot use a link twice, nor a stolen link after its owner', async () => {
    const { token } = await makeLink(queues.own);
    const both = await Promise.all([1, 2].map(() => browse('POST', '/session', {}, { token })));
    expect(both.map(({ status }) => status).toSorted()).toEqual([200, 401]);
    expect(await browse('POST', '/session', {}, { token })).toMatchObject({ status: 401 });
    const guess = token.replace(/.{5}\.[^.]*$/, `AAAAA.${queues.own}`);
    expect(await browse('POST', '/session', {}, { token: guess })).toMatchObject({ status: 401 });
  });

  it('cannot name another queue, or its records, in any route', async () => {
    const session = await open(queues.own);
    const params: Record<string, string> = {
      subscription: ids.other,
      message: 'm-1',
      recovery: 'r-1',
      type: 't',
    };
    for (const { method, path } of portalRoutes) {
      const rest = path.replaceAll(/\{(\w+)\}/g, (_, name: string) => params[name] ?? name);
      const body = method === 'GET' || method === 'DELETE' ? undefined : {};
      const { status, text } = await byPage(session, method, rest, body);
      if (path.includes('{subscription}')) expect([400, 404, 204], `${method} ${rest}`).toContain(status);
      expect(text, `${method} ${rest}`).not.toContain(ids.other);
    }
    for (const rest of [
      `/../${queues.other}/subscriptions`,
      `/%2e%2e/${queues.other}/subscriptions`,
      `/..%2f${queues.other}/subscriptions`,
      `/subscriptions/..%2f..%2f${queues.other}%2fsubscriptions`,
      `//${queues.other}/subscriptions`,
    ])
      expect((await byPage(session, 'GET', rest)).text, rest).not.toContain(ids.other);
    expect(await callApi('GET', `/v2/queues/${queues.other}/subscriptions/${ids.other}`)).toMatchObject({
      status: 200,
    });
  });

  it.each(CAPABILITIES)(
    'cannot do without the capability %s what it grants',
    async (capability: Capability) => {
      const session = await open(queues.own, {
        capabilities: CAPABILITIES.filter((one) => one !== capability),
      });
      const params: Record<string, string> = { subscription: ids.own, message: 'm-1', recovery: 'r-1' };
      for (const { method, path } of portalRoutes.filter(({ right }) => right === capability)) {
        const rest = path.replaceAll(/\{(\w+)\}/g, (_, name: string) => params[name] ?? name);
        const answer = await byPage(
          session,
          method,
          rest,
          method === 'GET' || method === 'DELETE' ? undefined : {},
        );
        expect(answer.status, `${method} ${rest}`).toBe(403);
      }
    },
  );

  it('reaches nothing beside the table, and no other site can send requests in place of the page', async () => {
    const session = await open(queues.own);
    for (const [method, rest] of [
      ['POST', '/portal-links'],
      ['PATCH', ''],
      ['DELETE', '/'],
      ['POST', '/import'],
      ['GET', '/export'],
      ['POST', '/messages'],
      ['POST', '/pause'],
      ['GET', '/archived-subscriptions'],
    ] as const)
      expect((await byPage(session, method, rest)).status, rest).toBeGreaterThanOrEqual(404);
    const crossSite = { 'posthaste-portal-session': session.session, 'sec-fetch-site': 'cross-site' };
    expect(await browse('GET', '/api/subscriptions', crossSite)).toMatchObject({ status: 403 });
    expect(await browse('GET', '/api/subscriptions')).toMatchObject({ status: 401 });
    const forged = session.session.replace(/\.[^.]{43}\./, `.${'A'.repeat(43)}.`);
    expect(await byPage({ ...session, session: forged }, 'GET', '/subscriptions')).toMatchObject({
      status: 401,
    });
  });

  it('gets no further with the function: the policy of the session and the API refuse', async () => {
    const { Environment } = await deployment.lambda.send(
      new GetFunctionConfigurationCommand({ FunctionName: functions.portal }),
    );
    const { PORTAL_ROLE_ARN: roleArn = '', API_ARN: apiArn = '' } = Environment?.Variables ?? {};
    const attacker = await actAsFunction(roleArn);
    const session = await open(queues.own, { capabilities: ['manage'] });
    const signedFor = async (queue: string, rights: readonly PortalRight[]) => {
      const lie = () => Promise.resolve({ queue, name: session.session_name, rights });
      const found = await createSessionCredentials({ sts: attacker, roleArn, apiArn }, lie).find('any');
      if (found === undefined) throw new Error('no credentials');
      const sign = signedHeaders({ region, credentials: () => Promise.resolve(found.keys) });
      return async (method: string, path: string) => {
        const call = { method, url: `${apiUrl}${path}`, headers: new Headers() };
        const response = await fetch(call.url, { method, headers: await sign(call) });
        return { status: response.status, body: await response.json() };
      };
    };
    const own = portalPath(queues.own, 'see');
    const other = portalPath(queues.other, 'see');
    const refusedByApi = { error: expect.anything() as unknown };
    const honest = await signedFor(queues.own, ['see', 'manage']);
    expect(await honest('GET', `${own}/subscriptions`)).toMatchObject({ status: 200 });
    for (const path of [
      `${other}/subscriptions`,
      `${portalPath(queues.own, 'deliveries')}/deliveries`,
      '/v2/queues',
      `/v2/queues/${queues.own}`,
      `/v2/queues/${queues.own}/subscriptions`,
    ]) {
      const answer = await honest('GET', path);
      // By the policy: API Gateway refuses, and the API does not see it.
      expect(answer, path).toMatchObject({ status: 403, body: { message: expect.anything() as unknown } });
    }
    const ofOther = await signedFor(queues.other, ALL);
    expect(await ofOther('GET', `${other}/subscriptions`)).toMatchObject({ status: 401, body: refusedByApi });
    const withAll = await signedFor(queues.own, ALL);
    const deliveries = `${portalPath(queues.own, 'deliveries')}/deliveries`;
    expect(await withAll('GET', deliveries)).toMatchObject({ status: 403, body: refusedByApi });
    const mixed = `${portalPath(queues.own, 'deliveries')}/subscriptions`;
    expect(await withAll('GET', mixed)).toMatchObject({ status: 403, body: refusedByApi });
  });

  it('is refused by the gate with the keys of an operator', async () => {
    const operator = await callApi('GET', `${portalPath(queues.own, 'see')}/subscriptions`);
    expect(operator.status).toBe(403);
  });

  it('finds no token in the logs of the functions', async () => {
    const startedAt = Date.now();
    const { token } = await makeLink(queues.own);
    const session = sessionSchema.parse((await browse('POST', '/session', {}, { token })).body);
    await byPage(session, 'GET', '/subscriptions');
    await byPage(session, 'GET', '/nothing');
    await browse('POST', '/session', {}, { token });
    const { portal = '' } = functions;
    const secrets = [token, session.session].map((text) => text.split('.')[2] ?? text);
    const lines = await functionLogs(deployment.client)([functions.api, portal], startedAt);
    expect(lines.length).toBeGreaterThan(0);
    for (const secret of secrets) expect(lines.filter((line) => line.includes(secret))).toEqual([]);
  });

  it('keeps nothing of a deleted queue, also when it is made again', async () => {
    const queue = `portal-${randomUUID()}`;
    await putQueue(queue);
    const session = await open(queue);
    const { token } = await makeLink(queue);
    expect(await byPage(session, 'GET', '/subscriptions')).toMatchObject({ status: 200 });
    await answerOf('DELETE', `/v2/queues/${queue}`);
    expect(await byPage(session, 'GET', '/subscriptions')).toMatchObject({ status: 401 });
    await answerOf('POST', `/v2/queues/${queue}/restore`);
    expect(await byPage(session, 'GET', '/subscriptions')).toMatchObject({ status: 401 });
    expect(await browse('POST', '/session', {}, { token })).toMatchObject({ status: 401 });
  });
});

const statementSchema = z.object({ Statement: z.array(z.looseObject({})) });

/** An identity that may assume the role as the portal's function may: what an attacker has who runs code in it. */
const actAsFunction = async (roleArn: string): Promise<STSClient> => {
  const iam = new IAMClient(deployment.client);
  const RoleName = roleArn.split('/').at(-1) ?? '';
  const user = await userWith({ Effect: 'Allow', Action: 'sts:AssumeRole', Resource: roleArn });
  const { Role } = await iam.send(new GetRoleCommand({ RoleName }));
  const trust = statementSchema.parse(JSON.parse(decodeURIComponent(Role?.AssumeRolePolicyDocument ?? '')));
  const account = roleArn.split(':')[4] ?? '';
  trust.Statement.push({
    Effect: 'Allow',
    Action: 'sts:AssumeRole',
    Principal: { AWS: `arn:aws:iam::${account}:root` },
  });
  await iam.send(
    new UpdateAssumeRolePolicyCommand({
      RoleName,
      PolicyDocument: JSON.stringify({ Version: '2012-10-17', ...trust }),
    }),
  );
  return new STSClient({ ...deployment.client, credentials: user });
};
