import { describe, expect, it } from 'vitest';
import type { ChunkTransition } from '../../../shared/domain/delivery/chunk.ts';
import { chunkedWorld, type ChunkedWorld } from '../../support/in-memory/chunked-world.ts';
import { status } from '../../support/in-memory/scripted-subscriber.ts';

const RETRIED = { minimum_delay_retries: 2, minimum_delay: 10, maximum_delay: 10 };

const lostOf = async (world: ChunkedWorld, id: string) =>
  (await world.delivery(id)).attempts.map(({ lost = 0 }) => lost);

/** Nine subscribers answer within 50 ms, the last one after ten seconds. */
const withSlowOne = async (): Promise<ChunkedWorld> => {
  const world = await chunkedWorld(10);
  for (const id of world.ids) world.subscriber.script(world.urlOf(id), [status(200, { takesMs: 50 })]);
  world.subscriber.script(world.urlOf('s-10'), [status(200, { takesMs: 10_000 })]);
  return world;
};

/** Crashes an invocation `ms` after its start and waits until SQS redelivers the job, after three minutes. */
const crashedAt = async (world: ChunkedWorld, ms: number): Promise<void> => {
  // The dispatched job is delayed so far that it finds nothing left to do.
  await world.publish({}, 900);
  world.deliverDying(world.job(), world.received('dead'), ms);
  await world.until(180_000);
};

const redeliver = (world: ChunkedWorld, owner = 'next'): Promise<void> =>
  world.deliverCopy(world.job(), world.received(owner, 2));

/** Runs until every request and every copy has finished. */
const runToEnd = async (world: ChunkedWorld, ...invocations: readonly Promise<void>[]): Promise<void> => {
  await world.clock.run();
  await Promise.all(invocations);
};

describe('an invocation that crashes during the first attempts of a chunk', () => {
  it('does not repeat recorded requests; the others are repeated singly and count as lost once', async () => {
    const world = await withSlowOne();
    await crashedAt(world, 1_000);
    const before = world.writes().length;
    await runToEnd(world, redeliver(world));

    expect(world.requests()).toEqual([1, 1, 1, 1, 1, 1, 1, 1, 1, 2]);
    expect(world.separateMembers()).toEqual(['s-10']);
    expect(await world.delivery('s-10')).toMatchObject({ status: 'delivered', attempts: [{ number: 1 }] });
    expect(await lostOf(world, 's-10')).toEqual([1]);
    expect(await lostOf(world, 's-1')).toEqual([0]);
    expect(world.writes().slice(before, before + 4)).toEqual([
      'chunk unclaimed',
      'chunk lease_expired',
      'open s-10',
      'record s-10',
    ]);
    expect(world.journal.facts.filter(({ fact }) => fact === 'lease_lost')).toMatchObject([
      { key: { subscriptionId: 's-10' }, attempt: 1 },
    ]);
  });

  it('before any result is recorded, causes exactly one repeat of each request', async () => {
    const world = await withSlowOne();
    await crashedAt(world, 100);
    await runToEnd(world, redeliver(world));

    expect(world.requests()).toEqual(world.ids.map(() => 2));
    for (const id of world.ids) expect(await lostOf(world, id)).toEqual([1]);
    expect(world.separateMembers()).toEqual(world.ids.toSorted());
  });

  it('has the message stored for the repeated requests, because reconcile carries none', async () => {
    const world = await withSlowOne();
    await crashedAt(world, 1_000);
    const message = { queue: 'orders', messageId: 'message-1' };
    expect((await world.messageRecords.find(message))?.body).toBeUndefined();
    const next = redeliver(world);
    await world.until(181_000);
    expect((await world.messageRecords.find(message))?.body).toMatchObject({ kind: 'inline' });
    const waiting = await world.delivery('s-10');
    expect(waiting).toMatchObject({ status: 'pending', lost: 1, overdueAt: waiting.lease?.until });
    await runToEnd(world, next);
  });

  it('and is followed by a second crash counts the request as lost twice', async () => {
    const world = await withSlowOne();
    await crashedAt(world, 1_000);
    world.subscriber.onRequest = () => {
      world.subscriber.onRequest = () => Promise.resolve();
      return Promise.reject(new Error('crashed during the request'));
    };
    await runToEnd(world, redeliver(world));

    expect(world.requestsOf('s-10')).toBe(3);
    expect(await lostOf(world, 's-10')).toEqual([2]);
    expect(world.requests().slice(0, 9)).toEqual(world.ids.slice(0, 9).map(() => 1));
  });

  it('between recording a failure and scheduling its retry does not delay the retry', async () => {
    const world = await chunkedWorld(3, { policy: RETRIED });
    for (const id of world.ids) world.subscriber.script(world.urlOf(id), [status(200, { takesMs: 5_000 })]);
    world.subscriber.script(world.urlOf('s-2'), [status(503, { takesMs: 100 }), status(200)]);
    const sendDelayed = world.wakeUps.sendDelayed.bind(world.wakeUps);
    world.wakeUps.sendDelayed = () => {
      world.wakeUps.sendDelayed = sendDelayed;
      return new Promise(() => undefined);
    };
    await crashedAt(world, 200);
    expect((await world.chunk())?.members?.get('s-2')).toBe('pending');
    expect(await world.delivery('s-2')).toMatchObject({ status: 'retrying', attempts: [{ number: 1 }] });
    const again = redeliver(world);
    await world.until(181_000);
    await again;

    expect(world.requests()).toEqual([2, 2, 2]);
    expect(await world.delivery('s-2')).toMatchObject({
      status: 'delivered',
      attempts: [{ number: 1 }, { number: 2 }],
    });
    await runToEnd(world);
    expect(await lostOf(world, 's-2')).toEqual([0, 0]);
    expect(world.requests()).toEqual([2, 2, 2]);
  });

  it('after it ended a expired lease does not count a lost request twice', async () => {
    const world = await withSlowOne();
    await crashedAt(world, 1_000);
    const write = world.chunks.write.bind(world.chunks);
    world.chunks.write = async (transition) => {
      await write(transition);
      if (transition.expect.kind === 'lease_expired') throw new Error('crashed after the write');
      return await write(transition);
    };
    await expect(redeliver(world)).rejects.toThrow('crashed after the write');
    world.chunks.write = write;
    expect(await world.delivery('s-10')).toMatchObject({ status: 'pending', lost: 1 });
    await runToEnd(world, redeliver(world));

    expect(world.requests()).toEqual([1, 1, 1, 1, 1, 1, 1, 1, 1, 2]);
    expect(await lostOf(world, 's-10')).toEqual([1]);
  });

  it('causes one repeat of each request, however many copies find the expired lease', async () => {
    const world = await withSlowOne();
    await crashedAt(world, 100);
    await runToEnd(world, ...Array.from({ length: 20 }, (_, index) => redeliver(world, `copy-${index}`)));

    expect(world.requests()).toEqual(world.ids.map(() => 2));
    for (const id of world.ids) expect(await lostOf(world, id)).toEqual([1]);
  });
});

