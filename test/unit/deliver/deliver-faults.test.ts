import { beforeEach, describe, expect, it } from 'vitest';
import { eraseBody } from '../../../functions/api/messages/messages.ts';
import type { OperatorEvent } from '../../../shared/domain/delivery/operator-event.ts';
import { asEnabled, moveTo } from '../../../shared/domain/subscription/change.ts';
import { parseDestination } from '../../../shared/domain/subscription/destination.ts';
import { aBarePolicy, aMessage, SUBSCRIBER_URL } from '../../support/builders.ts';
import { oneSubscriberWorld, type OneSubscriberWorld } from '../../support/in-memory/one-subscriber-world.ts';
import {
  oneSubscriptionWorld,
  type OneSubscriptionWorld,
} from '../../support/in-memory/one-subscription-world.ts';
import { status } from '../../support/in-memory/scripted-subscriber.ts';
import { pullWorld } from '../api/pull-world.ts';

let world: OneSubscriberWorld;

beforeEach(() => {
  world = oneSubscriberWorld();
});

describe('an internal fault', () => {
  const MINUTE_MS = 60_000;
  let startedAt: number;

  beforeEach(() => {
    startedAt = world.clock.now();
  });

  /** Publishes and runs for one minute, without reconcile. */
  const publish = async (data = '{}'): Promise<void> => {
    await world.dispatch({ ok: true, message: aMessage({ data }) });
    await world.clock.run(startedAt + MINUTE_MS);
  };

  const lost = async (): Promise<number[]> => (await world.delivery()).attempts.map((one) => one.lost ?? 0);

  it('while reading the message after the claim costs under a minute and no lost attempt', async () => {
    const { ports } = world.deliverContext;
    const get = ports.payloads.get.bind(ports.payloads);
    ports.payloads = {
      ...ports.payloads,
      get: () => {
        ports.payloads = { ...ports.payloads, get };
        return Promise.reject(new Error('SlowDown'));
      },
    };
    await world.subscribe(aBarePolicy());
    await publish(JSON.stringify('x'.repeat(70_000)));

    expect(await world.delivery()).toMatchObject({ status: 'delivered', attempts: [{ number: 1 }] });
    expect(await lost()).toEqual([0]);
  });

  it('before an immediate retry costs under a minute and no lost attempt', async () => {
    await world.subscribe(aBarePolicy({ retries_with_no_delay: 1 }));
    world.subscriber.script(world.url, [status(503), status(200)]);
    const { ports } = world.deliverContext;
    const find = ports.subscriptions.find.bind(ports.subscriptions);
    ports.subscriptions = {
      ...ports.subscriptions,
      find: (queue, id, freshness) => {
        if (world.subscriber.seen.length === 0) return find(queue, id, freshness);
        ports.subscriptions = { ...ports.subscriptions, find };
        return Promise.reject(new Error('throttled'));
      },
    };
    await publish();

    expect(await world.delivery()).toMatchObject({ status: 'delivered', attempts: [{}, {}] });
    expect(await lost()).toEqual([0, 0]);
  });

  it('while reading an erased message costs under a minute and no lost attempt', async () => {
    await world.subscribe(aBarePolicy({ minimum_delay_retries: 1, minimum_delay: 5 }));
    world.subscriber.script(world.url, [status(503)]);
    world.subscriber.onRequest = async () => {
      await eraseBody(world, { queue: 'orders', messageId: 'message-1' });
    };
    const { messageRecords } = world;
    const find = messageRecords.find.bind(messageRecords);
    let reads = 0;
    messageRecords.find = (key) => {
      reads += 1;
      return reads === 1 ? Promise.reject(new Error('throttled')) : find(key);
    };
    await publish();

    const { status: end, reason, lost: counted } = await world.delivery();
    expect({ end, reason, counted }).toEqual({ end: 'cancelled', reason: 'body_erased', counted: 0 });
    expect((await world.delivery()).updatedAt - startedAt).toBeLessThan(10_000);
  });

  it('while recording a retry has it repeated after its lease ends, and counted as lost', async () => {
    await world.subscribe(aBarePolicy({ minimum_delay_retries: 1, minimum_delay: 5 }));
    world.subscriber.script(world.url, [status(503), status(200)]);
    const { ports } = world.deliverContext;
    const write = ports.deliveries.write.bind(ports.deliveries);
    ports.deliveries = {
      ...ports.deliveries,
      write: (transition) => {
        if (transition.name !== 'record' || world.subscriber.seen.length < 2) return write(transition);
        ports.deliveries = { ...ports.deliveries, write };
        return Promise.reject(new Error('throttled'));
      },
    };
    await publish();

    expect(world.subscriber.seen).toHaveLength(3);
    expect(await world.delivery()).toMatchObject({ status: 'delivered', attempts: [{}, {}] });
    expect(await lost()).toEqual([0, 1]);
  });

  it.each([
    ['ten minutes', 10 * MINUTE_MS],
    ['three hours', 180 * MINUTE_MS],
  ])('of %s creates no dead letter, and delivery resumes within eight minutes', async (_, lastsMs) => {
    await world.subscribe(aBarePolicy());
    const { ports } = world.deliverContext;
    const find = ports.subscriptions.find.bind(ports.subscriptions);
    const endsAt = startedAt + lastsMs;
    ports.subscriptions = {
      ...ports.subscriptions,
      find: (...args) =>
        world.clock.now() < endsAt ? Promise.reject(new Error('throttled')) : find(...args),
    };
    await publish();
    await world.clock.run(endsAt + 8 * MINUTE_MS);

    expect(world.deliveryJobs.deadLetters).toBe(0);
    expect(await world.delivery()).toMatchObject({ status: 'delivered', attempts: [{ number: 1 }] });
  });
});

