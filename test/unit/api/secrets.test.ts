import { randomBytes } from 'node:crypto';
import { inspect } from 'node:util';
import { describe, expect, vi } from 'vitest';
import * as z from 'zod';
import { verifyWebhook } from '../../../client/verify.ts';
import { createApi, createSecretsApi } from '../../../functions/api/app.ts';
import { secretRoutes } from '../../../shared/config/open-routes.ts';
import { secretText } from '../../../shared/domain/subscription/signing-secret.ts';
import { openedSecrets, signedRequest } from '../../../shared/steps/sign-request.ts';
import { aMessage } from '../../support/builders.ts';
import { inMemorySecrets } from '../../support/in-memory/in-memory-secrets.ts';
import { wholeApi } from '../../support/whole-api.ts';
import { spellingsOf } from '../../support/planted-secrets.ts';
import {
  type Api,
  apiUnderTest,
  CALLER,
  HOOK,
  invalid,
  it,
  NOON,
  ONE,
  PUBLIC_URL,
  refusal,
  SUBSCRIPTIONS,
} from './api-test.ts';
import { MAX_SECRETS } from '../../../shared/domain/subscription/secret-rotation.ts';
const ROTATE = `${SUBSCRIPTIONS}/id-1/secret/rotate`;
const DAY_MS = 86_400_000;

const whsec = (fill: number): string => `whsec_${Buffer.alloc(24, fill).toString('base64')}`;
const WHSK = `whsk_${Buffer.alloc(32, 9).toString('base64')}`;

const shown = z.object({ secret: z.string() });

/** The API with one subscription, its secrets and public keys, and a request signed with them. */
const subscribed = async () => {
  const api = apiUnderTest();
  const answer = await api.call('POST', SUBSCRIPTIONS, { subscriber: HOOK });
  const opened = async (at = api.time.now) => {
    const subscription = await api.registry.findSubscription('orders', 'id-1');
    if (subscription === undefined) throw new Error('The subscription is not on record');
    return { subscription, secrets: await openedSecrets(api.secrets, subscription, at) };
  };
  return {
    ...api,
    first: shown.parse(answer.body).secret,
    rotate: (body?: unknown) => api.call('POST', ROTATE, body),
    inForce: async (at?: number): Promise<string[]> =>
      (await opened(at)).secrets.map(({ secret }) => secretText(secret)),
    /** As in docs/api.md#public-keys. */
    publicKeys: async (): Promise<string[]> =>
      jwks
        .parse((await api.call('GET', JWKS)).body)
        .keys.map(({ x }) => `whpk_${Buffer.from(x, 'base64url').toString('base64')}`),
    signed: async () => {
      const { subscription, secrets } = await opened();
      const payload = { kind: 'rendered', body: Buffer.from('{}') } as const;
      return signedRequest(aMessage(), payload, subscription, {
        secrets,
        startedAt: Date.now(),
        userAgent: 'Posthaste/test',
      });
    },
  };
};

describe('a subscription', () => {
  it('gets a unique secret of 32 bytes when it is created', async () => {
    const { call, first, inForce } = await subscribed();
    const other = await call('POST', SUBSCRIPTIONS, { subscriber: 'https://hooks.example/other' });
    expect(Buffer.from(first.replace(/^whsec_/, ''), 'base64')).toHaveLength(32);
    expect(shown.parse(other.body).secret).not.toBe(first);
    expect(await inForce()).toEqual([first]);
  });

  it('is not created if its secret cannot be sealed, which is reported without it', async () => {
    const outage = new Error('KMS does not respond');
    const { call, world, faults } = apiUnderTest({
      secretSealer: { ...inMemorySecrets(), seal: () => Promise.reject(outage) },
    });
    const answer = await call('POST', SUBSCRIPTIONS, { subscriber: HOOK });
    expect(answer).toMatchObject(refusal('internal'));
    expect(await world()).toMatchObject({ queues: [], changes: [] });
    expect(faults.map(({ fault }) => fault)).toEqual([outage]);
  });
});

