import { beforeEach, describe, expect, it } from 'vitest';
import { eraseBody } from '../../../functions/api/messages/messages.ts';
import { aBarePolicy, aMessage, aQueue, aSubscription } from '../../support/builders.ts';
import { pipelineWorld, type PipelineWorld } from '../../support/in-memory/pipeline-world.ts';
import { status } from '../../support/in-memory/scripted-subscriber.ts';

const { subscriber: URL } = aSubscription();
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

/** Runs for a minute, without reconcile. */
const publish = async (data = '{}'): Promise<void> => {
  await world.dispatch({ ok: true, message: aMessage({ data }) });
  await world.clock.run(startedAt + MINUTE_MS);
};

const lost = async (): Promise<number[]> => (await world.delivery()).attempts.map((one) => one.lost ?? 0);

describe('a fault of ours', () => {
  it('that meets the message of a delivery after its claim costs no minute, and counts nothing as lost', async () => {
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

  it('before an immediate retry costs no minute, and counts nothing as lost', async () => {
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

  it('while a delivery is cancelled whose message was erased costs no minute, and counts nothing as lost', async () => {
    await subscribe(aBarePolicy({ minimum_delay_retries: 1, minimum_delay: 5 }));
    world.subscriber.script(URL, [status(503)]);
    world.subscriber.onRequest = async () => {
      await eraseBody(world, { queue: 'orders', messageId: 'message-1' });
    };
    const { messageRecords } = world;
    const find = messageRecords.find.bind(messageRecords);
    let reads = 0;
    // The first says that nothing is kept, the second why.
    messageRecords.find = (key) => {
      reads += 1;
      return reads === 2 ? Promise.reject(new Error('throttled')) : find(key);
    };
    await publish();

    const { status: end, reason, lost: counted } = await world.delivery();
    expect({ end, reason, counted }).toEqual({ end: 'cancelled', reason: 'body_erased', counted: 0 });
    expect((await world.delivery()).updatedAt - startedAt).toBeLessThan(10_000);
  });

  it('that keeps a retry off the record has it made again when its lease is over, and counted as lost', async () => {
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

  it('of ten minutes makes no dead letter, and is over for the delivery a minute after it is over', async () => {
    await subscribe();
    const { ports } = world.deliverContext;
    const find = ports.subscriptions.find.bind(ports.subscriptions);
    const endsAt = startedAt + 10 * MINUTE_MS;
    ports.subscriptions = {
      ...ports.subscriptions,
      find: (...asked) =>
        world.clock.now() < endsAt ? Promise.reject(new Error('throttled')) : find(...asked),
    };
    await publish();
    await world.clock.run(endsAt + MINUTE_MS);

    expect(world.deliveryJobs.deadLetters).toBe(0);
    expect(await world.delivery()).toMatchObject({ status: 'delivered', attempts: [{ number: 1 }] });
  });
});
