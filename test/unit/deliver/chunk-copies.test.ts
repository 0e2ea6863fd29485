import { describe, expect, it } from 'vitest';
import { chunkedWorld, type ChunkedWorld } from '../../support/in-memory/chunked-world.ts';
import { removeSubscription } from '../../support/remove-subscription.ts';
import { status } from '../../support/in-memory/scripted-subscriber.ts';
import { answered } from '../../support/delivery-builders.ts';

const answerSlowly = (world: ChunkedWorld, takesMs: number): void => {
  for (const id of world.ids) world.subscriber.script(world.urlOf(id), [status(200, { takesMs })]);
};

describe('a copy of a chunk job', () => {
  it('makes no request while the first holds the lease, and returns when the lease ends', async () => {
    const world = await chunkedWorld(3);
    answerSlowly(world, 3_000);
    await world.publish();
    await world.until(1_000);
    const before = world.writes();
    await world.deliverCopy(world.job(), world.received('copy'));

    expect(world.writes()).toEqual([...before, 'chunk unclaimed']);
    expect(world.deliveryJobs.waiting).toBe(2);
    const until = (await world.chunk())?.lease?.until ?? Number.NaN;
    await world.clock.run(until - 1);
    expect(world.deliveryJobs.waiting).toBe(1);
    await world.clock.run();
    expect(world.deliveryJobs.waiting).toBe(0);
    expect(world.requests()).toEqual([1, 1, 1]);
    expect(world.separateMembers()).toEqual([]);
  });

  it('of fifty concurrent copies, only one makes the requests', async () => {
    const world = await chunkedWorld(5);
    answerSlowly(world, 3_000);
    const copies = Array.from({ length: 50 }, (_, index) =>
      world.deliverCopy(world.job(), world.received(`copy-${index}`)),
    );
    await world.clock.run();
    await Promise.all(copies);

    expect(world.requests()).toEqual([1, 1, 1, 1, 1]);
    expect(world.writes().filter((write) => write !== 'chunk unclaimed')).toEqual(['chunk leased']);
  });

  it('is a no-op after all members succeeded', async () => {
    const world = await chunkedWorld(3);
    await world.publish();
    await world.clock.run();
    await world.deliverCopy(world.job(), world.received('late', 2));
    await world.clock.run();

    expect(world.requests()).toEqual([1, 1, 1]);
    expect(world.separateMembers()).toEqual([]);
    expect(world.writes()).toEqual(['chunk unclaimed', 'chunk leased', 'chunk unclaimed']);
  });

  it('gives subscriptions outside the claim separate records', async () => {
    const world = await chunkedWorld(4);
    await world.publish({}, 600);
    await world.deliverCopy(world.job(['s-1', 's-2']), world.received('first'));
    await world.deliverCopy(world.job(['s-2', 's-3', 's-4']), world.received('other'));
    await world.until(1_000);

    expect(world.requests()).toEqual([1, 1, 1, 1]);
    expect([...((await world.chunk())?.members?.keys() ?? [])]).toEqual(['s-1', 's-2']);
    expect(world.separateMembers()).toEqual(['s-3', 's-4']);
    for (const id of world.ids) expect((await world.delivery(id)).status).toBe('delivered');

    // Redeliveries of both copies.
    await world.deliverCopy(world.job(['s-2', 's-3', 's-4']), world.received('again', 2));
    await world.deliverCopy(world.job(['s-1', 's-2']), world.received('again', 2));
    await world.clock.run();
    expect(world.requests()).toEqual([1, 1, 1, 1]);
  });

  it('that names other subscriptions requests them after the first lease ends', async () => {
    const world = await chunkedWorld(3);
    answerSlowly(world, 3_000);
    await world.publish({}, 600);
    const first = world.deliverCopy(world.job(['s-1', 's-2']), world.received('first'));
    await world.until(1_000);
    await world.deliverCopy(world.job(['s-1', 's-2', 's-3']), world.received('other'));
    expect(world.requests()).toEqual([1, 1, 0]);
    await world.clock.run();
    await first;

    expect(world.requests()).toEqual([1, 1, 1]);
  });
});

