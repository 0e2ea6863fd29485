import { describe, expect, it } from 'vitest';
import { apiUnderTest, faultOf, NOON } from './api-under-test.ts';

const PATH = '/v2/queues/orders/subscriptions';
const ONE = `${PATH}/id-1`;

const disabledManually = {
  type: 'subscription.disabled',
  queue: 'orders',
  subscriptionId: 'id-1',
  reason: 'manual',
  at: NOON,
} as const;

const withSubscription = async () => {
  const api = apiUnderTest();
  await api.call('POST', PATH, { subscriber: 'https://hooks.example/orders' });
  return api;
};

describe('disabling a subscription manually', () => {
  it('notifies operators, unlike other changes', async () => {
    const { call, operatorEvents } = await withSubscription();
    await call('POST', `${ONE}/disable`);
    await call('POST', `${ONE}/enable`);
    await call('PATCH', ONE, { ttl: 60 });
    await call('DELETE', ONE);
    expect(operatorEvents.published).toEqual([disabledManually]);
  });

  it('fails if operators cannot be notified, is on the audit trail, and notifies when it is repeated', async () => {
    const { call, operatorEvents, changes } = await withSubscription();
    const publish = operatorEvents.publish.bind(operatorEvents);
    operatorEvents.publish = () => Promise.reject(new Error('EventBridge is down'));
    expect(await call('POST', `${ONE}/disable`)).toMatchObject({ status: 500, body: faultOf('internal') });
    expect(changes.at(-1)).toMatchObject({ change: 'subscription_disabled' });
    operatorEvents.publish = publish;
    expect(await call('POST', `${ONE}/disable`)).toMatchObject({ status: 200 });
    expect(operatorEvents.published).toEqual([disabledManually]);
  });

  it('does not notify if the subscription was already disabled for another reason', async () => {
    const { call, registry, operatorEvents } = await withSubscription();
    await registry.disable('orders', 'id-1', { reason: 'gone', at: NOON - 1 });
    await call('POST', `${ONE}/disable`);
    expect(operatorEvents.published).toEqual([]);
  });
});
