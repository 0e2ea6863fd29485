import { describe, expect } from 'vitest';
import { apiWithSubscription, CALLER, it, NOON, ONE, refusal, SUBSCRIPTIONS } from './api-test.ts';

const SECRET = 's3cret';
const NAME = { queue: 'orders', subscriptionId: 'id-1' };

const subscribing = {
  name: `Billing ${SECRET}`,
  subscriber: `https://a.example:8443/${SECRET}?token=${SECRET}`,
  ttl: 60,
  options: {
    _retry_policy: { minimum_delay: 2 },
    post_headers: { 'x-key': SECRET, accept: SECRET },
    post_data: SECRET,
  },
};

const others = {
  retryPolicy: { minimum_delay: 2 },
  headers: ['accept', 'x-key'],
  options: ['_retry_policy', 'post_data', 'post_headers'],
  confirmed: true,
};

const digest = { ...others, subscriber: 'https://a.example:8443', ttl: 60 };

describe('the audit trail', () => {
  it('names the changed metadata of a queue, and has its retry policy before and after', async ({ api }) => {
    const { call, changes } = api;
    await call('PUT', '/v2/queues/orders', { team: SECRET });
    await call('PUT', '/v2/queues/orders', { team: `${SECRET}2`, _retry_policy: {} });
    await call('PATCH', '/v2/queues/orders', [
      { op: 'add', path: '/metadata/_retry_policy/minimum_delay', value: 2 },
    ]);
    await call('DELETE', '/v2/queues/orders');
    const before = { metadata: ['_retry_policy', 'team'], retryPolicy: {} };
    expect(changes).toEqual([
      { ...CALLER, change: 'queue_created', queue: 'orders', after: { metadata: ['team'] } },
      {
        ...CALLER,
        change: 'queue_replaced',
        queue: 'orders',
        changed: ['_retry_policy', 'team'],
        before: { metadata: ['team'] },
        after: before,
      },
      {
        ...CALLER,
        change: 'queue_changed',
        queue: 'orders',
        changed: ['_retry_policy'],
        before,
        after: { ...before, retryPolicy: { minimum_delay: 2 } },
      },
      { ...CALLER, change: 'queue_deleted', queue: 'orders' },
    ]);
    expect(JSON.stringify(changes)).not.toContain(SECRET);
  });

  it('names the changed fields of a subscription, each header, but no value that may be secret', async ({
    api,
  }) => {
    const { call, changes } = api;
    const { options } = subscribing;
    const post_headers = { ...options.post_headers, 'x-key': `${SECRET}2` };
    await call('POST', SUBSCRIPTIONS, subscribing);
    await call('PATCH', `${SUBSCRIPTIONS}/id-1`, { options: { ...options, post_headers } });
    await call('PATCH', `${SUBSCRIPTIONS}/id-1`, {
      name: null,
      subscriber: `https://b.example/${SECRET}`,
      ttl: null,
    });
    await call('DELETE', `${SUBSCRIPTIONS}/id-1`);
    const endless = { ...others, subscriber: 'https://b.example', headers: ['accept'] };
    expect(changes).toEqual([
      { ...CALLER, change: 'subscription_created', ...NAME, after: digest },
      {
        ...CALLER,
        change: 'subscription_changed',
        ...NAME,
        changed: ['options.post_headers.x-key'],
        before: digest,
        after: digest,
      },
      {
        ...CALLER,
        change: 'subscription_changed',
        ...NAME,
        changed: ['name', 'options.post_headers.x-key', 'subscriber', 'ttl'],
        before: digest,
        after: endless,
      },
      { ...CALLER, change: 'secret_rotated', ...NAME, scheme: 'v1' },
      { ...CALLER, change: 'subscription_deleted', ...NAME, before: endless },
    ]);
    expect(JSON.stringify(changes)).not.toContain(SECRET);
  });

  it('has one entry for disabling a subscription, and one for each time that it is enabled', async ({
    api,
  }) => {
    const { call, changes } = api;
    await call('POST', SUBSCRIPTIONS, { subscriber: 'https://a.example/' });
    for (const verb of ['disable', 'disable', 'enable', 'enable']) {
      await call('POST', `${SUBSCRIPTIONS}/id-1/${verb}`);
    }
    const enabled = { subscriber: 'https://a.example', options: [], confirmed: true };
    const disabled = { ...enabled, disabled: 'manual' };
    expect(changes.slice(1)).toEqual([
      {
        ...CALLER,
        change: 'subscription_disabled',
        ...NAME,
        changed: ['disabled'],
        before: enabled,
        after: disabled,
      },
      {
        ...CALLER,
        change: 'subscription_enabled',
        ...NAME,
        changed: ['disabled'],
        before: disabled,
        after: enabled,
      },
      { ...CALLER, change: 'subscription_enabled', ...NAME, changed: [], before: enabled, after: enabled },
    ]);
  });

  it('contains the ids of messages, but not their data', async ({ call, changes }) => {
    await call('POST', '/v2/queues/orders/messages', { messages: [{ id: 'a', body: SECRET }, { body: 2 }] });
    expect(changes).toEqual([
      { ...CALLER, change: 'messages_posted', queue: 'orders', messageIds: ['a', 'id-1'] },
    ]);
  });

  it('has no entry for requests that are refused or change nothing', async ({ call, changes }) => {
    await call('POST', SUBSCRIPTIONS, { subscriber: 'https://a.example/' });
    const entries = changes.length;
    await call('POST', SUBSCRIPTIONS, { subscriber: 'https://a.example/' });
    await call('PATCH', `${SUBSCRIPTIONS}/id-1`, { subscriber: 'https://a.example/' });
    await call('PATCH', `${SUBSCRIPTIONS}/id-1`, { ttl: 0 });
    await call('PATCH', '/v2/queues/orders', [{ op: 'remove', path: '/metadata/none' }]);
    await call('DELETE', `${SUBSCRIPTIONS}/id-9`);
    await call('GET', `${SUBSCRIPTIONS}/id-1/confirm?token=guessed`);
    expect(changes).toHaveLength(entries);
  });
});

