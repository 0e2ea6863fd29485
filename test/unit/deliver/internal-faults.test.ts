import { beforeEach, describe, expect, it } from 'vitest';
import { eraseBody } from '../../../functions/api/messages/messages.ts';
import { aBarePolicy, aMessage, aQueue, aSubscription, SUBSCRIBER_URL } from '../../support/builders.ts';
import { pipelineWorld, type PipelineWorld } from '../../support/in-memory/pipeline-world.ts';
import { status } from '../../support/in-memory/scripted-subscriber.ts';

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

describe('an internal fault', () => {
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
