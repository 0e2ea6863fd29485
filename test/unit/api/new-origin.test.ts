import { describe, expect, it } from 'vitest';
import { secretText } from '../../../shared/domain/subscription/signing-secret.ts';
import { apiUnderTest, faultOf } from './api-under-test.ts';

const HOOK = 'https://hooks.example/orders';
const PATH = '/v2/queues/orders/subscriptions';
const ONE = `${PATH}/id-1`;

describe('a subscription whose subscriber moves to another origin', () => {
  const OTHER = 'https://hooks.example:8443/orders';
  const post_headers = { Authorization: 'Bearer s3cret', 'x-api-key': 's3cret', accept: 'text/plain' };

  const moved = async (
    change: object,
    fields: object = { options: { post_headers, raw_delivery: true } },
  ) => {
    const api = apiUnderTest();
    await api.call('POST', PATH, { subscriber: HOOK, ...fields });
    const before = await api.registry.findSubscription('orders', 'id-1');
    const answer = await api.call('PATCH', ONE, { subscriber: OTHER, ...change });
    return { ...api, before, answer, after: await api.registry.findSubscription('orders', 'id-1') };
  };

  it('loses stored credentials, but no other options', async () => {
    const { after } = await moved({});
    expect(after?.options).toEqual({ post_headers: { accept: 'text/plain' }, raw_delivery: true });
  });

  it('accepts new credentials in the same request', async () => {
    const { after } = await moved({ options: { post_headers: { Authorization: 'Bearer new' } } });
    expect(after?.options).toEqual({ post_headers: { Authorization: 'Bearer new' } });
  });

  it('does not accept redacted values for the stored credentials', async () => {
    const { answer, before, after } = await moved({ options: { post_headers: { Authorization: '***' } } });
    expect(answer).toMatchObject({
      status: 400,
      body: faultOf('invalid_request', 'options.post_headers.Authorization'),
    });
    expect(after).toEqual(before);
  });

  it('gets a new secret, which only this response contains', async () => {
    const { answer, after, secrets, changes, call } = await moved({});
    const { secret } = answer.body as { secret: string };
    expect(after?.secrets).toHaveLength(1);
    const [current] = after?.secrets ?? [];
    const opened = await secrets.open({ queue: 'orders', subscriptionId: 'id-1' }, current?.sealed ?? '');
    expect(secretText(opened)).toBe(secret);
    expect(changes.slice(-2)).toMatchObject([
      {
        change: 'subscription_changed',
        changed: ['options.post_headers.Authorization', 'options.post_headers.x-api-key', 'subscriber'],
        before: { subscriber: 'https://hooks.example' },
        after: { subscriber: 'https://hooks.example:8443' },
      },
      { change: 'secret_rotated', subscriptionId: 'id-1', scheme: 'v1' },
    ]);
    expect((await call('GET', ONE)).body).not.toHaveProperty('secret');
    expect(JSON.stringify(changes)).not.toContain(secret);
  });

  it('keeps its secret on request', async () => {
    const { answer, before, after, changes } = await moved({ secret: 'keep' });
    expect(after?.secrets).toEqual(before?.secrets);
    expect(answer.body).not.toHaveProperty('secret');
    expect(changes.at(-1)).toMatchObject({ change: 'subscription_changed' });
  });

  it.each([
    ['another path', `${HOOK}/2`],
    ['another spelling', 'HTTPS://HOOKS.example:443/orders'],
  ])('is not one with %s, which keeps secret and credentials', async (_name, subscriber) => {
    const { before, answer, after } = await moved({ subscriber });
    expect(after).toMatchObject({ options: before?.options, secrets: before?.secrets });
    expect(answer.body).not.toHaveProperty('secret');
  });

  it.each(['http://hooks.example/orders', 'https://hooks.example.test/orders'])(
    'includes %s',
    async (subscriber) => {
      const { after } = await moved({ subscriber });
      expect(after?.options.post_headers).toEqual({ accept: 'text/plain' });
    },
  );
});
