import { beforeEach, describe, expect, it } from 'vitest';
import type { Message } from '../../../shared/domain/message/message.ts';
import { withOptions } from '../../../shared/domain/message/matching.ts';
import type { SubscriptionOptions } from '../../../shared/domain/subscription/subscription.ts';
import { aBarePolicy, aMessage, aQueue, aSubscription } from '../../support/builders.ts';
import { pipelineWorld, type PipelineWorld } from '../../support/in-memory/pipeline-world.ts';
import { status } from '../../support/in-memory/scripted-subscriber.ts';

const DAY = 86_400_000;
const key = { queue: 'orders', messageId: 'message-1' };

let world: PipelineWorld;

beforeEach(async () => {
  world = pipelineWorld();
  await world.subscriptions.putQueue(aQueue());
});

const subscribeMany = (count: number, more: Parameters<typeof aSubscription>[0] = {}): Promise<unknown> =>
  Promise.all(
    Array.from({ length: count }, (_, index) =>
      world.subscriptions.addSubscription(
        aSubscription({
          id: `subscription-${index + 1}`,
          subscriber: `https://subscriber.test/${index + 1}`,
          ...more,
        }),
      ),
    ),
  );

const publish = async (message: Partial<Message> = {}): Promise<void> => {
  await world.dispatch({ ok: true, message: aMessage({ data: '{"total": 5}', ...message }) });
  await world.clock.run();
};

describe('dispatch', () => {
  it('makes one delivery per subscription of the queue', async () => {
    await subscribeMany(7);
    await publish();

    expect(new Set(world.subscriber.seen.map(({ request }) => request.url)).size).toBe(7);
    expect(await world.messageRecords.find(key)).toMatchObject({ matched: 7, duplicates: 0, buckets: 1 });
  });

  it('records a message without matching subscriptions', async () => {
    await world.dispatch({ ok: true, message: aMessage() });

    expect(await world.messageRecords.find(key)).toMatchObject({ matched: 0 });
  });

  it('spreads a fan-out of 600 over three partition keys, each delivery once', async () => {
    await subscribeMany(600);
    await publish();

    const deliveries = world.chunks.deliveries();
    expect(deliveries).toHaveLength(600);
    const perBucket = [0, 1, 2].map((bucket) => deliveries.filter((one) => one.key.bucket === bucket).length);
    expect(Math.min(...perBucket)).toBeGreaterThan(100);
    expect(world.subscriber.seen).toHaveLength(600);
  });

  it('counts a redelivered message and completes what a crash left undone, without repeated requests', async () => {
    await subscribeMany(3);
    const { deliveryQueue } = world.dispatchContext.ports;
    const send = deliveryQueue.send.bind(deliveryQueue);
    world.dispatchContext.ports.deliveryQueue.send = async (jobs, delaySeconds) => {
      world.dispatchContext.ports.deliveryQueue.send = send;
      await send(jobs.slice(0, 1), delaySeconds);
      throw new Error('crash');
    };
    await expect(world.dispatch({ ok: true, message: aMessage() })).rejects.toThrow('crash');
    await world.clock.run();
    await publish();

    expect(world.subscriber.seen).toHaveLength(3);
    expect(await world.messageRecords.find(key)).toMatchObject({ matched: 3, duplicates: 1 });
  });

  it('does not send a redelivery to a subscription created after the message was accepted', async () => {
    await subscribeMany(1);
    await world.dispatch({ ok: true, message: aMessage() });
    await world.clock.run(world.clock.now() + 60_000);
    await world.subscriptions.addSubscription(
      aSubscription({
        id: 'newcomer',
        subscriber: 'https://subscriber.test/new',
        createdAt: world.clock.now(),
      }),
    );
    await publish();

    expect(world.subscriber.seen.map(({ request }) => request.url)).toEqual(['https://subscriber.test/1']);
  });

  it('sends a message only after its delay', async () => {
    await subscribeMany(1);
    const before = world.clock.now();
    await world.dispatch({ ok: true, message: aMessage(), delaySeconds: 40 });
    await world.clock.run();

    expect(world.subscriber.seen.map(({ at }) => at - before)).toEqual([40_000]);
  });

  it.each([
    { reading: { ok: false, reason: 'not_json' } as const, reason: 'not_json' },
    { reading: { ok: true as const, message: aMessage({ queue: 'nowhere' }) }, reason: 'unknown_queue' },
  ])(
    'dead-letters an undeliverable message unchanged, with the reason $reason',
    async ({ reading, reason }) => {
      await world.dispatch(reading, 'the very bytes');

      expect(world.deadLetters.sent).toMatchObject([{ id: 'ingress-1', body: 'the very bytes', reason }]);
      expect(world.deliveryJobs.waiting).toBe(0);
    },
  );

  it('stores a body over 64 KB in the payload bucket, also for retries', async () => {
    const data = `"${'x'.repeat(100_000)}"`;
    await subscribeMany(2, { options: { _retry_policy: aBarePolicy({ minimum_delay_retries: 1 }) } });
    world.subscriber.script('https://subscriber.test/1', [status(500), status(200)]);
    await publish({ data });

    expect(world.payloads.stored.size).toBe(1);
    expect(world.subscriber.seen).toHaveLength(3);
    expect(world.subscriber.seen.every(({ request }) => request.body.includes(data))).toBe(true);
  });

  it.each([
    { size: 8_000, kind: 'inline' },
    { size: 9_000, kind: 'stored' },
  ])('stores a failing message of $size bytes $kind', async ({ size, kind }) => {
    await subscribeMany(1);
    world.subscriber.script('https://subscriber.test/1', [status(400)]);
    await publish({ data: `"${'x'.repeat(size)}"` });

    expect(await world.messageRecords.find(key)).toMatchObject({ body: { kind } });
  });

  it.each([1, 2])(
    'keeps the record of a message longer than those of its %i deliveries that are four days late',
    async (count) => {
      await subscribeMany(count);
      const { deliveryQueue } = world.dispatchContext.ports;
      const send = deliveryQueue.send.bind(deliveryQueue);
      deliveryQueue.send = (jobs) => send(jobs, (4 * DAY) / 1000);
      await publish();

      const { expiresAt = 0 } = (await world.messageRecords.find(key)) ?? {};
      expect(expiresAt - (await world.delivery()).expiresAt).toBeGreaterThan(2 * DAY);
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
      await subscribeMany(1);
      await world.dispatch({ ok: true, message: aMessage() });

      expect((await world.messageRecords.find(key))?.body !== undefined).toBe(isKept);
    },
  );
});

const subscribe = (id: string, options: SubscriptionOptions): Promise<unknown> =>
  world.subscriptions.addSubscription(
    aSubscription({ id, subscriber: `https://subscriber.test/${id}`, options }),
  );

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
    await publish({ data });

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
