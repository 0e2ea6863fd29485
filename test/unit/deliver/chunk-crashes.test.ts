import { describe, expect, it } from 'vitest';
import type { ChunkTransition } from '../../../shared/domain/delivery/chunk.ts';
import { chunkedWorld, type ChunkedWorld } from '../../support/in-memory/chunked-world.ts';
import { status } from '../../support/in-memory/scripted-subscriber.ts';

const RETRIED = { minimum_delay_retries: 2, minimum_delay: 10, maximum_delay: 10 };

const lostOf = async (world: ChunkedWorld, id: string) =>
  (await world.delivery(id)).attempts.map(({ lost = 0 }) => lost);

/** Nine answer within 50 ms, the last after ten seconds. */
const withSlowOne = async (): Promise<ChunkedWorld> => {
  const world = await chunkedWorld(10);
  for (const id of world.ids) world.subscriber.script(world.urlOf(id), [status(200, { takesMs: 50 })]);
  world.subscriber.script(world.urlOf('s-10'), [status(200, { takesMs: 10_000 })]);
  return world;
};

/** A function has the job, dies so long after the start, and the job comes back after three minutes. */
const diedAt = async (world: ChunkedWorld, ms: number): Promise<void> => {
  // Its own job, which comes last of all, finds nothing left to do.
  await world.publish({}, 900);
  world.deliverDying(world.job(), world.received('dead'), ms);
  await world.until(180_000);
};

const comesAgain = (world: ChunkedWorld, owner = 'next'): Promise<void> =>
  world.deliverCopy(world.job(), world.received(owner, 2));

/** Until all is over, the slowest request and the last copy. */
const ended = async (world: ChunkedWorld, ...invocations: readonly Promise<void>[]): Promise<void> => {
  await world.clock.run();
  await Promise.all(invocations);
};

describe('a function that dies at the first attempts of a chunk', () => {
  it('has those on record asked once; the others are asked again, one by one, and count as lost once', async () => {
    const world = await withSlowOne();
    await diedAt(world, 1_000);
    const before = world.writes().length;
    await ended(world, comesAgain(world));

    expect(world.requests()).toEqual([1, 1, 1, 1, 1, 1, 1, 1, 1, 2]);
    expect(world.separateMembers()).toEqual(['s-10']);
    expect(await world.delivery('s-10')).toMatchObject({ status: 'delivered', attempts: [{ number: 1 }] });
    expect(await lostOf(world, 's-10')).toEqual([1]);
    expect(await lostOf(world, 's-1')).toEqual([0]);
    expect(world.writes().slice(before, before + 4)).toEqual([
      'chunk unclaimed',
      'chunk lapsed',
      'open s-10',
      'record s-10',
    ]);
    expect(world.journal.facts.filter(({ fact }) => fact === 'lease_lost')).toMatchObject([
      { key: { subscriptionId: 's-10' }, attempt: 1 },
    ]);
  });

  it('before anything is on record, has all of them asked again, and nobody a third time', async () => {
    const world = await withSlowOne();
    await diedAt(world, 100);
    await ended(world, comesAgain(world));

    expect(world.requests()).toEqual(world.ids.map(() => 2));
    for (const id of world.ids) expect(await lostOf(world, id)).toEqual([1]);
    expect(world.separateMembers()).toEqual(world.ids.toSorted());
  });

  it('has the message kept for whoever is asked again, since reconcile carries none', async () => {
    const world = await withSlowOne();
    await diedAt(world, 1_000);
    const message = { queue: 'orders', messageId: 'message-1' };
    expect((await world.messageRecords.find(message))?.body).toBeUndefined();
    const next = comesAgain(world);
    await world.until(181_000);
    expect((await world.messageRecords.find(message))?.body).toMatchObject({ kind: 'inline' });
    const waiting = await world.delivery('s-10');
    expect(waiting).toMatchObject({ status: 'pending', lost: 1, overdueAt: waiting.lease?.until });
    await ended(world, next);
  });

  it('and whose successor dies as well has its requests counted as lost twice', async () => {
    const world = await withSlowOne();
    await diedAt(world, 1_000);
    world.subscriber.onRequest = () => {
      world.subscriber.onRequest = () => Promise.resolve();
      return Promise.reject(new Error('died in the middle of it'));
    };
    await ended(world, comesAgain(world));

    expect(world.requestsOf('s-10')).toBe(3);
    expect(await lostOf(world, 's-10')).toEqual([2]);
    expect(world.requests().slice(0, 9)).toEqual(world.ids.slice(0, 9).map(() => 1));
  });

  it('between a failure on record and the wake-up for it: its retry is made in time all the same', async () => {
    const world = await chunkedWorld(3, { policy: RETRIED });
    for (const id of world.ids) world.subscriber.script(world.urlOf(id), [status(200, { takesMs: 5_000 })]);
    world.subscriber.script(world.urlOf('s-2'), [status(503, { takesMs: 100 }), status(200)]);
    const sendDelayed = world.wakeUps.sendDelayed.bind(world.wakeUps);
    world.wakeUps.sendDelayed = () => {
      world.wakeUps.sendDelayed = sendDelayed;
      return new Promise(() => undefined);
    };
    await diedAt(world, 200);
    expect((await world.chunk())?.members?.get('s-2')).toBe('pending');
    expect(await world.delivery('s-2')).toMatchObject({ status: 'retrying', attempts: [{ number: 1 }] });
    const again = comesAgain(world);
    await world.until(181_000);
    await again;

    expect(world.requests()).toEqual([2, 2, 2]);
    expect(await world.delivery('s-2')).toMatchObject({
      status: 'delivered',
      attempts: [{ number: 1 }, { number: 2 }],
    });
    await ended(world);
    expect(await lostOf(world, 's-2')).toEqual([0, 0]);
    expect(world.requests()).toEqual([2, 2, 2]);
  });

  it('after it ended the lease of another has nobody counted twice', async () => {
    const world = await withSlowOne();
    await diedAt(world, 1_000);
    const write = world.chunks.write.bind(world.chunks);
    world.chunks.write = async (transition) => {
      await write(transition);
      if (transition.expect.kind === 'lapsed') throw new Error('died with the answer');
      return await write(transition);
    };
    await expect(comesAgain(world)).rejects.toThrow('died with the answer');
    world.chunks.write = write;
    expect(await world.delivery('s-10')).toMatchObject({ status: 'pending', lost: 1 });
    await ended(world, comesAgain(world));

    expect(world.requests()).toEqual([1, 1, 1, 1, 1, 1, 1, 1, 1, 2]);
    expect(await lostOf(world, 's-10')).toEqual([1]);
  });

  it('has every successor that finds the lease run out make each request once, however many there are', async () => {
    const world = await withSlowOne();
    await diedAt(world, 100);
    await ended(world, ...Array.from({ length: 20 }, (_, index) => comesAgain(world, `copy-${index}`)));

    expect(world.requests()).toEqual(world.ids.map(() => 2));
    for (const id of world.ids) expect(await lostOf(world, id)).toEqual([1]);
  });
});

