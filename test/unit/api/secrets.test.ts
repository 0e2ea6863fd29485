import { randomBytes } from 'node:crypto';
import { inspect } from 'node:util';
import { describe, expect, vi } from 'vitest';
import * as z from 'zod';
import { verifyWebhook } from '../../../client/verify.ts';
import { createApi } from '../../../functions/api/app.ts';
import { createSecretsApi } from '../../../functions/api/secrets-api.ts';
import { secretRoutes } from '../../../shared/config/open-routes.ts';
import { secretText } from '../../../shared/domain/subscription/signing-secret.ts';
import { openedSecrets, signedRequest } from '../../../shared/steps/sign-request.ts';
import { aMessage } from '../../support/builders.ts';
import { requestApi, wholeApi } from '../../support/whole-api.ts';
import { spellingsOf } from '../../support/planted-secrets.ts';
import {
  apiUnderTest,
  CALLER,
  HOOK,
  invalid,
  it as apiIt,
  NOON,
  ONE,
  PUBLIC_URL,
  QUEUE,
  refusal,
} from './api-test.ts';
import { MAX_SECRETS } from '../../../shared/domain/subscription/secret-rotation.ts';

const ROTATE = `${ONE}/secret/rotate`;
const JWKS = `${ONE}/jwks.json`;
const DAY_MS = 86_400_000;

const whsec = (fill: number): string => `whsec_${Buffer.alloc(24, fill).toString('base64')}`;
const WHSK = `whsk_${Buffer.alloc(32, 9).toString('base64')}`;

const shown = z.object({ secret: z.string() });
const shownView = z.object({ previousSecretExpiresAt: z.string().exactOptional() });
const shownKey = z.object({ publicKey: z.string() });
const jwks = z.object({ keys: z.array(z.looseObject({ x: z.string(), kid: z.string() })) });

/** `first`: the secret of a subscription, which makes that; the others are the secrets of that. */
const it = apiIt
  .extend('first', { auto: true }, async ({ api }) => shown.parse((await api.subscribe()).body).secret)
  .extend(
    'rotate',
    ({ api }) =>
      (body?: unknown) =>
        api.call('POST', ROTATE, body),
  )
  .extend('inForce', ({ api }) => async (at = api.time.now): Promise<string[]> => {
    const opened = await openedSecrets(api.secrets, await api.stored(), at);
    return opened.map(({ secret }) => secretText(secret));
  })
  // As in docs/api.md#public-keys.
  .extend('publicKeys', ({ api }) => async (): Promise<string[]> => {
    const { keys } = jwks.parse(await api.get(JWKS));
    return keys.map(({ x }) => `whpk_${Buffer.from(x, 'base64url').toString('base64')}`);
  });

describe('a subscription', () => {
  it('gets a unique secret of 32 bytes when it is created', async ({ first, inForce, subscribe }) => {
    const other = await subscribe({ subscriber: `${HOOK}/2` });
    expect(Buffer.from(first.replace(/^whsec_/, ''), 'base64')).toHaveLength(32);
    expect(shown.parse(other.body).secret).not.toBe(first);
    expect(await inForce()).toEqual([first]);
  });

  it('is not created if its secret cannot be sealed, which is reported without it', async ({ api }) => {
    const outage = new Error('KMS does not respond');
    vi.spyOn(api.secrets, 'seal').mockRejectedValue(outage);
    const before = await api.world();
    expect(await api.subscribe({ subscriber: `${HOOK}/2` })).toMatchObject(refusal('internal'));
    expect(await api.world()).toEqual(before);
    expect(api.faults.map(({ fault }) => fault)).toEqual([outage]);
  });
});

