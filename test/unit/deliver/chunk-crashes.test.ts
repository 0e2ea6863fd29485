import { describe, expect, it } from 'vitest';
import type { ChunkTransition } from '../../../shared/domain/delivery/chunk.ts';
import { makeSecret } from '../../../shared/domain/subscription/signing-secret.ts';
import { RequestNotSentError } from '../../../shared/ports/subscriber.ts';
import { aBarePolicy, aMessage } from '../../support/builders.ts';
import { chunkedWorld, type ChunkedWorld } from '../../support/in-memory/chunked-world.ts';
import { oneSubscriberWorld } from '../../support/in-memory/one-subscriber-world.ts';
import { type ScriptedSubscriber, status } from '../../support/in-memory/scripted-subscriber.ts';

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

const THROTTLED = 'ProvisionedThroughputExceededException';
const OUTAGE_MS = 60_000;

/** The chunk's claim, and one write for all its successes. */
const TWO_WRITES = ['chunk unclaimed', 'chunk leased'];

/** Of the first attempt of each. */
const lostFirst = async (world: ChunkedWorld, ids: readonly string[]): Promise<number[]> =>
  (await Promise.all(ids.map((id) => lostOf(world, id)))).map(([first = 0]) => first);

const noneLost = (ids: readonly string[]): number[] => ids.map(() => 0);

/** Makes subscription reads fail in the first minute: all of them, or those of `only`. */
const throttleReads = (world: ChunkedWorld, only?: string): void => {
  const { ports } = world.deliverContext;
  const find = ports.subscriptions.find.bind(ports.subscriptions);
  const isThrottled = (id: string): boolean =>
    world.clock.now() < world.startedAt + OUTAGE_MS && id === (only ?? id);
  ports.subscriptions = {
    ...ports.subscriptions,
    find: (queue, id, freshness) =>
      isThrottled(id) ? Promise.reject(new Error(THROTTLED)) : find(queue, id, freshness),
  };
};

/** A world whose subscribers all have signing secrets. */
const signedWorld = async (count: number): Promise<ChunkedWorld & { signed: string[] }> => {
  const world = await chunkedWorld(0);
  const secret = makeSecret('v1', (bytes) => new Uint8Array(bytes));
  const signed = Array.from({ length: count }, (_, index) => `signed-${index}`);
  for (const subscriptionId of signed) {
    const sealed = await world.secretOpener.seal({ queue: 'orders', subscriptionId }, secret);
    await world.subscribe(subscriptionId, { secrets: [{ sealed }] });
  }
  return { ...world, signed };
};