describe('the pending steps', () => {
  const NAME = { queue: 'orders', subscriptionId: 'subscription-1' };

  const enable = () =>
    world.subscriptions.changeSubscription({ ...NAME, now: world.clock.now() }, (current) =>
      asEnabled(current, world.clock.now()),
    );

  let world: OneSubscriptionWorld;
  let writes: string[];

  beforeEach(() => {
    world = oneSubscriptionWorld();
    writes = [];
    const write = world.deliveries.write.bind(world.deliveries);
    world.deliveries.write = (transition) => {
      writes.push(transition.name);
      return write(transition);
    };
  });

  const published = (type: OperatorEvent['type']): OperatorEvent[] =>
    world.operatorEvents.published.filter((event) => event.type === type);

  describe('an exhausted delivery', () => {
    it('publishes an event with its attempts and end, and one write completes its pending steps', async () => {
      await world.subscribe();
      const startedAt = world.clock.now();
      await world.answer(status(500, { takesMs: 700 }));
      const { key } = await world.delivery();
      expect(world.operatorEvents.published).toEqual([
        { type: 'delivery.exhausted', key, attempts: 1, at: startedAt + 700 },
      ]);
      expect(world.undeliverables.sent).toHaveLength(1);
      expect(writes).toEqual(['open', 'record', 'settle']);
      expect(world.journal.facts).toContainEqual({
        fact: 'operator_event_sent',
        event: world.operatorEvents.published[0],
      });
    });

    it('keeps only the failed steps pending', async () => {
      await world.subscribe();
      const repair = world.refuseEvents('delivery.exhausted');
      world.subscriber.script(SUBSCRIBER_URL, [status(500)]);
      await world.dispatch({ ok: true, message: aMessage() });
      await world.clock.run(world.clock.now() + 1_000);
      const ended = await world.delivery();
      expect(ended).toMatchObject({ status: 'exhausted', pendingSteps: [{ kind: 'exhausted_event' }] });
      expect(ended.overdueAt).toBeDefined();

      repair();
      await world.clock.run();
      expect(await world.delivery()).toMatchObject({ pendingSteps: [], overdueAt: undefined });
      expect(published('delivery.exhausted')).toHaveLength(1);
      expect(world.undeliverables.sent).toHaveLength(1);
    });

    it('publishes its event even if the undeliverable queue fails', async () => {
      await world.subscribe();
      world.undeliverables.send = () => Promise.reject(new Error('SQS is down'));
      world.subscriber.script(SUBSCRIBER_URL, [status(500)]);
      await world.dispatch({ ok: true, message: aMessage() });
      await world.clock.run(world.clock.now() + 1_000);
      expect(await world.delivery()).toMatchObject({ pendingSteps: [{ kind: 'undeliverable' }] });
      expect(published('delivery.exhausted')).toHaveLength(1);
    });
  });

  describe('deliveries whose answer disables the subscription', () => {
    /** Two concurrent deliveries, so that both read the subscription before the change. */
    const answerBothGone = async (): Promise<void> => {
      world.subscriber.script(SUBSCRIBER_URL, [status(410, { takesMs: 100 }), status(410, { takesMs: 200 })]);
      for (const id of ['message-1', 'message-2'])
        await world.dispatch({ ok: true, message: aMessage({ id }) });
      await world.clock.run();
    };

    it('disable the subscription and publish one event', async () => {
      await world.subscribe();
      const at = world.clock.now() + 100;
      await answerBothGone();
      expect((await world.subscription()).disabled).toEqual({ reason: 'gone', at });
      expect(world.operatorEvents.published).toEqual([
        {
          type: 'subscription.disabled',
          queue: 'orders',
          subscriptionId: 'subscription-1',
          reason: 'gone',
          at,
        },
      ]);
      expect(await world.delivery()).toMatchObject({ pendingSteps: [] });
      expect(await world.delivery('subscription-1', 'message-2')).toMatchObject({ pendingSteps: [] });
      expect(writes.filter((name) => name === 'settle')).toHaveLength(2);
    });

    it('publish the event later if it fails at first, with the time of the disabling', async () => {
      await world.subscribe();
      const at = world.clock.now() + 100;
      const repair = world.refuseEvents('subscription.disabled');
      world.clock.at(at + 5_000, repair);
      await answerBothGone();
      expect(published('subscription.disabled')).toMatchObject([{ reason: 'gone', at }]);
      expect(await world.delivery()).toMatchObject({ pendingSteps: [] });
    });

    it('disable a subscription whose success asked for it, also if that fails at first', async () => {
      await world.subscribe();
      const at = world.clock.now() + 100;
      const disable = world.subscriptions.disable.bind(world.subscriptions);
      world.subscriptions.disable = () => {
        world.subscriptions.disable = disable;
        return Promise.reject(new Error('DynamoDB is down'));
      };
      await world.answer(status(204, { asks: 'disable', takesMs: 100 }));
      expect((await world.subscription()).disabled).toEqual({ reason: 'disable_requested', at });
      expect(published('subscription.disabled')).toMatchObject([{ reason: 'disable_requested', at }]);
      expect(await world.delivery()).toMatchObject({ status: 'delivered', pendingSteps: [] });
    });

    it('do not disable a subscription that was enabled before they were handled', async () => {
      await world.subscribe();
      const disable = world.subscriptions.disable.bind(world.subscriptions);
      let calls = 0;
      world.subscriptions.disable = async (...args) => {
        calls += 1;
        if (calls > 1) return disable(...args);
        await enable();
        throw new Error('DynamoDB is down');
      };
      await world.answer(status(410));
      expect(calls).toBeGreaterThan(1);
      expect(await world.subscription()).not.toHaveProperty('disabled');
      expect(world.operatorEvents.published).toEqual([]);
      expect(await world.delivery()).toMatchObject({ status: 'rejected', reason: 'gone', pendingSteps: [] });
    });

    it('do not disable a subscription that was enabled again afterwards', async () => {
      await world.subscribe();
      const repair = world.refuseEvents('subscription.disabled');
      world.clock.at(world.clock.now() + 1_000, () => void enable().then(repair));
      await world.answer(status(410));
      expect(await world.subscription()).not.toHaveProperty('disabled');
      expect(await world.delivery()).toMatchObject({ pendingSteps: [] });
    });

    it('do not disable a subscription whose URL changed since the request', async () => {
      await world.subscribe();
      world.subscriber.onRequest = async () => {
        await world.subscriptions.changeSubscription({ ...NAME, now: world.clock.now() }, (current) =>
          moveTo(parseDestination('https://subscriber.test/new'), current, world.clock.now()),
        );
      };
      await world.answer(status(410));
      expect(await world.subscription()).not.toHaveProperty('disabled');
      expect(world.operatorEvents.published).toEqual([]);
    });

    it('do not disable a subscription whose old URL came from a cache', async () => {
      await world.subscribe();
      const old = await world.subscriptions.find('orders', 'subscription-1', 'fresh');
      await world.subscriptions.changeSubscription({ ...NAME, now: world.clock.now() }, (current) =>
        moveTo(parseDestination('https://subscriber.test/new'), current, world.clock.now()),
      );
      await world.later(2_000);
      const find = world.subscriptions.find.bind(world.subscriptions);
      world.subscriptions.find = (queue, id, freshness) =>
        freshness === 'cached' ? Promise.resolve(old) : find(queue, id, freshness);
      await world.answer(status(410));
      expect(world.subscriber.seen.map(({ request }) => request.url)).toEqual([SUBSCRIBER_URL]);
      expect(await world.subscription()).not.toHaveProperty('disabled');
    });

    it('disable a subscription that was enabled before the request', async () => {
      await world.subscribe({ version: world.clock.now() + 5_000 });
      await world.answer(status(410));
      expect((await world.subscription()).disabled).toMatchObject({ reason: 'gone' });
      expect(await world.delivery()).toMatchObject({ pendingSteps: [] });
    });

    it('publish no event for a subscription that was disabled manually before', async () => {
      await world.subscribe();
      world.subscriber.onRequest = async () => {
        await world.subscriptions.disable('orders', 'subscription-1', { reason: 'manual', at: 1 });
      };
      await world.answer(status(410));
      expect(world.operatorEvents.published).toEqual([]);
      expect(await world.delivery()).toMatchObject({ status: 'rejected', reason: 'gone', pendingSteps: [] });
    });
  });
});