describe('POST /v2/queues/{queue}/subscriptions/{id}/secret/rotate', () => {
  it('creates a new secret, and keeps the previous one for a day', async ({ first, rotate, inForce }) => {
    const answer = await rotate();
    const { secret } = shown.parse(answer.body);
    expect(answer).toMatchObject({ status: 200, body: { previousExpiresAt: '2026-11-22T12:00:00.000Z' } });
    expect(secret).not.toBe(first);
    expect(await inForce(NOON + DAY_MS - 1)).toEqual([secret, first]);
    expect(await inForce(NOON + DAY_MS)).toEqual([secret]);
  });

  it('shows until when the previous secret signs, and no longer', async ({ api, rotate }) => {
    const shownEnd = async () => shownView.parse(await api.get(ONE)).previousSecretExpiresAt;
    expect(await shownEnd()).toBeUndefined();
    await rotate({ graceSeconds: 60 });
    expect(await shownEnd()).toBe('2026-11-21T12:01:00.000Z');
    api.time.now = NOON + 60_000;
    expect(await shownEnd()).toBeUndefined();
  });

  it('accepts a secret, and a grace period in seconds', async ({ first, rotate, inForce }) => {
    const { body } = await rotate({ secret: whsec(1), type: 'v1', graceSeconds: 60 });
    expect(body).toEqual({ secret: whsec(1), previousExpiresAt: '2026-11-21T12:01:00.000Z' });
    expect(await inForce(NOON + 59_999)).toEqual([whsec(1), first]);
    expect(await inForce(NOON + 60_000)).toEqual([whsec(1)]);
  });

  it('shows only the public key of a v1a secret, generated or given', async ({ rotate, inForce }) => {
    const taken = await rotate({ secret: WHSK, graceSeconds: 0 });
    expect(taken.body).toEqual({
      publicKey: expect.stringMatching(/^whpk_[A-Za-z0-9+/]{43}=$/) as string,
      previousExpiresAt: '2026-11-21T12:00:00.000Z',
    });
    const [held, ...previous] = await inForce();
    expect(held?.startsWith(WHSK.slice(0, 40))).toBe(true);
    expect(previous).toEqual([]);
    const { body } = await rotate({ type: 'v1a' });
    expect(Object.keys(body ?? {}).sort()).toEqual(['previousExpiresAt', 'publicKey']);
    expect(shownKey.parse(body)).not.toEqual(shownKey.parse(taken.body));
  });

  it('gives a subscription without a secret its first one', async ({ rotate, inForce, registry }) => {
    const key = { queue: 'orders', subscriptionId: 'id-1', now: NOON };
    await registry.changeSubscription(key, (current) => {
      const { secrets: _, ...without } = current;
      return without;
    });
    expect((await rotate({ secret: whsec(1) })).body).toEqual({ secret: whsec(1) });
    expect(await inForce()).toEqual([whsec(1)]);
  });

  it('adds one entry to the audit trail, without the secret', async ({ rotate, changes }) => {
    await rotate({ secret: whsec(1) });
    const rotated = { change: 'secret_rotated', queue: 'orders', subscriptionId: 'id-1', scheme: 'v1' };
    const previousExpiresAt = '2026-11-22T12:00:00.000Z';
    expect(changes.slice(1)).toEqual([{ ...CALLER, ...rotated, previousExpiresAt }]);
  });
});

describe('a rotation is refused', () => {
  it.for<[string, unknown]>([
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
  ])('for an invalid %s: %j', async ([field, body], { first, rotate, inForce, changes }) => {
    expect(await rotate(body)).toMatchObject(invalid(field));
    expect(await inForce()).toEqual([first]);
    expect(changes).toHaveLength(1);
  });

  it('without repeating the secret in the response', async ({ rotate }) => {
    const { body } = await rotate({ secret: 'whsec_not-base64-at-all' });
    expect(JSON.stringify(body)).not.toContain('not-base64');
  });

  it('while too many are in force, unless the grace period is 0', async ({ rotate, inForce, time }) => {
    for (let count = 1; count < MAX_SECRETS; count += 1) {
      expect(await rotate({ secret: whsec(count) })).toMatchObject({ status: 200 });
      time.now += 1000;
    }
    const refused = await rotate();
    expect(refused).toMatchObject(refusal('conflict'));
    expect(JSON.stringify(refused.body)).toContain('2026-11-22T12:00:00.000Z');
    expect(await inForce()).toHaveLength(MAX_SECRETS);
    expect(await rotate({ secret: whsec(9), graceSeconds: 0 })).toMatchObject({ status: 200 });
    expect(await inForce()).toEqual([whsec(9)]);
  });
});

it('a subscription that expires during its rotation is missing', async ({
  rotate,
  registry,
  secrets,
  time,
}) => {
  const seal = secrets.seal.bind(secrets);
  vi.spyOn(secrets, 'seal').mockImplementationOnce(async (key, secret) => {
    const target = { ...key, now: time.now };
    await registry.changeSubscription(target, (current) => ({ ...current, expiresAt: time.now }));
    return seal(key, secret);
  });
  expect(await rotate()).toMatchObject(refusal('not_found'));
});

it('of concurrent rotations one succeeds, others get 409', async ({ first, rotate, inForce, secrets }) => {
  const seal = secrets.seal.bind(secrets);
  const all = Promise.withResolvers<undefined>();
  let begun = 0;
  vi.spyOn(secrets, 'seal').mockImplementation(async (...sealing) => {
    begun += 1;
    if (begun === 3) all.resolve(undefined);
    await all.promise;
    return seal(...sealing);
  });
  const answers = await Promise.all([rotate(), rotate(), rotate()]);
  const won = answers.filter(({ status }) => status === 200);
  expect(answers.map(({ status }) => status).sort()).toEqual([200, 409, 409]);
  expect(await inForce()).toEqual([shown.parse(won[0]?.body).secret, first]);
});