describe('POST /v2/queues/{queue}/subscriptions/{id}/secret/rotate', () => {
  it('creates a new secret, and keeps the previous one for a day', async () => {
    const { call, first, inForce } = await subscribed();
    const answer = await call('POST', ROTATE);
    const { secret } = shown.parse(answer.body);
    expect(answer).toMatchObject({
      status: 200,
      body: { secret, previousExpiresAt: new Date(NOON + DAY_MS).toISOString() },
    });
    expect(secret).not.toBe(first);
    expect(await inForce(NOON + DAY_MS - 1)).toEqual([secret, first]);
    expect(await inForce(NOON + DAY_MS)).toEqual([secret]);
  });

  it('accepts a secret, and a grace period in seconds', async () => {
    const { call, first, inForce } = await subscribed();
    const answer = await call('POST', ROTATE, { secret: whsec(1), type: 'v1', graceSeconds: 60 });
    expect(answer.body).toEqual({
      secret: whsec(1),
      previousExpiresAt: new Date(NOON + 60_000).toISOString(),
    });
    expect(await inForce(NOON + 59_999)).toEqual([whsec(1), first]);
    expect(await inForce(NOON + 60_000)).toEqual([whsec(1)]);
  });

  it('ends the previous secret at once with a grace period of 0', async () => {
    const { call, inForce } = await subscribed();
    await call('POST', ROTATE, { secret: whsec(1), graceSeconds: 0 });
    expect(await inForce()).toEqual([whsec(1)]);
  });

  it('shows only the public key of a v1a secret, generated or given', async () => {
    const { call, inForce } = await subscribed();
    const taken = await call('POST', ROTATE, { secret: WHSK, graceSeconds: 0 });
    expect(taken.body).toEqual({
      publicKey: expect.stringMatching(/^whpk_[A-Za-z0-9+/]{43}=$/) as string,
      previousExpiresAt: new Date(NOON).toISOString(),
    });
    const [held] = await inForce();
    expect(held?.startsWith(WHSK.slice(0, 40))).toBe(true);
    const made = await call('POST', ROTATE, { type: 'v1a' });
    expect(Object.keys(made.body ?? {}).sort()).toEqual(['previousExpiresAt', 'publicKey']);
    expect(made.body).not.toMatchObject({
      publicKey: z.object({ publicKey: z.string() }).parse(taken.body).publicKey,
    });
  });

  it('gives a subscription without a secret its first one', async () => {
    const { call, registry, inForce } = await subscribed();
    await registry.changeSubscription({ queue: 'orders', subscriptionId: 'id-1', now: NOON }, (current) => {
      const { secrets, ...without } = current;
      return secrets === undefined ? current : without;
    });
    expect((await call('POST', ROTATE, { secret: whsec(1) })).body).toEqual({ secret: whsec(1) });
    expect(await inForce()).toEqual([whsec(1)]);
  });

  it('adds one entry to the audit trail, without the secret', async () => {
    const { call, changes } = await subscribed();
    await call('POST', ROTATE, { secret: whsec(1) });
    expect(changes.slice(1)).toEqual([
      {
        ...CALLER,
        change: 'secret_rotated',
        queue: 'orders',
        subscriptionId: 'id-1',
        scheme: 'v1',
        previousExpiresAt: new Date(NOON + DAY_MS).toISOString(),
      },
    ]);
  });
});