describe('a fault between two steps of a member', () => {
  it('after its failure is on record and before its retry is set: the job that comes again sets it, and makes no attempt', async () => {
    const world = await chunkedWorld(3, { policy: RETRIED });
    world.subscriber.script(world.urlOf('s-2'), [status(503), status(200)]);
    const sendDelayed = world.wakeUps.sendDelayed.bind(world.wakeUps);
    world.wakeUps.sendDelayed = () => {
      world.wakeUps.sendDelayed = sendDelayed;
      return Promise.reject(new Error('SQS does not answer'));
    };
    await world.publish();
    await world.clock.run();

    expect(world.requests()).toEqual([1, 2, 1]);
    expect(await world.delivery('s-2')).toMatchObject({ status: 'delivered', attempts: [{}, {}] });
    expect(await lostOf(world, 's-2')).toEqual([0, 0]);
  });

  it('before what it owes was done: the job that comes again does it', async () => {
    const world = await chunkedWorld(3);
    world.subscriber.script(world.urlOf('s-2'), [status(404)]);
    const send = world.undeliverables.send.bind(world.undeliverables);
    world.undeliverables.send = () => {
      world.undeliverables.send = send;
      return Promise.reject(new Error('SQS does not answer'));
    };
    await world.publish();
    await world.clock.run();

    expect(world.undeliverables.sent).toHaveLength(1);
    expect(await world.delivery('s-2')).toMatchObject({ status: 'rejected', owed: [] });
    expect(world.requests()).toEqual([1, 1, 1]);
  });
});

describe('a write whose answer was lost and that was sent again', () => {
  const sentTwice = (world: ChunkedWorld, kind: ChunkTransition['expect']['kind']): void => {
    const write = world.chunks.write.bind(world.chunks);
    world.chunks.write = async (transition) => {
      if (transition.expect.kind === kind) await write(transition);
      return await write(transition);
    };
  };

  it('of the claim: the holder knows it as its own', async () => {
    const world = await withSlowOne();
    sentTwice(world, 'unclaimed');
    await world.publish();
    await world.clock.run();

    expect(world.writes()).toEqual(['chunk unclaimed', 'chunk held', 'chunk held']);
    expect(world.requests()).toEqual(world.ids.map(() => 1));
    expect(world.separateMembers()).toEqual([]);
  });

  it('of successes: they are on record, and no other record is made of them', async () => {
    const world = await withSlowOne();
    sentTwice(world, 'held');
    await world.publish();
    await world.clock.run();

    expect(world.writes()).toEqual(['chunk unclaimed', 'chunk held', 'chunk held']);
    expect(world.separateMembers()).toEqual([]);
    for (const id of world.ids)
      expect(await world.delivery(id)).toMatchObject({ status: 'delivered', lateResults: [] });
  });

  it('of the end of a lapsed lease: its members are asked again all the same', async () => {
    const world = await withSlowOne();
    sentTwice(world, 'lapsed');
    await diedAt(world, 1_000);
    await ended(world, comesAgain(world));

    expect(world.requestsOf('s-10')).toBe(2);
    expect(await lostOf(world, 's-10')).toEqual([1]);
  });
});

describe('successes that cannot be put on record', () => {
  it('are asked for again, when the lease has run out, each counted as lost', async () => {
    const world = await withSlowOne();
    const write = world.chunks.write.bind(world.chunks);
    let refusals = 0;
    world.chunks.write = (transition) => {
      if (transition.expect.kind !== 'held') return write(transition);
      refusals += 1;
      return refusals === 1 ? Promise.reject(new Error('throttled')) : write(transition);
    };
    await world.publish();
    await world.clock.run();

    // The last one's is on record by a write of its own.
    expect(world.requests()).toEqual([2, 2, 2, 2, 2, 2, 2, 2, 2, 1]);
    for (const id of world.ids) expect(await lostOf(world, id)).toEqual([id === 's-10' ? 0 : 1]);
  });
});