describe('GET …/jwks.json', () => {
  it('has the public key that verifies requests, for caches', async ({ api, rotate, publicKeys }) => {
    expect((await rotate({ type: 'v1a', graceSeconds: 0 })).body).toMatchObject({
      publicKey: (await publicKeys())[0],
    });
    const subscription = await api.stored();
    const { body, headers } = signedRequest(
      aMessage(),
      { kind: 'rendered', body: Buffer.from('{}') },
      subscription,
      {
        secrets: await openedSecrets(api.secrets, subscription, NOON),
        startedAt: Date.now(),
        userAgent: 'Posthaste/test',
      },
    );
    expect(verifyWebhook(body, headers, await publicKeys())).toMatchObject({ id: aMessage().id });
    const answer = await api.call('GET', JWKS);
    expect(answer.headers.get('cache-control')).toBe('public, max-age=300');
    const [key = {}] = jwks.parse(answer.body).keys;
    expect(Object.keys(key).sort()).toEqual(['alg', 'crv', 'kid', 'kty', 'use', 'x']);
  });

  it('has all keys that are in force, the current one first', async ({ rotate, publicKeys, time }) => {
    const first = shownKey.parse((await rotate({ type: 'v1a', graceSeconds: 0 })).body).publicKey;
    const second = shownKey.parse((await rotate({ type: 'v1a', graceSeconds: 60 })).body).publicKey;
    expect(await publicKeys()).toEqual([second, first]);
    time.now = NOON + 60_000;
    expect(await publicKeys()).toEqual([second]);
  });

  it('is the same 404 without public keys as without a subscription', async ({ call, rotate }) => {
    const ask = async (path: string) => {
      const { status, body } = await call('GET', path);
      return { status, body };
    };
    const unknown = await ask('/v2/queues/none/subscriptions/none/jwks.json');
    expect(unknown.status).toBe(404);
    expect(await ask(JWKS)).toEqual(unknown);
    await rotate({ type: 'v1a' });
    expect((await ask(JWKS)).status).toBe(200);
    for (const [name, other] of [
      ['orders', 'bills'],
      ['orders', 'a%20b'],
      ['id-1', 'a%20b'],
    ] as const)
      expect(await ask(JWKS.replace(name, other))).toEqual(unknown);
    await call('DELETE', ONE);
    expect(await ask(JWKS)).toEqual(unknown);
  });
});

const LINES = '{"subscriber": "https://hooks.example/a"}\n{"subscriber": "https://hooks.example/b"}\nwrong';

const bytesOf = (secret: string): Buffer => Buffer.from(secret.replace(/^wh(sec|sk)_/, ''), 'base64');

it('shows a secret only in the answer that creates it, nowhere else', async ({ api, rotate, first }) => {
  const { call, changes, faults } = api;
  const [v1, v1a] = [randomBytes(32), randomBytes(32)];
  const given = { secret: `whsec_${v1.toString('base64')}` };
  const imported = z
    .object({ subscriptions: z.array(shown).length(2) })
    .parse((await call('POST', `${QUEUE}/import`, LINES)).body)
    .subscriptions.map(({ secret }) => bytesOf(secret));
  await rotate(given);
  const answers = [
    await rotate({ secret: `whsk_${v1a.toString('base64')}` }),
    await rotate({ ...given, graceSeconds: -1 }),
    await rotate({ secret: `${given.secret}!` }),
    await rotate({ ...given, type: 'v1a' }),
    await api.subscribe(),
    await call('POST', `${QUEUE}/import`, LINES),
    await call('POST', '/v2/credentials/orders'),
  ];
  const gets = (await wholeApi(api.dependencies).routes()).filter(({ method }) => method === 'GET');
  const paths = new Set(
    gets.map(({ path }) => path.replace('{queue}', 'orders').replaceAll(/\{\w+\}/g, 'id-1')),
  );
  expect(paths).toContain(ONE);
  for (const path of paths) answers.push(await call('GET', path));
  const { secrets: kept = [] } = await api.stored();
  expect(kept).toHaveLength(3);

  const output = inspect({ answers, changes, faults }, { depth: 20, maxArrayLength: null });
  const planted = [bytesOf(first), v1, v1a, ...imported].flatMap(spellingsOf);
  for (const spelling of [...planted, ...kept.map(({ sealed }) => sealed)])
    expect(output).not.toContain(spelling);
});

const { dependencies } = apiUnderTest();

const statusOf = async (api: ReturnType<typeof createApi>, method: string, path: string): Promise<number> => {
  const bindings = { caller: CALLER, publicUrl: PUBLIC_URL };
  return (await requestApi(api, path, { method }, bindings)).status;
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
