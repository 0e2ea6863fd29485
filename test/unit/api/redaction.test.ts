import { describe, expect, it } from 'vitest';
import { apiUnderTest, faultOf } from './api-under-test.ts';

const HOOK = 'https://hooks.example/orders';
const PATH = '/v2/queues/orders/subscriptions';
const ONE = `${PATH}/id-1`;

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
  await api.call('POST', PATH, {
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
    const list = await call('GET', PATH);
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
    expect(await call('PATCH', ONE, { options })).toMatchObject({
      status: 400,
      body: faultOf('invalid_request', 'options.post_headers.x-other-key'),
    });
    expect(await call('POST', PATH, { subscriber: `${HOOK}/2`, options })).toMatchObject({
      status: 400,
      body: faultOf(
        'invalid_request',
        'options.post_headers.authorization',
        'options.post_headers.x-other-key',
      ),
    });
    expect(await world()).toEqual(before);
  });
});
