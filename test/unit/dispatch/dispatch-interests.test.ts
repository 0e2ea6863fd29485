import { beforeEach, describe, expect, it } from 'vitest';
import { withOptions } from '../../../shared/domain/message/addressees.ts';
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

/** The record is written and the function dies before it sends a job. */
const crashBeforeTheJobs = async (): Promise<void> => {
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
  it('sends a message to those who ask for it, and counts the others', async () => {
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

  it('sends it to those whose filter is too costly for it, and tells whose that is, the first ten by id', async () => {
    const $or = Array.from({ length: 95 }, (_, index) => ({ [`k${index}`]: [0] }));
    for (let index = 0; index < 12; index += 1)
      await subscribe(`costly-${index}`, { filter: { a: { $or } } });
    await subscribe('content', { filter: { total: [6] } });
    const data = JSON.stringify({ total: 5, a: Array.from({ length: 3000 }, () => ({ b: 1 })) });
    await world.dispatch({ ok: true, message: aMessage({ data }) });
    await world.clock.run();

    expect(seen()).toHaveLength(12);
    expect(await world.messageRecords.find(key)).toMatchObject({ matched: 12, filtered: 1 });
    const [told, ...more] = world.journal.facts.filter(({ fact }) => fact === 'filter_too_costly');
    expect(told).toMatchObject({ message: key, subscriptions: 12 });
    expect(told).toHaveProperty('subscriptionIds.9');
    expect(told).not.toHaveProperty('subscriptionIds.10');
    expect(more).toEqual([]);
  });

  it('completes a repeat for whom the message was meant, whatever they ask for since', async () => {
    await subscribe('meant', { filter: { total: [5] } });
    await subscribe('not-meant', { filter: { total: [6] } });
    await crashBeforeTheJobs();
    await change('meant', { filter: { total: [6] } });
    await change('not-meant', {});
    await publish();

    expect(seen()).toEqual(['meant']);
    expect(await world.messageRecords.find(key)).toMatchObject({ matched: 1, filtered: 1, duplicates: 1 });
  });

  it('records as cancelled what a repeat owes to a subscription that was deleted in between', async () => {
    await subscribe('deleted', {});
    await crashBeforeTheJobs();
    const target = { queue: 'orders', subscriptionId: 'deleted', now: world.clock.now() };
    await world.subscriptions.markDeleted(target);
    await publish();

    expect(seen()).toEqual([]);
    expect(await world.delivery('deleted')).toMatchObject({
      status: 'cancelled',
      reason: 'subscription_deleted',
    });
  });

  it('does not send anything to a subscription that is marked for deletion', async () => {
    await subscribe('deleted', {});
    await world.subscriptions.markDeleted({ queue: 'orders', subscriptionId: 'deleted', now: 0 });
    await publish();

    expect(await world.messageRecords.find(key)).toMatchObject({ matched: 0, filtered: 0 });
    expect(world.journal.facts.map(({ fact }) => fact)).toEqual(['message_accepted']);
  });
});

describe('the time that an attempt may take', () => {
  it.each([
    ['the deployment gives', {}, 15_000],
    ['the subscription asks for, where that is less', { attempt_timeout: 3 }, 3000],
    ['the deployment gives, where the subscription asks for more', { attempt_timeout: 30 }, 15_000],
  ])('is what %s', async (_what, options, expected) => {
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
