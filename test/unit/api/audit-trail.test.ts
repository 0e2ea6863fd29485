import { describe, expect, vi } from 'vitest';
import {
  apiWithSubscription,
  CALLER,
  HOOK,
  it,
  NOON,
  ONE,
  QUEUE,
  refusal,
  SUBSCRIPTIONS,
} from './api-test.ts';

const SECRET = 's3cret';
const OF = { ...CALLER, queue: 'orders', subscriptionId: 'id-1' };

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
    await call('PUT', QUEUE, { team: SECRET });
    await call('PUT', QUEUE, { team: `${SECRET}2`, _retry_policy: {} });
    await call('PATCH', QUEUE, [{ op: 'add', path: '/metadata/_retry_policy/minimum_delay', value: 2 }]);
    await call('DELETE', QUEUE);
    const of = { ...CALLER, queue: 'orders' };
    const made = { metadata: ['team'] };
    const replaced = { metadata: ['_retry_policy', 'team'], retryPolicy: {} };
    const changed = { ...replaced, retryPolicy: { minimum_delay: 2 } };
    expect(changes).toEqual([
      { ...of, change: 'queue_created', after: made },
      { ...of, change: 'queue_replaced', changed: ['_retry_policy', 'team'], before: made, after: replaced },
      { ...of, change: 'queue_changed', changed: ['_retry_policy'], before: replaced, after: changed },
      { ...of, change: 'queue_deleted' },
    ]);
    expect(JSON.stringify(changes)).not.toContain(SECRET);
  });

  it('names the changed fields of a subscription, each header, but nothing secret', async ({ api }) => {
    const { options } = subscribing;
    const post_headers = { ...options.post_headers, 'x-key': `${SECRET}2` };
    await api.subscribe(subscribing);
    await api.patch({ options: { ...options, post_headers } });
    await api.patch({ name: null, subscriber: `https://b.example/${SECRET}`, ttl: null });
    await api.call('DELETE', ONE);
    const endless = { ...others, subscriber: 'https://b.example', headers: ['accept'] };
    const key = 'options.post_headers.x-key';
    const all = ['name', key, 'subscriber', 'ttl'];
    expect(api.changes).toEqual([
      { ...OF, change: 'subscription_created', after: digest },
      { ...OF, change: 'subscription_changed', changed: [key], before: digest, after: digest },
      { ...OF, change: 'subscription_changed', changed: all, before: digest, after: endless },
      { ...OF, change: 'secret_rotated', scheme: 'v1' },
      { ...OF, change: 'subscription_deleted', before: endless },
    ]);
    expect(JSON.stringify(api.changes)).not.toContain(SECRET);
  });

  it('has one entry for disabling a subscription, and one each time that it is enabled', async ({ api }) => {
    await api.subscribe();
    for (const verb of ['disable', 'disable', 'enable', 'enable']) await api.call('POST', `${ONE}/${verb}`);
    const enabled = { subscriber: 'https://hooks.example', options: [], confirmed: true };
    const disabled = { ...enabled, disabled: 'manual' };
    const changed = ['disabled'];
    expect(api.changes.slice(1)).toEqual([
      { ...OF, change: 'subscription_disabled', changed, before: enabled, after: disabled },
      { ...OF, change: 'subscription_enabled', changed, before: disabled, after: enabled },
      { ...OF, change: 'subscription_enabled', changed: [], before: enabled, after: enabled },
    ]);
  });

  it('contains the ids of messages, but not their data', async ({ call, changes }) => {
    await call('POST', `${QUEUE}/messages`, { messages: [{ id: 'a', body: SECRET }, { body: 2 }] });
    const posted = { change: 'messages_posted', queue: 'orders', messageIds: ['a', 'id-1'] };
    expect(changes).toEqual([{ ...CALLER, ...posted }]);
  });

  it('has no entry for requests that are refused or change nothing', async ({ api }) => {
    const { call, subscribe, patch, changes } = api;
    await subscribe();
    await subscribe();
    await patch({ subscriber: HOOK });
    await patch({ ttl: 0 });
    await call('PATCH', QUEUE, [{ op: 'remove', path: '/metadata/none' }]);
    await call('DELETE', `${SUBSCRIPTIONS}/id-9`);
    await call('GET', `${ONE}/confirm?token=guessed`);
    expect(changes).toHaveLength(1);
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
  it.override('api', () => apiWithSubscription());

  it('notifies operators, unlike other changes', async ({ call, patch, operatorEvents }) => {
    await call('POST', `${ONE}/disable`);
    await call('POST', `${ONE}/enable`);
    await patch({ ttl: 60 });
    await call('DELETE', ONE);
    expect(operatorEvents.published).toEqual([disabledManually]);
  });

  it('fails if operators cannot be notified, and notifies when it is repeated', async ({ api }) => {
    const { call, operatorEvents, changes } = api;
    vi.spyOn(operatorEvents, 'publish').mockRejectedValueOnce(new Error('EventBridge is down'));
    expect(await call('POST', `${ONE}/disable`)).toMatchObject(refusal('internal'));
    expect(changes.at(-1)).toMatchObject({ change: 'subscription_disabled' });
    expect(await call('POST', `${ONE}/disable`)).toMatchObject({ status: 200 });
    expect(operatorEvents.published).toEqual([disabledManually]);
  });

  it('does not notify if it was already disabled', async ({ call, registry, operatorEvents }) => {
    await registry.disable('orders', 'id-1', { reason: 'gone', at: NOON - 1 });
    await call('POST', `${ONE}/disable`);
    expect(operatorEvents.published).toEqual([]);
  });
});