const withImmediateRetry = () => world.subscribe(aBarePolicy({ retries_with_no_delay: 1 }));

describe('an SQS message that is received twice concurrently', () => {
  beforeEach(withImmediateRetry);

  it('is not lost if the lease holder crashes after the other receive was acknowledged', async () => {
    const holder = new Promise<never>(() => undefined);
    world.subscriber.onRequest = (_request, count) => (count === 1 ? holder : Promise.resolve());
    void world.receive(world.job(), 'holder');
    await world.clock.run(world.clock.now() + 1_000);
    await world.receive(world.job(), 'copy', { receiveCount: 2 });
    await world.clock.run();

    expect(world.subscriber.seen).toHaveLength(2);
    expect(await world.delivery()).toMatchObject({
      status: 'delivered',
      attempts: [{ number: 1, lost: 1 }],
    });
  });
});

describe('a first attempt taken over by a copy of its SQS message', () => {
  beforeEach(withImmediateRetry);

  it('is found by reconcile if the copy crashes after the slow one recorded a late failure', async () => {
    const never = new Promise<never>(() => undefined);
    await world.messageRecords.accept({
      key: { queue: 'orders', messageId: 'message-1' },
      acceptedAt: world.clock.now(),
      listedAt: world.clock.now(),
      matched: 1,
      filtered: 0,
      duplicates: 0,
      buckets: 1,
      expiresAt: Infinity,
    });
    world.subscriber.script(world.url, [status(500, { takesMs: 60_000 }), status(200)]);
    world.subscriber.onRequest = (_request, count) => (count === 2 ? never : Promise.resolve());
    const slow = world.receive(world.job(), 'slow');
    await world.clock.run(world.clock.now() + 30_000);
    void world.receive(world.job(), 'copy', { receiveCount: 2 });
    await world.clock.run();
    await slow;
    expect(world.subscriber.seen).toHaveLength(2);
    await world.clock.run(world.clock.now() + 60_000);
    await world.reconcile();
    await world.clock.run();

    expect(world.subscriber.seen).toHaveLength(3);
    expect(await world.delivery()).toMatchObject({
      status: 'delivered',
      attempts: [{ number: 1, lost: 2 }],
      lateResults: [{ outcome: 'failed' }],
    });
  });
});