describe('a result that arrives after its lease ended', () => {
  it('is stored as a late result, and a success wins', async () => {
    const world = await chunkedWorld(2);
    // Longer than the lease.
    world.subscriber.script(world.urlOf('s-1'), [
      status(200, { takesMs: 40_000 }),
      status(500, { takesMs: 5_000 }),
    ]);
    world.subscriber.script(world.urlOf('s-2'), [status(200, { takesMs: 40_000 }), status(200)]);
    await world.publish({}, 600);
    const slow = world.deliverCopy(world.job(), world.received('slow'));
    await world.until(30_000);
    const other = world.deliverCopy(world.job(), world.received('other', 2));
    await world.clock.run();
    await Promise.all([slow, other]);

    expect(world.requests()).toEqual([2, 2]);
    const one = await world.delivery('s-1');
    expect(one).toMatchObject({ status: 'delivered', attempts: [{ outcome: 'failed', lost: 1 }] });
    expect(one.lateResults).toMatchObject([{ outcome: 'delivered', result: answered(200) }]);
    const two = await world.delivery('s-2');
    expect(two).toMatchObject({ status: 'delivered', attempts: [{ outcome: 'delivered', lost: 1 }] });
    expect(two.lateResults).toHaveLength(1);
  });

  it('is recorded in the chunk if no other invocation took over', async () => {
    const world = await chunkedWorld(2);
    answerSlowly(world, 40_000);
    await world.publish();
    await world.clock.run();

    expect(world.requests()).toEqual([1, 1]);
    expect(world.separateMembers()).toEqual([]);
    expect((await world.delivery('s-1')).status).toBe('delivered');
  });
});

describe('a message that is dispatched twice', () => {
  /** Makes dispatch crash after it sent this many jobs. */
  const crashDispatchAfter = async (world: ChunkedWorld, sent: number): Promise<void> => {
    const { deliveryQueue } = world.dispatchContext.ports;
    const send = deliveryQueue.send.bind(deliveryQueue);
    deliveryQueue.send = async (jobs, delaySeconds) => {
      deliveryQueue.send = send;
      await send(jobs.slice(0, sent), delaySeconds);
      throw new Error('crash');
    };
    await expect(world.publish()).rejects.toThrow('crash');
    await world.clock.run();
  };

  it.each([0, 1, 2, 3])(
    'is delivered once to each subscription after a crash with %i jobs sent, although subscriptions changed',
    async (sent) => {
      const world = await chunkedWorld(12, { perJob: 4 });
      await crashDispatchAfter(world, sent);
      const requestedBefore = world.requests();
      await removeSubscription(world.subscriptions, 'orders', 's-5');
      await world.subscribe('newcomer', { createdAt: world.clock.now() + 1 });
      world.settings.firstAttemptsPerJob = 2;
      await world.publish();
      await world.clock.run();

      expect(world.requests()).toEqual(
        world.ids.map((id, index) => (id === 's-5' ? (requestedBefore[index] ?? 0) : 1)),
      );
      expect(world.requestsOf('newcomer')).toBe(0);
      expect(await world.messageRecords.find({ queue: 'orders', messageId: 'message-1' })).toMatchObject({
        chunks: 3,
        duplicates: 1,
      });
      for (const id of world.ids.filter((one) => one !== 's-5'))
        expect(await world.delivery(id)).toMatchObject({ status: 'delivered', lost: 0 });
    },
  );

  it('makes no second request after a complete dispatch', async () => {
    const world = await chunkedWorld(12, { perJob: 4 });
    await world.publish();
    await world.clock.run();
    await world.publish();
    await world.clock.run();

    expect(world.requests()).toEqual(world.ids.map(() => 1));
    expect(world.separateMembers()).toEqual([]);
  });
});
