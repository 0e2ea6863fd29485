import { beforeEach, describe, expect, it } from 'vitest';
import { eraseBody } from '../../../functions/api/messages/messages.ts';
import { RequestNotSentError } from '../../../shared/ports/subscriber.ts';
import { aBarePolicy, aMessage, aQueue, aSubscription, SUBSCRIBER_URL } from '../../support/builders.ts';
import { chunkedWorld } from '../../support/in-memory/chunked-world.ts';
import {
  oneSubscriberWorld,
  type OneSubscriberWorld,
  subscribedWorld,
} from '../../support/in-memory/one-subscriber-world.ts';
import { pipelineWorld, type PipelineWorld } from '../../support/in-memory/pipeline-world.ts';
import { type ScriptedSubscriber, status } from '../../support/in-memory/scripted-subscriber.ts';

describe('an internal fault', () => {
  const URL = SUBSCRIBER_URL;

  const MINUTE_MS = 60_000;

  let world: PipelineWorld;

  let startedAt: number;

  beforeEach(async () => {
    world = pipelineWorld();
    startedAt = world.clock.now();
    await world.subscriptions.putQueue(aQueue());
  });

  const subscribe = (policy = aBarePolicy()): Promise<unknown> =>
    world.subscriptions.addSubscription(aSubscription({ options: { _retry_policy: policy } }));

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
    await subscribe();
    await publish(JSON.stringify('x'.repeat(70_000)));

    expect(await world.delivery()).toMatchObject({ status: 'delivered', attempts: [{ number: 1 }] });
    expect(await lost()).toEqual([0]);
  });

  it('before an immediate retry costs under a minute and no lost attempt', async () => {
    await subscribe(aBarePolicy({ retries_with_no_delay: 1 }));
    world.subscriber.script(URL, [status(503), status(200)]);
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
    await subscribe(aBarePolicy({ minimum_delay_retries: 1, minimum_delay: 5 }));
    world.subscriber.script(URL, [status(503)]);
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
    await subscribe(aBarePolicy({ minimum_delay_retries: 1, minimum_delay: 5 }));
    world.subscriber.script(URL, [status(503), status(200)]);
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
    await subscribe();
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

const MINUTE_MS = 60_000;

/** Makes sending fail for these URLs until `isOver` is set. */
const outageOf = (subscriber: ScriptedSubscriber, isOut: (url: string) => boolean) => {
  const send = subscriber.post.bind(subscriber);
  const outage = { isOver: false };
  subscriber.post = (request, timeoutMs) =>
    !outage.isOver && isOut(request.url)
      ? Promise.reject(new RequestNotSentError('EMFILE'))
      : send(request, timeoutMs);
  return outage;
};

describe('a request that cannot be sent because of an internal fault', () => {
  it('is neither an attempt nor lost, and is sent when its message is redelivered', async () => {
    const world = oneSubscriberWorld();
    await world.subscribe();
    const outage = outageOf(world.subscriber, () => true);
    await world.dispatch({ ok: true, message: aMessage() });
    await world.clock.run(world.clock.now() + MINUTE_MS);
    const waiting = await world.delivery();
    expect(waiting).toMatchObject({ status: 'pending', attempts: [], lost: 0 });
    expect(waiting.lease).toBeUndefined();
    expect(world.deliveryJobs.waiting).toBe(1);

    outage.isOver = true;
    await world.clock.run();
    const delivered = await world.delivery();
    expect(delivered).toMatchObject({ status: 'delivered', attempts: [{ number: 1 }], lost: 0 });
    expect(delivered.attempts[0]).not.toHaveProperty('lost');
  });

  it('keeps the number of its retry', async () => {
    const world = oneSubscriberWorld();
    await world.subscribe(aBarePolicy({ minimum_delay_retries: 1, minimum_delay: 10 }));
    world.subscriber.script(world.url, [status(503), status(200)]);
    const outage = outageOf(world.subscriber, () => world.subscriber.seen.length === 1);
    await world.dispatch({ ok: true, message: aMessage() });
    await world.clock.run(world.clock.now() + MINUTE_MS);
    expect(await world.delivery()).toMatchObject({ status: 'retrying', next: { number: 2 }, lost: 0 });

    outage.isOver = true;
    await world.clock.run();
    expect(await world.delivery()).toMatchObject({
      status: 'delivered',
      attempts: [{ outcome: 'failed' }, { outcome: 'delivered' }],
    });
  });

  it('does not delay other members of its chunk', async () => {
    const world = await chunkedWorld(3);
    const outage = outageOf(world.subscriber, (url) => url === world.urlOf('s-2'));
    await world.publish();
    await world.until(MINUTE_MS);
    expect(world.requests()).toEqual([1, 0, 1]);
    for (const id of ['s-1', 's-3']) expect((await world.delivery(id)).status).toBe('delivered');
    expect(await world.delivery('s-2')).toMatchObject({ status: 'pending', attempts: [], lost: 0 });

    outage.isOver = true;
    await world.clock.run();
    expect(world.requests()).toEqual([1, 1, 1]);
    expect(await world.delivery('s-2')).toMatchObject({ status: 'delivered', lost: 0 });
    expect(world.deliveryJobs.waiting).toBe(0);
  });
});

describe('a function that is slow', () => {
  let world: OneSubscriberWorld;

  beforeEach(async () => {
    world = await subscribedWorld({ retries_with_no_delay: 1 });
  });

  describe('an SQS message that is received twice concurrently', () => {
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
});
