import { describe, expect, it, vi } from 'vitest';
import type { ChunkTransition } from '../../../shared/domain/delivery/chunk.ts';
import { makeSecret } from '../../../shared/domain/subscription/signing-secret.ts';
import { RequestNotSentError } from '../../../shared/ports/subscriber.ts';
import { chunkedWorld, type ChunkedWorld } from '../../support/in-memory/chunked-world.ts';
import { status } from '../../support/in-memory/scripted-subscriber.ts';

const RETRIED = { minimum_delay_retries: 2, minimum_delay: 10, maximum_delay: 10 };
const MESSAGE = { queue: 'orders', messageId: 'message-1' };
const fault = new Error('throttled');
const OUTAGE_MS = 60_000;

/** The chunk's claim, and one write for all its successes. */
const TWO_WRITES = ['chunk unclaimed', 'chunk leased'];

/** Nine subscribers answer within 50 ms, the last one after ten seconds. */
const withSlowOne = async (): Promise<ChunkedWorld> => {
  const world = await chunkedWorld(10);
  world.answerAll(50);
  world.answer('s-10', status(200, { takesMs: 10_000 }));
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

/** Of the first attempt of each. */
const lostFirst = async (world: ChunkedWorld, ids = world.ids): Promise<number[]> =>
  (await Promise.all(ids.map(world.lostOf))).map(([first = 0]) => first);

/** Changes how the writes of chunks that expect this are made. */
const interceptWrites = (
  world: ChunkedWorld,
  kind: ChunkTransition['expect']['kind'],
  made: (write: () => ReturnType<typeof world.chunks.write>) => ReturnType<typeof world.chunks.write>,
) => {
  const write = world.chunks.write.bind(world.chunks);
  return vi
    .spyOn(world.chunks, 'write')
    .mockImplementation((transition) =>
      transition.expect.kind === kind ? made(() => write(transition)) : write(transition),
    );
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
    expect([await world.lostOf('s-1'), await world.lostOf('s-10')]).toEqual([[0], [1]]);
    expect(world.writes().slice(before, before + 4)).toEqual([
      'chunk unclaimed',
      'chunk lease_expired',
      'open s-10',
      'record s-10',
    ]);
    expect(world.facts('lease_lost')).toMatchObject([{ key: { subscriptionId: 's-10' }, attempt: 1 }]);
  });

  it.each([
    ['', 1],
    [', however many copies find the expired lease', 20],
  ])('before any result is recorded, causes exactly one repeat of each request%s', async (_, copies) => {
    const world = await withSlowOne();
    await crashedAt(world, 100);
    await runToEnd(
      world,
      ...Array.from({ length: copies }, (_one, index) => redeliver(world, `copy-${index}`)),
    );

    expect(world.requests()).toEqual(world.ids.map(() => 2));
    expect(await lostFirst(world)).toEqual(world.ids.map(() => 1));
    expect(world.separateMembers()).toEqual(world.ids.toSorted());
  });

  it('reads no subscription to repeat requests singly, so that none of them can prevent it', async () => {
    const world = await withSlowOne();
    await crashedAt(world, 1_000);
    const find = vi.spyOn(world.subscriptions, 'find').mockRejectedValue(fault);
    await redeliver(world);
    expect(find).not.toHaveBeenCalled();
  });

  it('has the message stored for the repeated requests, because reconcile carries none', async () => {
    const world = await withSlowOne();
    await crashedAt(world, 1_000);
    expect((await world.messageRecords.find(MESSAGE))?.body).toBeUndefined();
    const next = redeliver(world);
    await world.until(181_000);
    expect((await world.messageRecords.find(MESSAGE))?.body).toMatchObject({ kind: 'inline' });
    const waiting = await world.delivery('s-10');
    expect(waiting).toMatchObject({ status: 'pending', lost: 1, overdueAt: waiting.lease?.until });
    await runToEnd(world, next);
  });

  it('and is followed by a second crash counts the request as lost twice', async () => {
    const world = await withSlowOne();
    await crashedAt(world, 1_000);
    vi.spyOn(world.subscriber, 'onRequest').mockRejectedValueOnce(new Error('crashed during the request'));
    await runToEnd(world, redeliver(world));

    expect(world.requests()).toEqual([1, 1, 1, 1, 1, 1, 1, 1, 1, 3]);
    expect(await world.lostOf('s-10')).toEqual([2]);
  });

  it('between recording a failure and scheduling its retry does not delay the retry', async () => {
    const world = await chunkedWorld(3, { policy: RETRIED });
    world.answerAll(5_000);
    world.answer('s-2', status(503, { takesMs: 100 }), status(200));
    vi.spyOn(world.wakeUps, 'sendDelayed').mockReturnValueOnce(new Promise(() => undefined));
    await crashedAt(world, 200);
    expect((await world.chunk())?.members?.get('s-2')).toBe('pending');
    expect(await world.delivery('s-2')).toMatchObject({ status: 'retrying', attempts: [{ number: 1 }] });
    const again = redeliver(world);
    await world.until(181_000);
    await again;

    expect(await world.delivery('s-2')).toMatchObject({
      status: 'delivered',
      attempts: [{ number: 1 }, { number: 2 }],
    });
    await runToEnd(world);
    expect(await world.lostOf('s-2')).toEqual([0, 0]);
    expect(world.requests()).toEqual([2, 2, 2]);
  });

  it('after it ended an expired lease does not count a lost request twice', async () => {
    const world = await withSlowOne();
    await crashedAt(world, 1_000);
    const crashed = interceptWrites(world, 'lease_expired', async (write) => {
      await write();
      throw new Error('crashed after the write');
    });
    await expect(redeliver(world)).rejects.toThrow('crashed after the write');
    crashed.mockRestore();
    expect(await world.delivery('s-10')).toMatchObject({ status: 'pending', lost: 1 });
    await runToEnd(world, redeliver(world));

    expect(world.requests()).toEqual([1, 1, 1, 1, 1, 1, 1, 1, 1, 2]);
    expect(await world.lostOf('s-10')).toEqual([1]);
  });
});

