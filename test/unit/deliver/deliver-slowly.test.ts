import { beforeEach, describe, expect, it } from 'vitest';
import { type OneSubscriberWorld, subscribedWorld } from '../../support/in-memory/one-subscriber-world.ts';
import { status } from '../../support/in-memory/scripted-subscriber.ts';

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
    expect(await world.delivery()).toMatchObject({ status: 'delivered', attempts: [{ number: 1, lost: 1 }] });
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