describe('a rotation is refused', () => {
  it.each([
    ['secret', { secret: 'whsec_c2hvcnQ=' }],
    ['secret', { secret: '' }],
    ['secret', { secret: 1 }],
    ['secret', { secret: null }],
    ['type', { type: 'v2' }],
    ['type', { type: null }],
    ['type', { secret: WHSK, type: 'v1' }],
    ['type', { secret: whsec(1), type: 'v1a' }],
    ['graceSeconds', { graceSeconds: -1 }],
    ['graceSeconds', { graceSeconds: 604_801 }],
    ['graceSeconds', { graceSeconds: 1.5 }],
    ['graceSeconds', { graceSeconds: '60' }],
    ['grace', { grace: 60 }],
    ['body', []],
    ['body', null],
  ])('for an invalid %s: %j', async (field, body) => {
    const { call, first, inForce, changes } = await subscribed();
    expect(await call('POST', ROTATE, body)).toMatchObject(invalid(field));
    expect(await inForce()).toEqual([first]);
    expect(changes).toHaveLength(1);
  });

  it('without repeating the secret in the response', async () => {
    const { call } = await subscribed();
    const answer = await call('POST', ROTATE, { secret: 'whsec_not-base64-at-all' });
    expect(JSON.stringify(answer.body)).not.toContain('not-base64');
  });

  it('while too many secrets are in force, unless the grace period is 0', async () => {
    const { call, inForce, time } = await subscribed();
    for (let count = 1; count < MAX_SECRETS; count += 1) {
      expect(await call('POST', ROTATE, { secret: whsec(count) })).toMatchObject({ status: 200 });
      time.now += 1000;
    }
    const refused = await call('POST', ROTATE);
    expect(refused).toMatchObject(refusal('conflict'));
    expect(JSON.stringify(refused.body)).toContain(new Date(NOON + DAY_MS).toISOString());
    expect(await inForce()).toHaveLength(MAX_SECRETS);
    expect(await call('POST', ROTATE, { secret: whsec(9), graceSeconds: 0 })).toMatchObject({ status: 200 });
    expect(await inForce()).toEqual([whsec(9)]);
  });
});

describe('concurrent rotations', () => {
  it('end with one new secret and 409 for the other callers', async () => {
    const { call, secrets, first, inForce } = await subscribed();
    const seal = secrets.seal.bind(secrets);
    const all = Promise.withResolvers<undefined>();
    let begun = 0;
    vi.spyOn(secrets, 'seal').mockImplementation(async (...sealing) => {
      begun += 1;
      if (begun === 3) all.resolve(undefined);
      await all.promise;
      return seal(...sealing);
    });
    const answers = await Promise.all([call('POST', ROTATE), call('POST', ROTATE), call('POST', ROTATE)]);
    const won = answers.filter(({ status }) => status === 200);
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 409, 409]);
    expect(await inForce()).toEqual([shown.parse(won[0]?.body).secret, first]);
  });
});
const JWKS = `${ONE}/jwks.json`;

const jwks = z.object({ keys: z.array(z.looseObject({ x: z.string(), kid: z.string() })) });

describe('GET …/jwks.json', () => {
  it('has the public key that verifies requests, for caches, without a private part', async () => {
    const { call, rotate, publicKeys, signed } = await subscribed();
    const rotated = await rotate({ type: 'v1a', graceSeconds: 0 });
    expect(rotated.body).toMatchObject({ publicKey: (await publicKeys())[0] });
    const { body, headers } = await signed();
    expect(verifyWebhook(body, headers, await publicKeys())).toMatchObject({ id: aMessage().id });
    const answer = await call('GET', JWKS);
    expect(answer.headers.get('cache-control')).toBe('public, max-age=300');
    expect(Object.keys(jwks.parse(answer.body).keys[0] ?? {}).sort()).toEqual([
      'alg',
      'crv',
      'kid',
      'kty',
      'use',
      'x',
    ]);
  });

  it('has all keys in force during a rotation, the current one first', async () => {
    const { rotate, publicKeys, time } = await subscribed();
    const keyOf = z.object({ publicKey: z.string() });
    const first = keyOf.parse((await rotate({ type: 'v1a', graceSeconds: 0 })).body).publicKey;
    const second = keyOf.parse((await rotate({ type: 'v1a', graceSeconds: 60 })).body).publicKey;
    expect(await publicKeys()).toEqual([second, first]);
    time.now = NOON + 60_000;
    expect(await publicKeys()).toEqual([second]);
  });

  it('answers the same 404 for a subscription without public keys as for one that does not exist', async () => {
    const { call, rotate } = await subscribed();
    const unknown = await call('GET', '/v2/queues/none/subscriptions/none/jwks.json');
    expect(unknown.status).toBe(404);
    const ask = async (path: string) => {
      const { status, body } = await call('GET', path);
      return { status, body };
    };
    const { status, body } = unknown;
    expect(await ask(JWKS)).toEqual({ status, body });
    await rotate({ type: 'v1a' });
    expect((await ask(JWKS)).status).toBe(200);
    for (const path of [
      JWKS.replace('orders', 'bills'),
      JWKS.replace('orders', 'a%20b'),
      JWKS.replace('id-1', 'a%20b'),
    ])
      expect(await ask(path)).toEqual({ status, body });
    await call('DELETE', ONE);
    expect(await ask(JWKS)).toEqual({ status, body });
  });
});