describe('an internal fault between two steps of a chunk member', () => {
  it('after recording a failure: the redelivered job schedules the retry and makes no attempt', async () => {
    const world = await chunkedWorld(3, { policy: RETRIED });
    world.answer('s-2', status(503), status(200));
    vi.spyOn(world.wakeUps, 'sendDelayed').mockRejectedValueOnce(fault);
    await world.deliver();

    expect(world.requests()).toEqual([1, 2, 1]);
    expect((await world.delivery('s-2')).status).toBe('delivered');
    expect(await world.lostOf('s-2')).toEqual([0, 0]);
  });

  it('before its pending steps: the redelivered job does them', async () => {
    const world = await chunkedWorld(3);
    world.answer('s-2', status(404));
    vi.spyOn(world.undeliverables, 'send').mockRejectedValueOnce(fault);
    await world.deliver();

    expect(world.undeliverables.sent).toHaveLength(1);
    expect(await world.delivery('s-2')).toMatchObject({ status: 'rejected', pendingSteps: [] });
    expect(world.requests()).toEqual([1, 1, 1]);
  });
});

describe('a write repeated after a lost response', () => {
  const repeatWrites = (world: ChunkedWorld, kind: ChunkTransition['expect']['kind']) =>
    interceptWrites(world, kind, async (write) => {
      await write();
      return write();
    });

  it.each([
    ['of the claim: the holder recognizes its claim', 'unclaimed'],
    ['of successes: they are recorded, and no separate record is created', 'leased'],
  ] as const)('%s', async (_, kind) => {
    const world = await withSlowOne();
    repeatWrites(world, kind);
    await world.deliver();

    expect(world.writes()).toEqual([...TWO_WRITES, 'chunk leased']);
    expect(world.requests()).toEqual(world.ids.map(() => 1));
    expect(world.separateMembers()).toEqual([]);
    for (const id of world.ids)
      expect(await world.delivery(id)).toMatchObject({ status: 'delivered', lateResults: [] });
  });

  it('of the end of an expired lease: the members are requested again', async () => {
    const world = await withSlowOne();
    repeatWrites(world, 'lease_expired');
    await crashedAt(world, 1_000);
    await runToEnd(world, redeliver(world));

    expect(world.requestsOf('s-10')).toBe(2);
    expect(await world.lostOf('s-10')).toEqual([1]);
  });
});

it('successes that cannot be recorded are requested again after the lease ends, each counted as lost', async () => {
  const world = await withSlowOne();
  let writes = 0;
  interceptWrites(world, 'leased', (write) => {
    writes += 1;
    return writes === 1 ? Promise.reject(fault) : write();
  });
  await world.deliver();

  // A later write recorded the last success.
  expect(world.requests()).toEqual([2, 2, 2, 2, 2, 2, 2, 2, 2, 1]);
  expect(await lostFirst(world)).toEqual([1, 1, 1, 1, 1, 1, 1, 1, 1, 0]);
});