const disabledManually = {
  type: 'subscription.disabled',
  queue: 'orders',
  subscriptionId: 'id-1',
  reason: 'manual',
  at: NOON,
} as const;

describe('disabling a subscription manually', () => {
  it('notifies operators, unlike other changes', async () => {
    const { call, operatorEvents } = await apiWithSubscription();
    await call('POST', `${ONE}/disable`);
    await call('POST', `${ONE}/enable`);
    await call('PATCH', ONE, { ttl: 60 });
    await call('DELETE', ONE);
    expect(operatorEvents.published).toEqual([disabledManually]);
  });

  it('fails if operators cannot be notified, is on the audit trail, and notifies when it is repeated', async () => {
    const { call, operatorEvents, changes } = await apiWithSubscription();
    const publish = operatorEvents.publish.bind(operatorEvents);
    operatorEvents.publish = () => Promise.reject(new Error('EventBridge is down'));
    expect(await call('POST', `${ONE}/disable`)).toMatchObject(refusal('internal'));
    expect(changes.at(-1)).toMatchObject({ change: 'subscription_disabled' });
    operatorEvents.publish = publish;
    expect(await call('POST', `${ONE}/disable`)).toMatchObject({ status: 200 });
    expect(operatorEvents.published).toEqual([disabledManually]);
  });

  it('does not notify if the subscription was already disabled for another reason', async () => {
    const { call, registry, operatorEvents } = await apiWithSubscription();
    await registry.disable('orders', 'id-1', { reason: 'gone', at: NOON - 1 });
    await call('POST', `${ONE}/disable`);
    expect(operatorEvents.published).toEqual([]);
  });
});