describe('an internal fault between two steps of a chunk member', () => {
  it('after recording a failure: the redelivered job schedules the retry and makes no attempt', async () => {
    const world = await chunkedWorld(3, { policy: RETRIED });
    world.subscriber.script(world.urlOf('s-2'), [status(503), status(200)]);
    const sendDelayed = world.wakeUps.sendDelayed.bind(world.wakeUps);
    world.wakeUps.sendDelayed = () => {
      world.wakeUps.sendDelayed = sendDelayed;
      return Promise.reject(new Error('SQS does not respond'));
    };
    await world.publish();
    await world.clock.run();

    expect(world.requests()).toEqual([1, 2, 1]);
    expect(await world.delivery('s-2')).toMatchObject({ status: 'delivered', attempts: [{}, {}] });
    expect(await lostOf(world, 's-2')).toEqual([0, 0]);
  });

  it('before its pending steps: the redelivered job does them', async () => {
    const world = await chunkedWorld(3);
    world.subscriber.script(world.urlOf('s-2'), [status(404)]);
    const send = world.undeliverables.send.bind(world.undeliverables);
    world.undeliverables.send = () => {
      world.undeliverables.send = send;
      return Promise.reject(new Error('SQS does not respond'));
    };
    await world.publish();
    await world.clock.run();

    expect(world.undeliverables.sent).toHaveLength(1);
    expect(await world.delivery('s-2')).toMatchObject({ status: 'rejected', pendingSteps: [] });
    expect(world.requests()).toEqual([1, 1, 1]);
  });
});

describe('a write repeated after a lost response', () => {
  const repeatWrites = (world: ChunkedWorld, kind: ChunkTransition['expect']['kind']): void => {
    const write = world.chunks.write.bind(world.chunks);
    world.chunks.write = async (transition) => {
      if (transition.expect.kind === kind) await write(transition);
      return await write(transition);
    };
  };

  it('of the claim: the holder recognizes its claim', async () => {
    const world = await withSlowOne();
    repeatWrites(world, 'unclaimed');
    await world.publish();
    await world.clock.run();

    expect(world.writes()).toEqual(['chunk unclaimed', 'chunk leased', 'chunk leased']);
    expect(world.requests()).toEqual(world.ids.map(() => 1));
    expect(world.separateMembers()).toEqual([]);
  });

  it('of successes: they are recorded, and no separate record is created', async () => {
    const world = await withSlowOne();
    repeatWrites(world, 'leased');
    await world.publish();
    await world.clock.run();

    expect(world.writes()).toEqual(['chunk unclaimed', 'chunk leased', 'chunk leased']);
    expect(world.separateMembers()).toEqual([]);
    for (const id of world.ids)
      expect(await world.delivery(id)).toMatchObject({ status: 'delivered', lateResults: [] });
  });

  it('of the end of a expired lease: the members are requested again', async () => {
    const world = await withSlowOne();
    repeatWrites(world, 'lease_expired');
    await crashedAt(world, 1_000);
    await runToEnd(world, redeliver(world));

    expect(world.requestsOf('s-10')).toBe(2);
    expect(await lostOf(world, 's-10')).toEqual([1]);
  });
});

describe('successes that cannot be recorded', () => {
  it('are requested again after the lease ends, each counted as lost', async () => {
    const world = await withSlowOne();
    const write = world.chunks.write.bind(world.chunks);
    let refusals = 0;
    world.chunks.write = (transition) => {
      if (transition.expect.kind !== 'leased') return write(transition);
      refusals += 1;
      return refusals === 1 ? Promise.reject(new Error('throttled')) : write(transition);
    };
    await world.publish();
    await world.clock.run();

    // A later write recorded the last success.
    expect(world.requests()).toEqual([2, 2, 2, 2, 2, 2, 2, 2, 2, 1]);
    for (const id of world.ids) expect(await lostOf(world, id)).toEqual([id === 's-10' ? 0 : 1]);
  });
});
