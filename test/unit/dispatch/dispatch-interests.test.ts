import { beforeEach, describe, expect, it } from 'vitest';
import { withOptions } from '../../../shared/domain/message/matching.ts';
import type { SubscriptionOptions } from '../../../shared/domain/subscription/subscription.ts';
import { aMessage, aQueue, aSubscription } from '../../support/builders.ts';
import { pipelineWorld, type PipelineWorld } from '../../support/in-memory/pipeline-world.ts';

const key = { queue: 'orders', messageId: 'message-1' };

let world: PipelineWorld;

beforeEach(async () => {
  world = pipelineWorld();
  await world.subscriptions.putQueue(aQueue());
});

const subscribe = (id: string, options: SubscriptionOptions): Promise<unknown> =>
  world.subscriptions.addSubscription(
    aSubscription({ id, subscriber: `https://subscriber.test/${id}`, options }),
  );

const publish = async (): Promise<void> => {
  await world.dispatch({ ok: true, message: aMessage({ type: 'order.created', data: '{"total": 5}' }) });
  await world.clock.run();
};

const seen = (): string[] => world.subscriber.seen.map(({ request }) => request.url.split('/').at(-1) ?? '');

/** Crashes dispatch after it writes the record and before it sends a job. */
const crashBeforeSending = async (): Promise<void> => {
  const { deliveryQueue } = world.dispatchContext.ports;
  world.dispatchContext.ports.deliveryQueue = { send: () => Promise.reject(new Error('crash')) };
  await expect(publish()).rejects.toThrow('crash');
  world.dispatchContext.ports.deliveryQueue = deliveryQueue;
  await world.clock.run(world.clock.now() + 1000);
};

const change = (id: string, options: SubscriptionOptions): Promise<unknown> =>
  world.subscriptions.changeSubscription(
    { queue: 'orders', subscriptionId: id, now: world.clock.now() },
    (current) => withOptions(current, options, world.clock.now()),
  );

describe('dispatch', () => {
  it('sends a message to the matching subscriptions and counts the others', async () => {
    await subscribe('all', {});
    await subscribe('type', { event_types: ['order.created'] });
    await subscribe('content', { filter: { total: [{ numeric: ['>', 4] }] } });
    await subscribe('other-type', { event_types: ['order.deleted'] });
    await subscribe('other-content', { filter: { total: [{ numeric: ['>', 5] }] } });
    await publish();

    expect(seen().toSorted()).toEqual(['all', 'content', 'type']);
    expect(await world.messageRecords.find(key)).toMatchObject({ matched: 3, filtered: 2 });
    expect(world.journal.facts).toContainEqual({
      fact: 'message_accepted',
      message: key,
      matched: 3,
      filtered: 2,
      duplicate: false,
    });
  });

  it('sends a message to subscriptions with too expensive filters and logs the first ten ids', async () => {
    const $or = Array.from({ length: 95 }, (_, index) => ({ [`k${index}`]: [0] }));
    for (let index = 0; index < 12; index += 1)
      await subscribe(`costly-${index}`, { filter: { a: { $or } } });
    await subscribe('content', { filter: { total: [6] } });
    const data = JSON.stringify({ total: 5, a: Array.from({ length: 3000 }, () => ({ b: 1 })) });
    await world.dispatch({ ok: true, message: aMessage({ data }) });
    await world.clock.run();

    expect(seen()).toHaveLength(12);
    expect(await world.messageRecords.find(key)).toMatchObject({ matched: 12, filtered: 1 });
    const [logged, ...others] = world.journal.facts.filter(({ fact }) => fact === 'filter_too_costly');
    expect(logged).toMatchObject({ message: key, subscriptions: 12 });
    expect(logged).toHaveProperty('subscriptionIds.9');
    expect(logged).not.toHaveProperty('subscriptionIds.10');
    expect(others).toEqual([]);
  });

  it('completes a redelivery for the originally matching subscriptions, although their filters changed', async () => {
    await subscribe('matching', { filter: { total: [5] } });
    await subscribe('not-matching', { filter: { total: [6] } });
    await crashBeforeSending();
    await change('matching', { filter: { total: [6] } });
    await change('not-matching', {});
    await publish();

    expect(seen()).toEqual(['matching']);
    expect(await world.messageRecords.find(key)).toMatchObject({ matched: 1, filtered: 1, duplicates: 1 });
  });

  it('records a cancelled delivery if a subscription was deleted before the redelivery', async () => {
    await subscribe('deleted', {});
    await crashBeforeSending();
    const target = { queue: 'orders', subscriptionId: 'deleted', now: world.clock.now() };
    await world.subscriptions.markDeleted(target);
    await publish();

    expect(seen()).toEqual([]);
    expect(await world.delivery('deleted')).toMatchObject({
      status: 'cancelled',
      reason: 'subscription_deleted',
    });
  });
});

describe('the timeout of an attempt', () => {
  it.each([
    ['the setting of the deployment', {}, {}, 15_000],
    ['the option of the subscription, if that is shorter', {}, { attempt_timeout: 3 }, 3000],
    ['the setting of the deployment, if that is shorter', {}, { attempt_timeout: 30 }, 15_000],
    ['that of the queue, if that is shorter', { _attempt_timeout: 2 }, { attempt_timeout: 3 }, 2000],
    ['not that of the queue, if that is longer', { _attempt_timeout: 30 }, {}, 15_000],
    ['not that of the queue, if that is invalid', { _attempt_timeout: '2' }, {}, 15_000],
  ])('is %s', async (_what, metadata, options, expected) => {
    await world.subscriptions.putQueue(aQueue({ metadata }));
    const timeouts: number[] = [];
    const { subscriber } = world.deliverContext.ports;
    world.deliverContext.ports.subscriber = {
      post: (request, timeoutMs) => {
        timeouts.push(timeoutMs);
        return subscriber.post(request, timeoutMs);
      },
    };
    await subscribe('one', options);
    await publish();

    expect(timeouts).toEqual([expected]);
  });
});
