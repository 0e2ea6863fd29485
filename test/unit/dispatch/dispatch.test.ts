import { beforeEach, describe, expect, it, vi } from 'vitest';
import { withOptions } from '../../../shared/domain/message/matching.ts';
import type { SubscriptionOptions } from '../../../shared/domain/subscription/subscription.ts';
import { aBarePolicy, aMessage, aQueue } from '../../support/builders.ts';
import { status } from '../../support/in-memory/scripted-subscriber.ts';
import { dispatchWorld, type DispatchWorld } from './dispatch-world.ts';

const DAY = 86_400_000;
const TOTAL = { data: '{"total": 5}' };

let world: DispatchWorld;

beforeEach(async () => {
  world = await dispatchWorld();
});

const subscribeMany = async (count: number, options: SubscriptionOptions = {}): Promise<void> => {
  for (let index = 1; index <= count; index += 1) await world.subscribe(`subscription-${index}`, { options });
};

describe('dispatch', () => {
  it('spreads a fan-out of 600 over three partition keys, each delivery once', async () => {
    await subscribeMany(600);
    await world.deliver();

    const deliveries = world.chunks.deliveries();
    expect(deliveries).toHaveLength(600);
    const perBucket = [0, 1, 2].map((bucket) => deliveries.filter((one) => one.key.bucket === bucket).length);
    expect(Math.min(...perBucket)).toBeGreaterThan(100);
    expect(world.subscriber.seen).toHaveLength(600);
    expect(new Set(world.called()).size).toBe(600);
  });

  it.each([
    [{ ok: false, reason: 'not_json' } as const, { reason: 'not_json' }],
    [
      { ok: true as const, message: aMessage({ queue: 'nowhere' }) },
      { reason: 'unknown_queue', message: { queue: 'nowhere', messageId: 'message-1' } },
    ],
  ])('dead-letters a message that it refuses unchanged, and logs why: %j', async (reading, logged) => {
    await world.dispatch(reading, 'the very bytes');

    const sent = { body: 'the very bytes', attributes: { tenant: 'tenant-1' }, reason: logged.reason };
    expect(world.deadLetters.sent).toMatchObject([{ id: 'ingress-1', ...sent }]);
    expect(world.facts('message_refused')).toEqual([{ fact: 'message_refused', id: 'ingress-1', ...logged }]);
    expect(world.deliveryJobs.waiting).toBe(0);
  });

  it('stores a body over 64 KB in the payload bucket, also for retries', async () => {
    const data = `"${'x'.repeat(100_000)}"`;
    await subscribeMany(2, { _retry_policy: aBarePolicy({ minimum_delay_retries: 1 }) });
    world.subscriber.script(world.urlOf('subscription-1'), [status(500), status(200)]);
    await world.deliver({ data });

    expect(world.payloads.stored.size).toBe(1);
    expect(world.bodies().map((body) => body.includes(data))).toEqual([true, true, true]);
  });

  it.each([
    [8_000, 'inline'],
    [9_000, 'stored'],
  ])('stores a failing message of %i bytes %s', async (size, kind) => {
    await world.subscribe('failing');
    world.subscriber.script(world.urlOf('failing'), [status(400)]);
    await world.deliver({ data: `"${'x'.repeat(size)}"` });

    expect(await world.record()).toMatchObject({ body: { kind } });
  });

  it.each([1, 2])(
    'keeps the record of a message longer than those of its %i deliveries that are four days late',
    async (count) => {
      await subscribeMany(count);
      const { deliveryQueue } = world.dispatchContext.ports;
      const send = deliveryQueue.send.bind(deliveryQueue);
      deliveryQueue.send = (jobs) => send(jobs, (4 * DAY) / 1000);
      await world.deliver();

      const { expiresAt } = await world.delivery();
      expect((await world.record()).expiresAt - expiresAt).toBeGreaterThan(2 * DAY);
    },
  );

  it.each([
    ['all', 'failed', true],
    ['failed', 'all', false],
    ['some', 'all', true],
  ] as const)(
    'stores it by the queue: _retain_messages %s in a deployment that keeps %s',
    async (queue, deployment, isKept) => {
      world.settings.retainMessages = deployment;
      await world.subscriptions.putQueue(aQueue({ metadata: { _retain_messages: queue } }));
      await world.subscribe('one');
      await world.publish();

      expect((await world.record()).body !== undefined).toBe(isKept);
    },
  );

  it.each<[string, boolean, Parameters<DispatchWorld['subscribe']>[1]?]>([
    ['has no subscription', true],
    ['has an expired subscription only', true, { expiresAt: 1 }],
    ['has an unconfirmed subscription only', true, { unconfirmed: { tokenHash: 'hash', at: 1 } }],
    ['has a subscription that excludes it', false, { options: { event_types: ['order.deleted'] } }],
    ['has a disabled subscription', false, { disabled: { reason: 'manual', at: 1 } }],
  ])('stores a message whose queue %s: %s', async (_, isKept, subscription) => {
    if (subscription !== undefined) await world.subscribe('only', subscription);
    await world.publish();

    const { body, acceptedAt, expiresAt } = await world.record();
    expect(body !== undefined).toBe(isKept);
    // As long as the body of a failed message, which outlives all retries.
    expect(expiresAt > acceptedAt + world.settings.retentionMs + 7 * DAY).toBe(isKept);
  });

  it('stores no message whose subscriptions may follow on the next page', async () => {
    const { subscriptions } = world.dispatchContext.ports;
    const page = subscriptions.page.bind(subscriptions);
    const more = { subscriptions: [], lastSubscriptionId: 's-5' };
    vi.spyOn(subscriptions, 'page').mockImplementationOnce(async (...asked) => {
      const read = await page(...asked);
      return read && { ...read, ...more };
    });
    await world.publish();

    expect(await world.record()).not.toHaveProperty('body');
  });

  it('sends a message to the matching subscriptions and counts the others', async () => {
    await world.subscribe('all');
    await world.subscribe('type', { options: { event_types: ['order.created'] } });
    await world.subscribe('content', { options: { filter: { total: [{ numeric: ['>', 4] }] } } });
    await world.subscribe('other-type', { options: { event_types: ['order.deleted'] } });
    await world.subscribe('other-content', { options: { filter: { total: [{ numeric: ['>', 5] }] } } });
    await world.deliver(TOTAL);

    expect(world.called()).toEqual(['all', 'content', 'type']);
    const counts = { matched: 3, filtered: 2 };
    expect(await world.record()).toMatchObject(counts);
    expect(world.facts('message_accepted')).toEqual([
      { fact: 'message_accepted', message: world.key, ...counts, duplicate: false },
    ]);
  });

  it('sends a message to subscriptions with too expensive filters and logs the first ten ids', async () => {
    const $or = Array.from({ length: 95 }, (_, index) => ({ [`k${index}`]: [0] }));
    for (let index = 0; index < 12; index += 1)
      await world.subscribe(`costly-${index}`, { options: { filter: { a: { $or } } } });
    await world.subscribe('content', { options: { filter: { total: [6] } } });
    const data = JSON.stringify({ total: 5, a: Array.from({ length: 3000 }, () => ({ b: 1 })) });
    await world.deliver({ data });

    expect(world.called()).toHaveLength(12);
    expect(await world.record()).toMatchObject({ matched: 12, filtered: 1 });
    const [logged, ...others] = world.facts('filter_too_costly');
    expect(logged).toMatchObject({ message: world.key, subscriptions: 12 });
    expect(logged).toHaveProperty('subscriptionIds.9');
    expect(logged).not.toHaveProperty('subscriptionIds.10');
    expect(others).toEqual([]);
  });

  it('completes a redelivery for the originally matching subscriptions, although their filters changed', async () => {
    const change = (subscriptionId: string, options: SubscriptionOptions) =>
      world.subscriptions.changeSubscription(
        { queue: 'orders', subscriptionId, now: world.clock.now() },
        (current) => withOptions(current, options, world.clock.now()),
      );
    await world.subscribe('matching', { options: { filter: { total: [5] } } });
    await world.subscribe('not-matching', { options: { filter: { total: [6] } } });
    await world.crashBeforeSending(() => world.publish(TOTAL));
    await world.runFor(1_000);
    await change('matching', { filter: { total: [6] } });
    await change('not-matching', {});
    await world.deliver(TOTAL);

    expect(world.called()).toEqual(['matching']);
    expect(await world.record()).toMatchObject({ matched: 1, filtered: 1, duplicates: 1 });
  });

  it('records a cancelled delivery if a subscription was deleted before the redelivery', async () => {
    await world.subscribe('deleted');
    await world.crashBeforeSending();
    await world.runFor(1_000);
    const deletion = { queue: 'orders', subscriptionId: 'deleted', now: world.clock.now() };
    await world.subscriptions.markDeleted(deletion);
    await world.deliver();

    expect(world.called()).toEqual([]);
    const reason = 'subscription_deleted';
    expect(await world.delivery('deleted')).toMatchObject({ status: 'cancelled', reason });
  });
});

it.each([
  ['the setting of the deployment', {}, {}, 15_000],
  ['the option of the subscription, if that is shorter', {}, { attempt_timeout: 3 }, 3000],
  ['the setting of the deployment, if that is shorter', {}, { attempt_timeout: 30 }, 15_000],
  ['that of the queue, if that is shorter', { _attempt_timeout: 2 }, { attempt_timeout: 3 }, 2000],
  ['not that of the queue, if that is longer', { _attempt_timeout: 30 }, {}, 15_000],
  ['not that of the queue, if that is invalid', { _attempt_timeout: '2' }, {}, 15_000],
])('the timeout of an attempt is %s', async (_what, metadata, options, expected) => {
  await world.subscriptions.putQueue(aQueue({ metadata }));
  const post = vi.spyOn(world.subscriber, 'post');
  await world.subscribe('one', { options });
  await world.deliver();

  expect(post.mock.calls.map(([, timeoutMs]) => timeoutMs)).toEqual([expected]);
});
