import { describe, expect, it, vi } from 'vitest';
import * as z from 'zod';
import { openedSecrets } from '../../../shared/steps/sign-request.ts';
import { secretText, MAX_SECRETS } from '../../../shared/domain/subscription/signing-secret.ts';
import { inMemorySecrets } from '../../support/in-memory/in-memory-secrets.ts';
import { apiUnderTest, CALLER, faultOf, NOON } from './api-under-test.ts';

const SUBSCRIPTIONS = '/v2/queues/orders/subscriptions';
const ROTATE = `${SUBSCRIPTIONS}/id-1/secret/rotate`;
const DAY_MS = 86_400_000;

const whsec = (fill: number): string => `whsec_${Buffer.alloc(24, fill).toString('base64')}`;
const WHSK = `whsk_${Buffer.alloc(32, 9).toString('base64')}`;

const shown = z.object({ secret: z.string() });

/** The API with one subscription, and the secrets that would sign its requests. */
const subscribed = async () => {
  const api = apiUnderTest();
  const answer = await api.call('POST', SUBSCRIPTIONS, { subscriber: 'https://hooks.example/orders' });
  const inForce = async (at = api.time.now): Promise<string[]> => {
    const found = await api.registry.findSubscription('orders', 'id-1');
    if (found === undefined) throw new Error('The subscription is not on record');
    return (await openedSecrets(api.secrets, found, at)).map(({ secret }) => secretText(secret));
  };
  return { ...api, first: shown.parse(answer.body).secret, inForce };
};

describe('a subscription', () => {
  it('gets a unique secret of 32 bytes when it is created', async () => {
    const { call, first, inForce } = await subscribed();
    const other = await call('POST', SUBSCRIPTIONS, { subscriber: 'https://hooks.example/other' });
    expect(Buffer.from(first.replace(/^whsec_/, ''), 'base64')).toHaveLength(32);
    expect(shown.parse(other.body).secret).not.toBe(first);
    expect(await inForce()).toEqual([first]);
  });

  it('is not created if its secret cannot be sealed', async () => {
    const { call, world, faults } = apiUnderTest({
      secretSealer: { ...inMemorySecrets(), seal: () => Promise.reject(new Error('KMS does not respond')) },
    });
    const answer = await call('POST', SUBSCRIPTIONS, { subscriber: 'https://hooks.example/orders' });
    expect(answer).toMatchObject({ status: 500, body: faultOf('internal') });
    expect(await world()).toMatchObject({ queues: [], changes: [] });
    expect(faults).toHaveLength(1);
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
    expect(await call('POST', ROTATE, body)).toMatchObject({
      status: 400,
      body: faultOf('invalid_request', field),
    });
    expect(await inForce()).toEqual([first]);
    expect(changes).toHaveLength(1);
  });

  it('without repeating the secret in the response', async () => {
    const { call } = await subscribed();
    const answer = await call('POST', ROTATE, { secret: 'whsec_not-base64-at-all' });
    expect(JSON.stringify(answer.body)).not.toContain('not-base64');
  });

  it.each(['id-2', 'a%2Fb', 'x'.repeat(65)])('for an unknown subscription: %s', async (id) => {
    const { call } = await subscribed();
    expect(await call('POST', `${SUBSCRIPTIONS}/${id}/secret/rotate`)).toMatchObject({
      status: 404,
      body: faultOf('not_found'),
    });
  });

  it('for an expired or deleted subscription', async () => {
    const { call, registry, time } = apiUnderTest();
    await call('POST', SUBSCRIPTIONS, { subscriber: 'https://hooks.example/a', ttl: 60 });
    await call('POST', SUBSCRIPTIONS, { subscriber: 'https://hooks.example/b' });
    await registry.markDeleted({ queue: 'orders', subscriptionId: 'id-2', now: NOON });
    time.now += 60_000;
    for (const id of ['id-1', 'id-2'])
      expect(await call('POST', `${SUBSCRIPTIONS}/${id}/secret/rotate`)).toMatchObject({ status: 404 });
  });

  it('while too many secrets are in force, unless the grace period is 0', async () => {
    const { call, inForce, time } = await subscribed();
    for (let count = 1; count < MAX_SECRETS; count += 1) {
      expect(await call('POST', ROTATE, { secret: whsec(count) })).toMatchObject({ status: 200 });
      time.now += 1000;
    }
    const refused = await call('POST', ROTATE);
    expect(refused).toMatchObject({ status: 409, body: faultOf('conflict') });
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