describe('an internal fault before the claim of a chunk', () => {
  it('prevents the claim if no subscription can be read, and counts nothing as lost', async () => {
    const world = await chunkedWorld(10);
    throttleReads(world);
    await world.publish();
    await world.until(OUTAGE_MS);
    expect(world.writes()).toEqual([]);

    await world.until(2 * OUTAGE_MS);
    expect(world.requests()).toEqual(world.ids.map(() => 1));
    expect(world.writes()).toEqual(TWO_WRITES);
    expect(await lostFirst(world, world.ids)).toEqual(noneLost(world.ids));
  });

  it('prevents the claim if the message cannot be read from the bucket', async () => {
    const world = await chunkedWorld(10);
    const { ports } = world.deliverContext;
    const get = ports.payloads.get.bind(ports.payloads);
    let fetched = 0;
    ports.payloads = {
      ...ports.payloads,
      get: (key) => {
        fetched += 1;
        return fetched === 1 ? Promise.reject(new Error('SlowDown')) : get(key);
      },
    };
    await world.publish({ data: JSON.stringify('x'.repeat(70_000)) });
    await world.clock.run();

    expect(world.requests()).toEqual(world.ids.map(() => 1));
    expect(world.writes()).toEqual(TWO_WRITES);
    expect(await lostFirst(world, world.ids)).toEqual(noneLost(world.ids));
    // One fetch per receive for all ten members.
    expect(fetched).toBe(2);
  });

  it('prevents the claim if no secret can be decrypted', async () => {
    const world = await signedWorld(10);
    world.secretOpener.outage = new Error('KMS does not respond');
    await world.publish();
    await world.until(OUTAGE_MS);
    expect(world.writes()).toEqual([]);

    world.secretOpener.outage = undefined;
    await world.clock.run();
    expect(world.writes()).toEqual(TWO_WRITES);
    expect(await lostFirst(world, world.signed)).toEqual(noneLost(world.signed));
  });

  it('delays only the subscription that cannot be read', async () => {
    const world = await chunkedWorld(10);
    throttleReads(world, 's-4');
    await world.publish();
    await world.until(1_000);
    expect(world.requests()).toEqual([1, 1, 1, 0, 1, 1, 1, 1, 1, 1]);
    expect(world.writes()).toEqual(TWO_WRITES);

    await world.until(2 * OUTAGE_MS);
    expect(world.requests()).toEqual(world.ids.map(() => 1));
    expect(await lostFirst(world, world.ids)).toEqual(noneLost(world.ids));
    expect(world.deliveryJobs.waiting).toBe(0);
  });

  it('prevents the claim if slow reads leave too little time for the attempts', async () => {
    const world = await chunkedWorld(10);
    const { ports } = world.deliverContext;
    const find = ports.subscriptions.find.bind(ports.subscriptions);
    let reads = 0;
    ports.subscriptions = {
      ...ports.subscriptions,
      find: async (...args) => {
        reads += 1;
        if (reads <= 10) await world.clock.sleep(9_000);
        return find(...args);
      },
    };
    await world.publish();
    await world.clock.run();

    expect(world.writes()).toEqual(TWO_WRITES);
    expect(world.requests()).toEqual(world.ids.map(() => 1));
  });
});

describe('a chunk member whose request cannot leave the function', () => {
  const withUnsent = async (): Promise<ChunkedWorld> => {
    const world = await chunkedWorld(3);
    for (const id of world.ids) world.subscriber.script(world.urlOf(id), [status(200, { takesMs: 10_000 })]);
    await world.subscribe('unsent');
    const { ports } = world.deliverContext;
    const { subscriber } = ports;
    let isLacking = true;
    ports.subscriber = {
      post: (request, ...args) => {
        if (request.url !== world.urlOf('unsent') || !isLacking) return subscriber.post(request, ...args);
        isLacking = false;
        return Promise.reject(new RequestNotSentError('EMFILE'));
      },
    };
    return world;
  };

  it('is released, delays no other member, and does not count as lost', async () => {
    const world = await withUnsent();
    await world.publish();
    await world.until(60_000);

    expect(world.writes()).toContain('release unsent');
    expect(world.requestsOf('unsent')).toBe(1);
    expect(world.requests()).toEqual([1, 1, 1]);
    expect(await lostFirst(world, [...world.ids, 'unsent'])).toEqual([0, 0, 0, 0]);
    expect(world.deliveryJobs.waiting).toBe(0);
  });

  it('is delivered even if the invocation crashes after the release', async () => {
    const world = await withUnsent();
    // The dispatched job is delayed so far that it finds nothing left to do.
    await world.publish({}, 900);
    const members = [...world.ids, 'unsent'];
    world.deliverDying(world.job(members), world.received('dead'), 1_000);
    await world.until(35_000);
    expect(world.requestsOf('unsent')).toBe(0);
    const next = world.deliverCopy(world.job(members), world.received('next', 2));
    await world.clock.run();
    await next;

    expect(world.requestsOf('unsent')).toBe(1);
    // The requests of the others may have been answered, so they count as lost.
    expect(await lostFirst(world, members)).toEqual([1, 1, 1, 0]);
  });
});

const MINUTE_MS = 60_000;

/** Makes sending fail, while `isOut`, until `isOver` is set. */
const outageOf = (subscriber: ScriptedSubscriber, isOut: () => boolean) => {
  const send = subscriber.post.bind(subscriber);
  const outage = { isOver: false };
  subscriber.post = (request, timeoutMs) =>
    !outage.isOver && isOut() ? Promise.reject(new RequestNotSentError('EMFILE')) : send(request, timeoutMs);
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
});