describe('an internal fault before the claim of a chunk', () => {
  const expectNoneLost = async (world: ChunkedWorld): Promise<void> => {
    expect(world.requests()).toEqual(world.ids.map(() => 1));
    expect(world.writes()).toEqual(TWO_WRITES);
    expect(await lostFirst(world)).toEqual(world.ids.map(() => 0));
    expect(world.deliveryJobs.waiting).toBe(0);
  };

  /** Makes reading these subscriptions fail in the first minute. */
  const throttleReads = (world: ChunkedWorld, ids: readonly string[]): void => {
    const find = world.subscriptions.find.bind(world.subscriptions);
    world.subscriptions.find = (queue, id, freshness) =>
      world.clock.now() < world.startedAt + OUTAGE_MS && ids.includes(id)
        ? Promise.reject(fault)
        : find(queue, id, freshness);
  };

  it('prevents the claim if no subscription can be read, and counts nothing as lost', async () => {
    const world = await chunkedWorld(10);
    throttleReads(world, world.ids);
    await world.publish();
    await world.until(OUTAGE_MS);
    expect(world.writes()).toEqual([]);

    await world.clock.run();
    await expectNoneLost(world);
  });

  it('prevents the claim if the message cannot be read from the bucket', async () => {
    const world = await chunkedWorld(10);
    const get = vi.spyOn(world.payloads, 'get').mockRejectedValueOnce(fault);
    await world.deliver({ data: JSON.stringify('x'.repeat(70_000)) });

    await expectNoneLost(world);
    // One fetch per receive for all ten members.
    expect(get).toHaveBeenCalledTimes(2);
  });

  it('prevents the claim if no secret can be decrypted', async () => {
    const world = await chunkedWorld(10);
    const secret = makeSecret('v1', (bytes) => new Uint8Array(bytes));
    for (const subscriptionId of world.ids) {
      const name = { queue: 'orders', subscriptionId };
      const secrets = [{ sealed: await world.secretOpener.seal(name, secret) }];
      await world.subscriptions.changeSubscription({ ...name, now: 0 }, (current) => ({
        ...current,
        secrets,
      }));
    }
    world.secretOpener.outage = new Error('KMS does not respond');
    await world.publish();
    await world.until(OUTAGE_MS);
    expect(world.writes()).toEqual([]);

    world.secretOpener.outage = undefined;
    await world.clock.run();
    await expectNoneLost(world);
  });

  it('delays only the subscription that cannot be read', async () => {
    const world = await chunkedWorld(10);
    throttleReads(world, ['s-4']);
    await world.publish();
    await world.until(1_000);
    expect(world.requests()).toEqual([1, 1, 1, 0, 1, 1, 1, 1, 1, 1]);
    expect(world.writes()).toEqual(TWO_WRITES);

    await world.until(2 * OUTAGE_MS);
    expect(world.requestsOf('s-4')).toBe(1);
    expect(await lostFirst(world)).toEqual(world.ids.map(() => 0));
    expect(world.deliveryJobs.waiting).toBe(0);
  });

  it('prevents the claim if slow reads leave too little time for the attempts', async () => {
    const world = await chunkedWorld(10);
    const find = world.subscriptions.find.bind(world.subscriptions);
    let reads = 0;
    world.subscriptions.find = async (...args) => {
      reads += 1;
      if (reads <= 10) await world.clock.sleep(9_000);
      return find(...args);
    };
    await world.deliver();

    await expectNoneLost(world);
  });
});

describe('a chunk member whose request cannot leave the function', () => {
  const withUnsent = async () => {
    const world = await chunkedWorld(3);
    world.answerAll(10_000);
    await world.subscribe('unsent');
    const post = world.subscriber.post.bind(world.subscriber);
    let isLacking = true;
    world.subscriber.post = (request, ...args) => {
      if (request.url !== world.urlOf('unsent') || !isLacking) return post(request, ...args);
      isLacking = false;
      return Promise.reject(new RequestNotSentError('EMFILE'));
    };
    return { world, members: [...world.ids, 'unsent'] };
  };

  it('is released, delays no other member, and does not count as lost', async () => {
    const { world, members } = await withUnsent();
    await world.publish();
    await world.until(60_000);

    expect(world.writes()).toContain('release unsent');
    expect([...world.requests(), world.requestsOf('unsent')]).toEqual([1, 1, 1, 1]);
    expect(await lostFirst(world, members)).toEqual([0, 0, 0, 0]);
    expect(world.deliveryJobs.waiting).toBe(0);
  });

  it('is delivered even if the invocation crashes after the release', async () => {
    const { world, members } = await withUnsent();
    // The dispatched job is delayed so far that it finds nothing left to do.
    await world.publish({}, 900);
    world.deliverDying(world.job(members), world.received('dead'), 1_000);
    await world.until(35_000);
    expect(world.requestsOf('unsent')).toBe(0);
    await runToEnd(world, world.deliverCopy(world.job(members), world.received('next', 2)));

    expect(world.requestsOf('unsent')).toBe(1);
    // The requests of the others may have been answered, so they count as lost.
    expect(await lostFirst(world, members)).toEqual([1, 1, 1, 0]);
  });
});