const CREDENTIALS = {
  Authorization: 'Basic s3cret',
  'Proxy-Authorization': 's3cret',
  Cookie: 'session=s3cret',
  'X-Api-Key': 's3cret',
  'x-auth': 's3cret',
  'X-GitLab-Token': 's3cret',
  'x-hub-signature': 's3cret',
  'x-shared-secret': 's3cret',
  'x-password': 's3cret',
  'x-session-id': 's3cret',
  'x-forwarded-as': 'Bearer s3cret',
  'x-jwt': 's3cret',
  'x-pwd': 's3cret',
  'x-pin': 's3cret',
  'x-pass': 's3cret',
  'x-bearer': 's3cret',
  'x-hmac': 's3cret',
  'x-acl': 'ApiKey s3cret',
  'x-grant': 'eyJs3cret.e30.s3cret',
};
const PLAIN = { accept: 'text/plain', 'x-tenant': 'red', 'x-empty': '' };

const withHeaders = async () => {
  const api = apiUnderTest();
  await api.call('POST', SUBSCRIPTIONS, {
    subscriber: HOOK,
    options: { post_headers: { ...CREDENTIALS, ...PLAIN }, raw_delivery: true },
  });
  return api;
};

const headersOf = (body: unknown) => (body as { options: { post_headers: object } }).options.post_headers;

describe('headers with credentials', () => {
  it('are redacted, unlike all others', async () => {
    const { call } = await withHeaders();
    const one = await call('GET', ONE);
    const list = await call('GET', SUBSCRIPTIONS);
    const redacted = Object.fromEntries(Object.keys(CREDENTIALS).map((name) => [name, '***']));
    expect(headersOf(one.body)).toEqual({ ...redacted, ...PLAIN });
    expect(JSON.stringify([one.body, list.body])).not.toContain('s3cret');
  });

  it('keep their values if the redacted value is sent back, with any spelling of the name', async () => {
    const { call, registry } = await withHeaders();
    const { options } = (await call('GET', ONE)).body as { options: object };
    await call('PATCH', ONE, { options, ttl: 60 });
    const kept = { ...CREDENTIALS, ...PLAIN };
    expect(await registry.findSubscription('orders', 'id-1')).toMatchObject({
      options: { post_headers: kept, raw_delivery: true },
    });
    await call('PATCH', ONE, { options: { post_headers: { authorization: '***', 'x-new': 'a' } } });
    expect((await registry.findSubscription('orders', 'id-1'))?.options).toEqual({
      post_headers: { authorization: 'Basic s3cret', 'x-new': 'a' },
    });
  });

  it('are refused if they are redacted and no value is stored', async () => {
    const { call, world } = await withHeaders();
    const before = await world();
    const options = { post_headers: { authorization: '***', 'x-other-key': '***' } };
    expect(await call('PATCH', ONE, { options })).toMatchObject(invalid('options.post_headers.x-other-key'));
    expect(await call('POST', SUBSCRIPTIONS, { subscriber: `${HOOK}/2`, options })).toMatchObject(
      invalid('options.post_headers.authorization', 'options.post_headers.x-other-key'),
    );
    expect(await world()).toEqual(before);
  });
});

const IMPORT = '/v2/queues/orders/import';
const LINES = '{"subscriber": "https://hooks.example/a"}\n{"subscriber": "https://hooks.example/b"}\nwrong';

const bytesOf = (secret: string): Buffer => Buffer.from(secret.replace(/^wh(sec|sk)_/, ''), 'base64');

