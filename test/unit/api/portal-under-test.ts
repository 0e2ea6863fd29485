import { inspect } from 'node:util';
import { expect } from 'vitest';
import * as z from 'zod';
import { portalPath } from '../../../shared/config/portal-routes.ts';
import { jsonOrUndefined } from '../../../shared/domain/json.ts';
import type { PortalRight } from '../../../shared/domain/portal/vocabulary.ts';
import { requestApi, wholeApi, type WholeDependencies } from '../../support/whole-api.ts';
import { type Answer, type Api, apiUnderTest, apiWithOrders, PUBLIC_URL, QUEUE } from './api-under-test.ts';

const ROLE = 'arn:aws:iam::123456789012:role/Portal';
const ASSUMED = 'arn:aws:sts::123456789012:assumed-role/Portal';

export const HOUR = 3_600_000;

export const PORTAL = {
  roleArn: ROLE,
  title: 'Acme webhooks',
  accent: '#0a6cff',
  limits: { endpoints: 2, hosts: ['hooks.example'], perSecond: 5 },
  responseBodies: true,
};

const linkSchema = z.object({ url: z.string(), session_id: z.string(), expires_at: z.string() });

export const sessionSchema = z.object({ session: z.string(), session_name: z.string() });

/** Every capability. */
export const ALL = ['manage', 'secrets', 'test', 'deliveries', 'retry'];

export const apiWithPortal = async (
  portal: object = {},
  overrides: Partial<WholeDependencies> = {},
): Promise<Api> => {
  const { dependencies } = apiUnderTest();
  const settings = { ...dependencies.settings, portal: { ...PORTAL, ...portal } };
  return apiWithOrders({ settings, ...overrides });
};

/** Requests to the portal of an API. `current`: the API, which a test may replace. */
export const portalCalls = (current: () => Api) => {
  const makeLink = async (body: object = {}, queue = QUEUE) => {
    const answer = await current().call('POST', `${queue}/portal-links`, { capabilities: ALL, ...body });
    expect(answer.status, inspect(answer.body)).toBe(201);
    return linkSchema.parse(answer.body);
  };

  const tokenIn = ({ url }: { url: string }): string => new URL(url).hash.slice(1);

  const exchange = (token: unknown): Promise<Answer> =>
    current().call('POST', '/v2/portal/session', { token });

  const open = async (body: object = {}, queue = QUEUE) => {
    const link = await makeLink(body, queue);
    const { body: session } = await exchange(tokenIn(link));
    return { ...link, ...sessionSchema.parse(session) };
  };

  const readSession = (session: string): Promise<Answer> =>
    current().call('GET', '/v2/portal/session', undefined, { authorization: `Bearer ${session}` });

  /** A request of the portal's role, with the path as it is. A body of text is sent unchanged. */
  const byRole = async (name: string, method: string, path: string, body?: unknown): Promise<Answer> => {
    const caller = { principal: `${ASSUMED}/${name}`, requestId: 'request-2' };
    const text = typeof body === 'string' ? body : JSON.stringify(body);
    const init = { method, ...(body === undefined ? {} : { body: text }) };
    const response = await requestApi(wholeApi(current().dependencies), path, init, {
      caller,
      publicUrl: PUBLIC_URL,
    });
    return {
      status: response.status,
      headers: response.headers,
      body: jsonOrUndefined(await response.text()),
    };
  };

  /** A request of a session, by the gate. */
  const through =
    ({ session_name }: { session_name: string }, queue = 'orders') =>
    (right: PortalRight, method: string, rest: string, body?: unknown): Promise<Answer> =>
      byRole(session_name, method, `${portalPath(queue, right)}${rest}`, body);

  return { makeLink, tokenIn, exchange, open, readSession, byRole, through };
};