describe('a lease that a slow call left too short for a request and its record', () => {
  beforeEach(withImmediateRetry);

  const writeSlowly = (nth: number, milliseconds: number): void => {
    const write = world.deliveries.write.bind(world.deliveries);
    let writes = 0;
    world.deliveries.write = async (transition) => {
      writes += 1;
      const result = await write(transition);
      if (writes === nth) await world.clock.sleep(milliseconds);
      return result;
    };
  };

  const timeGivenBack = () => world.journal.facts.filter(({ fact }) => fact === 'sent_again');

  it('is released, and the next invocation makes the first attempt at once, without a lost one', async () => {
    writeSlowly(1, 3_100);
    const startedAt = world.clock.now();
    const first = world.receive(world.job(), 'slow');
    await world.clock.run();
    await first;

    expect(timeGivenBack()).toHaveLength(1);
    expect(world.subscriber.seen.map(({ at }) => at - startedAt)).toEqual([3_100]);
    const delivery = await world.delivery();
    expect(delivery).toMatchObject({ status: 'delivered', attempts: [{ number: 1 }] });
    expect(delivery).not.toHaveProperty('attempts.0.lost');
  });

  it('is used if it is still long enough', async () => {
    writeSlowly(1, 2_900);
    const first = world.receive(world.job(), 'slow');
    await world.clock.run();
    await first;

    expect(timeGivenBack()).toEqual([]);
    expect(world.subscriber.seen).toHaveLength(1);
  });

  it('is not used for an immediate retry', async () => {
    world.subscriber.script(world.url, [status(500), status(200)]);
    writeSlowly(2, 3_100);
    const startedAt = world.clock.now();
    await world.publish();

    expect(timeGivenBack()).toHaveLength(1);
    expect(world.subscriber.seen.map(({ at }) => at - startedAt)).toEqual([0, 3_100]);
    expect(await world.delivery()).toMatchObject({
      status: 'delivered',
      attempts: [{ number: 1 }, { number: 2 }],
    });
  });
});

const unrendered = () => Promise.resolve({ kind: 'unrendered', detail: 'no such field' } as const);

const rejected = {
  status: 'rejected',
  reason: 'payload_failed',
  attempts: [{ outcome: 'rejected', result: { kind: 'unrendered', detail: 'no such field' } }],
};

it('a delivery whose payload cannot be rendered ends as rejected, and nothing is sent', async () => {
  world.deliverContext.ports.render = unrendered;
  await world.subscribe();
  await world.publish();

  expect(await world.delivery()).toMatchObject({ ...rejected, pendingSteps: [] });
  expect(world.subscriber.seen).toEqual([]);
  expect(world.undeliverables.sent).toHaveLength(1);
});

it('a delivery by pull whose payload cannot be rendered ends when it is received, and is not given out', async () => {
  const world = await pullWorld();
  world.api.dependencies.render = unrendered;
  await world.publish();
  await world.later(60_000);
  expect(await world.receive()).toEqual([]);
  expect(await world.delivery()).toMatchObject({ ...rejected, pendingSteps: [{ kind: 'undeliverable' }] });
  expect(await world.receive()).toEqual([]);
});
