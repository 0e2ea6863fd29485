import { inspect } from 'node:util';
import { beforeEach, describe, expect, it, vi } from 'vitest';
import * as z from 'zod';
import { portalPath, portalRoutes } from '../../../shared/config/portal-routes.ts';
import type { PortalRight } from '../../../shared/domain/portal/vocabulary.ts';
import { REQUESTS_PER_MINUTE } from '../../../shared/domain/portal/session.ts';
import { requestApi, wholeApi } from '../../support/whole-api.ts';
import {
  type Api,
  apiUnderTest,
  apiWithOrders,
  CALLER,
  faultOf,
  HOOK,
  NOON,
  ONE,
  pagesFrom,
  PUBLIC_URL,
  QUEUE,
  refusal,
  SUBSCRIPTIONS,
} from './api-under-test.ts';
import { ALL, apiWithPortal, HOUR, PORTAL, portalCalls, sessionSchema } from './portal-under-test.ts';

let api: Api;

const { makeLink, tokenIn, exchange, open, readSession, byRole, through } = portalCalls(() => api);

beforeEach(async () => {
  api = await apiWithPortal();
});

const pageSchema = z.object({
  event_types: z.array(z.object({ name: z.string() })),
  links: z.array(z.object({ href: z.string() })),
});

const endpoint = (more: object = {}) => ({ subscriber: HOOK, ...more });

const unauthorized = { status: 401, body: faultOf('unauthorized') };
const forbidden = { status: 403, body: faultOf('forbidden') };