describe('a signing secret', () => {
  it('appears in the response that creates it, and in no other response, audit entry or error', async ({
    api,
  }) => {
    const { call, changes, faults, registry } = api;
    const planted = { v1: randomBytes(32), v1a: randomBytes(32) };
    const subscribed = await call('POST', SUBSCRIPTIONS, { subscriber: 'https://hooks.example/orders' });
    const made = z.object({ secret: z.string() }).parse(subscribed.body).secret;
    const rotate = `${SUBSCRIPTIONS}/id-1/secret/rotate`;
    const imported = await call('POST', IMPORT, LINES);
    const shown = z
      .object({ subscriptions: z.array(z.object({ secret: z.string() })).length(2) })
      .parse(imported.body)
      .subscriptions.map(({ secret }) => secret);
    await call('POST', rotate, { secret: `whsec_${planted.v1.toString('base64')}` });
    const answers = [
      await call('POST', rotate, { secret: `whsk_${planted.v1a.toString('base64')}` }),
      await call('POST', rotate, { secret: `whsec_${planted.v1.toString('base64')}`, graceSeconds: -1 }),
      await call('POST', rotate, { secret: `whsec_${planted.v1.toString('base64')}!` }),
      await call('POST', rotate, { secret: `whsec_${planted.v1.toString('base64')}`, type: 'v1a' }),
      await call('POST', SUBSCRIPTIONS, { subscriber: 'https://hooks.example/orders' }),
      await call('POST', IMPORT, LINES),
      await call('POST', '/v2/credentials/orders'),
      ...(await allGetResponses(call)),
    ];
    const kept = (await registry.findSubscription('orders', 'id-1'))?.secrets ?? [];
    expect(kept).toHaveLength(3);

    const output = inspect({ answers, changes, faults }, { depth: 20, maxArrayLength: null });
    const forbidden = [
      ...[bytesOf(made), planted.v1, planted.v1a, ...shown.map(bytesOf)].flatMap(spellingsOf),
      ...kept.map(({ sealed }) => sealed),
    ];
    for (const spelling of forbidden) expect(output).not.toContain(spelling);
  });
});

/** The responses of all GET routes. */
const allGetResponses = async (call: Api['call']) => {
  const paths = new Set(getRoutes().map((path) => path.replace(':queue', 'orders').replace(/:\w+/g, 'id-1')));
  expect(paths).toContain(`${SUBSCRIPTIONS}/id-1`);
  const answers = [];
  for (const path of paths) answers.push(await call('GET', path));
  return answers;
};

const getRoutes = (): string[] => {
  const { dependencies } = apiUnderTest();
  return wholeApi(dependencies)
    .routes.filter(({ method }) => method === 'GET')
    .map(({ path }) => path);
};

const { dependencies } = apiUnderTest();

const statusOf = async (api: ReturnType<typeof createApi>, method: string, path: string): Promise<number> => {
  const bindings = { caller: CALLER, publicUrl: PUBLIC_URL };
  return (await api.fetch(new Request(`https://api.invalid${path}`, { method }), bindings)).status;
};

const PATHS = secretRoutes.map(({ path }) => path.replaceAll(/\{\w+\}/g, 'orders'));

describe('the routes that open secrets', () => {
  it.each(PATHS)('are only described by the administration, which cannot open any: %s', async (path) => {
    expect(await statusOf(createApi(dependencies), 'POST', path)).toBe(405);
  });

  it.each(PATHS)('are served by the function that can: %s', async (path) => {
    expect([401, 404]).toContain(await statusOf(createSecretsApi(dependencies), 'POST', path));
    expect(await statusOf(createSecretsApi(dependencies), 'GET', path)).toBe(405);
  });

  it.each(['/v2/queues', '/v2/queues/orders', '/v2/queues/orders/export', '/v2/pull/orders/id/ack'])(
    'are all that it serves, so it answers 404 for %s',
    async (path) => {
      expect(await statusOf(createSecretsApi(dependencies), 'GET', path)).toBe(404);
    },
  );
});
