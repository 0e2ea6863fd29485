import { describe, expect, it } from 'vitest';
import { subscriberFault } from '../../../shared/adapters/http/address-guard.ts';
import { apiUnderTest, faultOf } from './api-under-test.ts';

const SUBSCRIPTIONS = '/v2/queues/orders/subscriptions';
const IMPORT = '/v2/queues/orders/import';

const allowed = {
  allowedAddresses: ['127.0.0.0/8', '169.254.0.0/16'],
  allowedPorts: ['443', '8000-9100'],
  runtimeApi: '127.0.0.1:9001',
};

describe('a subscriber at a forbidden address or port', () => {
  const withSubscription = async () => {
    const api = apiUnderTest({ subscriberFault: (subscriber) => subscriberFault(subscriber, allowed) });
    const subscriber = 'https://127.0.0.1:9000/';
    expect(await api.call('POST', SUBSCRIPTIONS, { subscriber })).toMatchObject({ status: 201 });
    return api;
  };

  it.each([
    ['a port that is not allowed', 'https://hooks.example:9443/'],
    ['a port that is not allowed, implied by the scheme', 'http://hooks.example/'],
    ['the runtime API', 'http://127.0.0.1:9001/2018-06-01/runtime/invocation/next'],
    ['the runtime API in another spelling', 'http://0x7f.1:9001/'],
    ['the metadata address, although its range is allowed', 'http://169.254.169.254:8000/latest/meta-data'],
  ])(
    'is refused by subscribing, changing and importing, with the field named: %s',
    async (_what, subscriber) => {
      const { call, world } = await withSubscription();
      const before = await world();
      const refused = { status: 400, body: faultOf('invalid_request', 'subscriber') };
      expect(await call('POST', SUBSCRIPTIONS, { subscriber })).toMatchObject(refused);
      expect(await call('PATCH', `${SUBSCRIPTIONS}/id-1`, { subscriber })).toMatchObject(refused);
      expect(await call('POST', IMPORT, JSON.stringify({ subscriber }))).toMatchObject({
        body: { imported: 0, failed: [{ line: 1, ...faultOf('invalid_request', 'subscriber') }] },
      });
      expect(await world()).toEqual(before);
    },
  );

  it('is refused with the allowed ports in the message', async () => {
    const { call } = await withSubscription();
    const { body } = await call('POST', SUBSCRIPTIONS, { subscriber: 'http://hooks.example:81/' });
    expect(body).toMatchObject({
      error: { fields: [{ message: 'must not lead to port 81; allowed are 443, 8000-9100' }] },
    });
  });
});