describe('a link to the portal', () => {
  it('is made for one queue, under the public URL, with its token in the fragment', async () => {
    const link = await makeLink({ session_id: 'customer-42', expires_in: 60 });
    expect(link).toMatchObject({
      session_id: 'customer-42',
      expires_at: new Date(NOON + 60_000).toISOString(),
    });
    expect(link.url).toMatch(/^https:\/\/hooks\.posthaste\.example\/portal\/#phlink_customer-42\./);
  });

  it('is exchanged for a session with its rights and the limits of the deployment', async () => {
    const link = await makeLink({ capabilities: ['manage', 'manage'], event_types: ['order.paid'] });
    const { status, body, headers } = await exchange(tokenIn(link));
    expect(status).toBe(200);
    expect(headers.get('cache-control')).toBe('no-store');
    const shown = {
      queue: 'orders',
      capabilities: ['manage'],
      event_types: ['order.paid'],
      expires_at: new Date(NOON + 8 * HOUR).toISOString(),
      title: 'Acme webhooks',
      accent: '#0a6cff',
      limits: { endpoints: 2, hosts: ['hooks.example'], per_second: 5 },
      response_bodies: true,
    };
    expect(body).toMatchObject(shown);
    const { session } = sessionSchema.parse(body);
    const again = await readSession(session);
    expect(again).toMatchObject({ status: 200, body: shown });
    expect(again.body).not.toHaveProperty('session');
  });

  it('is refused once used, from its end on, and with another token, always in the same words', async () => {
    const used = tokenIn(await makeLink());
    const { session } = sessionSchema.parse((await exchange(used)).body);
    const lapsed = tokenIn(await makeLink({ expires_in: 60 }));
    api.time.now += 60_000;
    const swap = used.replace('.orders', '.other');
    const answers = await Promise.all(
      [used, lapsed, session, swap, `${used}x`, '', 7, 'x'.repeat(2_000)].map(exchange),
    );
    answers.push(await api.call('POST', '/v2/portal/session', 'no json'));
    answers.push(
      await readSession(used),
      await readSession(''),
      await readSession(session.replace('.o', '.p')),
    );
    for (const answer of answers) expect(answer).toMatchObject(unauthorized);
    expect(new Set(answers.map(({ body }) => JSON.stringify(body))).size).toBe(1);
  });

  it('leaves no token in answers, the audit trail, faults and stored records', async () => {
    const made = await makeLink({ session_id: 'customer-42' });
    const { body } = await exchange(tokenIn(made));
    const { session } = sessionSchema.parse(body);
    await readSession(session);
    const seen = inspect([api.changes, api.faults, [...api.portalSessions.stored]], { depth: 20 });
    for (const token of [tokenIn(made), session]) expect(seen).not.toContain(token.split('.')[2]);
    expect(api.changes.slice(-2)).toMatchObject([
      { change: 'portal_link_created', sessionId: 'customer-42', principal: CALLER.principal },
      { change: 'portal_link_opened', sessionId: 'customer-42', principal: 'portal:customer-42' },
    ]);
  });

  it.each([
    [{ capabilities: ['own'] }, 'capabilities[0]'],
    [{ capabilities: undefined }, 'capabilities'],
    [{ event_types: [] }, 'event_types'],
    [{ event_types: ['order.*'] }, 'event_types[0]'],
    [{ expires_in: 59 }, 'expires_in'],
    [{ expires_in: 604_801 }, 'expires_in'],
    [{ session_id: 'a.b' }, 'session_id'],
    [{ session_id: '' }, 'session_id'],
    [{ queue: 'other' }, 'queue'],
  ])('is not made for %j', async (body, field) => {
    const answer = await api.call('POST', `${QUEUE}/portal-links`, { capabilities: ALL, ...body });
    expect(answer).toMatchObject({ status: 400, body: faultOf('invalid_request', field) });
  });

  it('is not made for a queue that does not exist, nor without a portal', async () => {
    expect(await api.call('POST', '/v2/queues/none/portal-links', { capabilities: [] })).toMatchObject(
      refusal('not_found'),
    );
    api = await apiWithOrders();
    const asked = await api.call('POST', `${QUEUE}/portal-links`, { capabilities: [] });
    expect(asked).toMatchObject(refusal('conflict'));
    expect(await api.call('DELETE', `${QUEUE}/portal-links/x`)).toMatchObject(refusal('conflict'));
    expect(await exchange('x')).toMatchObject(unauthorized);
    expect(await byRole('x', 'GET', `${portalPath('orders', 'see')}/subscriptions`)).toMatchObject(forbidden);
  });
});

describe('a session of the portal ends', () => {
  const isOpen = async (session: { session: string; session_name: string }): Promise<boolean[]> => [
    (await readSession(session.session)).status === 200,
    (await through(session)('see', 'GET', '/subscriptions')).status === 200,
  ];

  it('8 hours after its link was opened', async () => {
    const session = await open();
    api.time.now += 8 * HOUR - 1;
    expect(await isOpen(session)).toEqual([true, true]);
    api.time.now += 1;
    expect(await isOpen(session)).toEqual([false, false]);
  });

  it('at once with its id, with all others of the id and their links', async () => {
    const [one, two, other] = [
      await open({ session_id: 'customer' }),
      await open({ session_id: 'customer' }),
      await open({ session_id: 'customer-2' }),
    ];
    const link = await makeLink({ session_id: 'customer' });
    expect(await api.call('DELETE', `${QUEUE}/portal-links/customer`)).toMatchObject({ status: 204 });
    expect(await isOpen(one)).toEqual([false, false]);
    expect(await isOpen(two)).toEqual([false, false]);
    expect(await isOpen(other)).toEqual([true, true]);
    expect(await exchange(tokenIn(link))).toMatchObject(unauthorized);
    expect(api.changes.at(-1)).toMatchObject({ change: 'portal_sessions_ended', sessionId: 'customer' });
  });

  it('with its queue, also if that is made again or restored', async () => {
    const session = await open();
    const link = await makeLink();
    await api.call('DELETE', QUEUE);
    expect(await isOpen(session)).toEqual([false, false]);
    await api.call('POST', `${QUEUE}/restore`);
    expect(await isOpen(session)).toEqual([false, false]);
    const ofRestored = await open();
    expect(await isOpen(ofRestored)).toEqual([true, true]);
    await api.call('DELETE', `${QUEUE}?now=true`);
    api.time.now += 1;
    await api.call('PUT', QUEUE);
    expect(await isOpen(ofRestored)).toEqual([false, false]);
    expect(await exchange(tokenIn(link))).toMatchObject(unauthorized);
    expect(await isOpen(await open())).toEqual([true, true]);
  });

  it('for a minute that has too many requests, and goes on in the next', async () => {
    const see = through(await open());
    for (let made = 0; made < REQUESTS_PER_MINUTE; made += 1)
      expect((await see('see', 'GET', '/subscriptions')).status).toBe(200);
    expect(await see('see', 'GET', '/subscriptions')).toMatchObject({
      status: 429,
      body: faultOf('too_many_requests'),
    });
    api.time.now += 60_000;
    expect((await see('see', 'GET', '/subscriptions')).status).toBe(200);
  });
});

describe('the gate of the portal', () => {
  const samples: Record<string, string> = {
    subscription: 'id-1',
    message: 'm-1',
    recovery: 'r-1',
    type: 'order.paid',
  };
  const sampleOf = (path: string) =>
    path.replaceAll(/\{(\w+)\}/g, (_, name: string) => samples[name] ?? name);

  it.each(portalRoutes.map((route) => [`${route.method} ${route.path}`, route] as const))(
    'lets %s in by its right only, for its queue only',
    async (_, { method, path, right }) => {
      await api.call('PUT', '/v2/queues/other');
      const rest = sampleOf(path);
      const granted = await open({ capabilities: right === 'see' ? [] : [right] });
      const others = await open({ capabilities: ALL.filter((one) => one !== right) });
      const body = method === 'GET' || method === 'DELETE' ? undefined : {};
      expect([401, 403]).not.toContain((await through(granted)(right, method, rest, body)).status);
      expect(await through(granted, 'other')(right, method, rest, body)).toMatchObject(unauthorized);
      for (const wrong of ['see', ...ALL] as PortalRight[])
        if (wrong !== right)
          expect(await through(granted)(wrong, method, rest, body)).toMatchObject(forbidden);
      if (right !== 'see') expect(await through(others)(right, method, rest, body)).toMatchObject(forbidden);
    },
  );

  it('refuses every other route of the API, by each right', async () => {
    const session = await open();
    const prefix = '/v2/queues/{queue}';
    const listed = (method: string, path: string) =>
      portalRoutes.some((route) => route.method === method && `${prefix}${route.path}` === path);
    const others = (await wholeApi(api.dependencies).routes()).filter(
      ({ method, path }) => !listed(method, path),
    );
    expect(others.length).toBeGreaterThan(40);
    for (const { method, path } of others) {
      api.time.now += 60_000;
      if (path.startsWith(prefix) && path !== prefix)
        for (const right of ['see', ...ALL] as PortalRight[]) {
          const rest = sampleOf(path.slice(prefix.length));
          const answer = await through(session)(right, method, rest, method === 'GET' ? undefined : {});
          expect(answer, `${method} ${path}`).toMatchObject(refusal('not_found'));
        }
      const direct = path.replace('{queue}', 'orders');
      expect(await byRole(session.session_name, method, sampleOf(direct)), path).toMatchObject(forbidden);
    }
  });

  it('has no route that the API does not have', async () => {
    const routes = await wholeApi(api.dependencies).routes();
    const served = new Set(routes.map(({ method, path }) => `${method} ${path}`));
    const missing = portalRoutes
      .map(({ method, path }) => `${method} /v2/queues/{queue}${path}`)
      .filter((key) => !served.has(key) && !key.includes('/event-types'));
    expect(missing).toEqual([]);
  });

  it.each([
    ['another role', 'arn:aws:sts::123456789012:assumed-role/Portal2/x'],
    ['a role of another account', 'arn:aws:sts::999999999999:assumed-role/Portal/x'],
    ['an operator', CALLER.principal],
  ])('refuses %s', async (_, principal) => {
    const response = await requestApi(
      wholeApi(api.dependencies),
      `${portalPath('orders', 'see')}/subscriptions`,
      { method: 'GET' },
      { caller: { ...CALLER, principal }, publicUrl: PUBLIC_URL },
    );
    expect(response.status).toBe(403);
  });

  it('refuses a session that never was', async () => {
    expect(await through({ session_name: 'customer.guess' })('see', 'GET', '/subscriptions')).toMatchObject(
      unauthorized,
    );
    expect(await through({ session_name: '' })('see', 'GET', '/subscriptions')).toMatchObject(unauthorized);
  });

  it.each([
    '/v2/portal/queues/',
    '/v2/portal/queues/orders',
    '/v2/portal/queues/orders/see',
    '/v2/portal/queues/or%20ders/see/subscriptions',
  ])('refuses the path %s', async (path) => {
    expect((await byRole((await open()).session_name, 'GET', path)).status).toBeGreaterThan(400);
  });

  it('needs no token where the deployment has tokens', async () => {
    const { settings } = apiUnderTest().dependencies;
    const jwtScopes = { read: 'r', publish: 'p', manage: 'm', credentials: 'c' };
    const link = await open();
    const stored = api.portalSessions;
    api = await apiWithPortal(
      {},
      {
        settings: { ...settings, portal: PORTAL, jwtScopes, jwtQueuesClaim: 'q' },
        registry: api.registry,
        portalSessions: stored,
      },
    );
    expect((await through(link)('see', 'GET', '/subscriptions')).status).toBe(200);
    expect((await api.call('GET', SUBSCRIPTIONS)).status).toBe(403);
  });

  it('does everything in the name of the session', async () => {
    const session = await open({ session_id: 'customer-42' });
    const by = through(session);
    await by('manage', 'POST', '/subscriptions', endpoint());
    await by('manage', 'POST', '/subscriptions/id-1/pause', {});
    await by('secrets', 'POST', '/subscriptions/id-1/secret/rotate', {});
    await by('manage', 'DELETE', '/subscriptions/id-1');
    const made = api.changes.slice(-4);
    expect(made.map(({ change }) => change)).toEqual([
      'subscription_created',
      'subscription_paused',
      'secret_rotated',
      'subscription_deleted',
    ]);
    for (const { principal } of made) expect(principal).toBe('portal:customer-42');
  });
});

describe('a tenant', () => {
  it('creates and changes endpoints within the limits, and no more than these fields', async () => {
    const by = through(await open());
    const create = (body: unknown) => by('manage', 'POST', '/subscriptions', body);
    for (const [body, field] of [
      [endpoint({ ttl: 60 }), 'ttl'],
      [endpoint({ subscriber: 'https://evil.example/' }), 'subscriber'],
      [endpoint({ subscriber: 'pull:' }), 'subscriber'],
      [endpoint({ options: { max_per_second: 6 } }), 'options.max_per_second'],
      [endpoint({ options: { post_headers: { a: 'b' } } }), 'options.post_headers'],
      [endpoint({ options: { auth: { type: 'basic' } } }), 'options.auth'],
      [endpoint({ options: { _retry_policy: 'patient' } }), 'options._retry_policy'],
      [endpoint({ options: { post_data: '{}' } }), 'options.post_data'],
    ] as const)
      expect(await create(body)).toMatchObject({ status: 400, body: faultOf('invalid_request', field) });
    const { status, body } = await create(endpoint({ name: 'Mine', options: { event_types: ['a'] } }));
    expect([status, body]).toMatchObject([201, { subscription_id: 'id-1', secret: /./ }]);
    expect((await api.stored()).options).toEqual({ event_types: ['a'], max_per_second: 5 });
    const changed = await by('manage', 'PATCH', '/subscriptions/id-1', { name: 'Ours', options: {} });
    expect(changed).toMatchObject({ status: 200, body: { name: 'Ours', options: { max_per_second: 5 } } });
    const moved = await by('manage', 'PATCH', '/subscriptions/id-1', { subscriber: 'https://evil.example/' });
    expect(moved).toMatchObject({ status: 400, body: faultOf('invalid_request', 'subscriber') });
  });

  it('has as many endpoints as the deployment allows, also by concurrent requests', async () => {
    const by = through(await open());
    const create = (n: number) =>
      by('manage', 'POST', '/subscriptions', endpoint({ subscriber: `${HOOK}/${n}` }));
    const statuses = (await Promise.all([1, 2, 3, 4].map(create))).map(({ status }) => status);
    expect(statuses.toSorted()).toEqual([201, 201, 409, 409]);
    const count = async () =>
      z.object({ subscriptions: z.array(z.unknown()) }).parse(await api.get(SUBSCRIPTIONS)).subscriptions
        .length;
    expect(await create(5)).toMatchObject(refusal('conflict'));
    expect(await count()).toBe(2);
  });

  it('keeps what the operator set, and does not take its credentials to another host', async () => {
    const subscribed = await api.subscribe({
      options: {
        post_headers: { 'x-team': 'a', 'x-api-key': 'planted' },
        auth: { type: 'basic', username: 'ada', password: 'planted' },
        filter: { a: [1] },
        raw_delivery: true,
      },
    });
    expect(subscribed).toMatchObject({ status: 201 });
    const by = through(await open());
    const seen = await by('see', 'GET', '/subscriptions/id-1');
    expect(seen.body).toMatchObject({ options: { filter: { a: [1] } } });
    expect(JSON.stringify([seen, await by('see', 'GET', '/subscriptions')])).not.toMatch(
      /planted|x-team|x-api-key|ada|raw_delivery|\*\*\*/,
    );
    const options = { event_types: ['order.paid'] };
    expect((await by('manage', 'PATCH', '/subscriptions/id-1', { options })).status).toBe(200);
    const { options: kept, destination } = await api.stored();
    expect(kept).toEqual({
      post_headers: { 'x-team': 'a', 'x-api-key': 'planted' },
      raw_delivery: true,
      event_types: ['order.paid'],
      max_per_second: 5,
    });
    expect(destination).toHaveProperty('auth');
    const moved = { subscriber: 'https://hooks.example:8443/', options };
    expect((await by('manage', 'PATCH', '/subscriptions/id-1', moved)).status).toBe(200);
    const after = await api.stored();
    expect(after.options.post_headers).toEqual({ 'x-team': 'a' });
    expect(after.destination).toEqual({ kind: 'webhook', url: 'https://hooks.example:8443/' });
  });

  it('keeps what the operator changes at the same time', async () => {
    await api.subscribe();
    const by = through(await open());
    const change = api.registry.changeSubscription.bind(api.registry);
    vi.spyOn(api.registry, 'changeSubscription').mockImplementationOnce(async (...args) => {
      await change({ queue: 'orders', subscriptionId: 'id-1', now: api.time.now }, (current) => ({
        ...current,
        options: { ...current.options, raw_delivery: true },
      }));
      return change(...args);
    });
    const options = { event_types: ['order.paid'] };
    expect((await by('manage', 'PATCH', '/subscriptions/id-1', { options })).status).toBe(200);
    expect((await api.stored()).options).toMatchObject({ raw_delivery: true, event_types: ['order.paid'] });
  });

  it('sees secrets only where the link says so', async () => {
    const by = through(await open({ capabilities: ['manage'] }));
    const created = await by('manage', 'POST', '/subscriptions', endpoint());
    expect(created.body).toEqual({ subscription_id: 'id-1' });
    const moved = await by('manage', 'PATCH', '/subscriptions/id-1', {
      subscriber: 'https://hooks.example:8443/',
    });
    expect(moved.body).not.toHaveProperty('secret');
    const seeing = through(await open());
    const rotated = await seeing('secrets', 'POST', '/subscriptions/id-1/secret/rotate', {});
    expect(rotated).toMatchObject({ status: 200, body: { secret: /./ } });
  });

  it('chooses, sees and tests event types of the link only', async () => {
    const by = through(await open({ event_types: ['order.paid'] }));
    const create = (options: object) => by('manage', 'POST', '/subscriptions', endpoint({ options }));
    const refused = { status: 400, body: faultOf('invalid_request', 'options.event_types') };
    expect(await create({ event_types: [] })).toMatchObject(refused);
    expect(await create({ event_types: ['order.paid', 'order.lost'] })).toMatchObject(refused);
    expect((await create({ event_types: ['order.paid'] })).status).toBe(201);
    expect(await by('test', 'POST', '/subscriptions/id-1/test', { type: 'order.lost' })).toMatchObject({
      status: 400,
      body: faultOf('invalid_request', 'type'),
    });
    expect((await by('test', 'POST', '/subscriptions/id-1/test', { type: 'order.paid' })).status).toBe(202);
  });

  it('gets all event types of the link, and no others, by choosing none', async () => {
    const types = Array.from({ length: 100 }, (_, at) => `order.${at}`);
    const by = through(await open({ event_types: types }));
    await by('manage', 'POST', '/subscriptions', { subscriber: HOOK });
    expect((await api.stored()).options.event_types).toEqual(types);
    await api.patch({ options: {} });
    await by('manage', 'PATCH', '/subscriptions/id-1', { name: 'Mine' });
    expect((await api.stored()).options).toEqual({});
    await by('manage', 'PATCH', '/subscriptions/id-1', { options: { max_per_second: 1 } });
    expect((await api.stored()).options).toEqual({ event_types: types, max_per_second: 1 });
  });

  it('is not shown the name of another event type by a link to the next page', async () => {
    for (const name of ['a.mine', 'b.other', 'c.mine']) await api.call('PUT', `/v2/event-types/${name}`);
    const by = through(await open({ event_types: ['a.mine', 'c.mine'] }));
    const pages = await pagesFrom(
      async (path) => pageSchema.parse((await by('see', 'GET', path.replace(QUEUE, ''))).body),
      `${QUEUE}/event-types?limit=1`,
    );
    expect(pages.map(({ event_types }) => event_types)).toEqual([[{ name: 'a.mine' }], [{ name: 'c.mine' }]]);
    for (const { links } of pages)
      for (const { href } of links) {
        const marker = new URL(href, PUBLIC_URL).searchParams.get('marker') ?? '';
        expect(Buffer.from(marker, 'base64url').toString()).not.toContain('b.other');
      }
  });

  it('sees the catalogue without the queues of others, and no more of it than the link allows', async () => {
    for (const name of ['order.paid', 'order.lost'])
      await api.call('PUT', `/v2/event-types/${name}`, { queues: ['orders', 'other-tenant'] });
    await api.call('PUT', '/v2/event-types/order.hidden', { queues: ['other-tenant'] });
    const by = through(await open());
    const { body } = await by('see', 'GET', '/event-types');
    expect(body).toMatchObject({ event_types: [{ name: 'order.lost' }, { name: 'order.paid' }] });
    expect(JSON.stringify(body)).not.toContain('other-tenant');
    const one = await by('see', 'GET', '/event-types/order.paid');
    expect(one).toMatchObject({ status: 200, body: { name: 'order.paid' } });
    expect(one.body).not.toHaveProperty('queues');
    expect((await by('see', 'GET', '/event-types/order.hidden')).status).toBe(404);
    const limited = through(await open({ event_types: ['order.paid'] }));
    expect((await limited('see', 'GET', '/event-types')).body).toMatchObject({
      event_types: [{ name: 'order.paid' }],
    });
    expect((await limited('see', 'GET', '/event-types/order.paid')).status).toBe(200);
    expect((await limited('see', 'GET', '/event-types/order.lost')).status).toBe(404);
  });

  it('deletes an endpoint so that the operator can restore it', async () => {
    await api.subscribe();
    const by = through(await open());
    expect((await by('manage', 'DELETE', '/subscriptions/id-1?now=true')).status).toBe(204);
    expect((await api.call('POST', `${ONE}/restore`)).status).toBe(200);
  });
});
