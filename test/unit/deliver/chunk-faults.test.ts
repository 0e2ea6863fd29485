import { describe, expect, it } from 'vitest';
import { makeSecret } from '../../../shared/domain/subscription/signing-secret.ts';
import { RequestNotSentError } from '../../../shared/ports/subscriber.ts';
import { chunkedWorld, type ChunkedWorld } from '../../support/in-memory/chunked-world.ts';
import { status } from '../../support/in-memory/scripted-subscriber.ts';

const THROTTLED = 'ProvisionedThroughputExceededException';
const OUTAGE_MS = 60_000;

/** The chunk's claim, and one write for all its successes. */
const TWO_WRITES = ['chunk unclaimed', 'chunk leased'];

const lostOf = async (world: ChunkedWorld, ids: readonly string[]): Promise<number[]> => {
  const all = await Promise.all(ids.map((id) => world.delivery(id)));
  return all.map(({ attempts }) => attempts[0]?.lost ?? 0);
};

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
    expect(await lostOf(world, world.ids)).toEqual(noneLost(world.ids));
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
    expect(await lostOf(world, world.ids)).toEqual(noneLost(world.ids));
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
    expect(await lostOf(world, world.signed)).toEqual(noneLost(world.signed));
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
    expect(await lostOf(world, world.ids)).toEqual(noneLost(world.ids));
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
    expect(await lostOf(world, [...world.ids, 'unsent'])).toEqual([0, 0, 0, 0]);
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
    expect(await lostOf(world, members)).toEqual([1, 1, 1, 0]);
  });
});
