import { describe, expect, it } from 'vitest';
import * as z from 'zod';
import { verifyWebhook } from '../../../client/verify.ts';
import { openedSecrets, signedRequest } from '../../../shared/steps/sign-request.ts';
import { aMessage } from '../../support/builders.ts';
import { apiUnderTest, NOON } from './api-under-test.ts';

const ONE = '/v2/queues/orders/subscriptions/id-1';
const JWKS = `${ONE}/jwks.json`;

const jwks = z.object({ keys: z.array(z.looseObject({ x: z.string(), kid: z.string() })) });

const subscribed = async () => {
  const api = apiUnderTest();
  await api.call('POST', '/v2/queues/orders/subscriptions', { subscriber: 'https://hooks.example/orders' });
  const rotate = (body: object) => api.call('POST', `${ONE}/secret/rotate`, body);
  /** As in docs/api.md#public-keys. */
  const publicKeys = async (): Promise<string[]> =>
    jwks
      .parse((await api.call('GET', JWKS)).body)
      .keys.map(({ x }) => `whpk_${Buffer.from(x, 'base64url').toString('base64')}`);
  const signed = async () => {
    const subscription = await api.registry.findSubscription('orders', 'id-1');
    if (subscription === undefined) throw new Error('The subscription is not on record');
    const secrets = await openedSecrets(api.secrets, subscription, api.time.now);
    const payload = { kind: 'rendered', body: Buffer.from('{}') } as const;
    return signedRequest(aMessage(), payload, subscription, {
      secrets,
      startedAt: Date.now(),
      userAgent: 'Posthaste/test',
    });
  };
  return { ...api, rotate, publicKeys, signed };
};

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
