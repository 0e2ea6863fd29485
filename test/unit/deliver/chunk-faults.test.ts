import { describe, expect, it } from 'vitest';
import { makeSecret } from '../../../shared/domain/subscription/signing-secret.ts';
import { chunkedWorld, type ChunkedWorld } from '../../support/in-memory/chunked-world.ts';
import { status } from '../../support/in-memory/scripted-subscriber.ts';

const THROTTLED = 'ProvisionedThroughputExceededException';
const OUTAGE_MS = 60_000;

/** The chunk's claim, and the one write of its ten successes. */
const TWO_WRITES = ['chunk unclaimed', 'chunk held'];

const lostOf = async (world: ChunkedWorld, ids: readonly string[]): Promise<number[]> => {
  const all = await Promise.all(ids.map((id) => world.delivery(id)));
  return all.map(({ attempts }) => attempts[0]?.lost ?? 0);
};

const none = (ids: readonly string[]): number[] => ids.map(() => 0);

/** Has reads of subscriptions fail in the first minute: all of them, or those of one. */
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

/** Ten more subscribers whose requests are signed, in the place of those that are not. */
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

describe('a chunk that a fault of ours meets before its claim', () => {
  it('claims nothing while no subscription can be read, and counts nothing as lost', async () => {
    const world = await chunkedWorld(10);
    throttleReads(world);
    await world.publish();
    await world.until(OUTAGE_MS);
    expect(world.writes()).toEqual([]);

    await world.until(2 * OUTAGE_MS);
    expect(world.requests()).toEqual(world.ids.map(() => 1));
    expect(world.writes()).toEqual(TWO_WRITES);
    expect(await lostOf(world, world.ids)).toEqual(none(world.ids));
  });

  it('claims nothing while its message cannot be read from the bucket', async () => {
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
    expect(await lostOf(world, world.ids)).toEqual(none(world.ids));
    // Once for all ten, each time.
    expect(fetched).toBe(2);
  });

  it('claims nothing while no secret can be opened', async () => {
    const world = await signedWorld(10);
    world.secretOpener.outage = new Error('KMS does not answer');
    await world.publish();
    await world.until(OUTAGE_MS);
    expect(world.writes()).toEqual([]);

    world.secretOpener.outage = undefined;
    await world.clock.run();
    expect(world.writes()).toEqual(TWO_WRITES);
    expect(await lostOf(world, world.signed)).toEqual(none(world.signed));
  });

  it('delivers to the others at once where one subscription cannot be read, and to that one once it can be', async () => {
    const world = await chunkedWorld(10);
    throttleReads(world, 's-4');
    await world.publish();
    await world.until(1_000);
    expect(world.requests()).toEqual([1, 1, 1, 0, 1, 1, 1, 1, 1, 1]);
    expect(world.writes()).toEqual(TWO_WRITES);

    await world.until(2 * OUTAGE_MS);
    expect(world.requests()).toEqual(world.ids.map(() => 1));
    expect(await lostOf(world, world.ids)).toEqual(none(world.ids));
    expect(world.deliveryJobs.waiting).toBe(0);
  });

  it('claims nothing where reading left too little time for the attempts', async () => {
    const world = await chunkedWorld(10);
    const { ports } = world.deliverContext;
    const find = ports.subscriptions.find.bind(ports.subscriptions);
    let reads = 0;
    ports.subscriptions = {
      ...ports.subscriptions,
      find: async (...asked) => {
        reads += 1;
        if (reads <= 10) await world.clock.sleep(9_000);
        return find(...asked);
      },
    };
    await world.publish();
    await world.clock.run();

    expect(world.writes()).toEqual(TWO_WRITES);
    expect(world.requests()).toEqual(world.ids.map(() => 1));
  });
});

/** Has the secret opened once, before the claim, and not a second time, for the attempt. */
const loseSecretAfterClaim = (world: ChunkedWorld): void => {
  const open = world.secretOpener.open.bind(world.secretOpener);
  let asked = 0;
  world.secretOpener.open = (...what) => {
    asked += 1;
    return asked === 2 ? Promise.reject(new Error('KMS does not answer')) : open(...what);
  };
};

describe('a member that a fault of ours meets between the claim and its request', () => {
  const withSigned = async (): Promise<ChunkedWorld> => {
    const world = await chunkedWorld(3);
    for (const id of world.ids) world.subscriber.script(world.urlOf(id), [status(200, { takesMs: 10_000 })]);
    const secret = makeSecret('v1', (bytes) => new Uint8Array(bytes));
    const sealed = await world.secretOpener.seal({ queue: 'orders', subscriptionId: 'signed' }, secret);
    await world.subscribe('signed', { secrets: [{ sealed }] });
    loseSecretAfterClaim(world);
    return world;
  };

  it('is given back, holds up no other, and does not count as lost', async () => {
    const world = await withSigned();
    await world.publish();
    await world.until(60_000);

    expect(world.writes()).toContain('release signed');
    expect(world.requestsOf('signed')).toBe(1);
    expect(world.requests()).toEqual([1, 1, 1]);
    expect(await lostOf(world, [...world.ids, 'signed'])).toEqual([0, 0, 0, 0]);
    expect(world.deliveryJobs.waiting).toBe(0);
  });

  it('is delivered all the same where the function dies after it gave it back', async () => {
    const world = await withSigned();
    // Its own job, which comes last of all, finds nothing left to do.
    await world.publish({}, 900);
    const members = [...world.ids, 'signed'];
    world.deliverDying(world.job(members), world.received('dead'), 1_000);
    await world.until(35_000);
    expect(world.requestsOf('signed')).toBe(0);
    const next = world.deliverCopy(world.job(members), world.received('next', 2));
    await world.clock.run();
    await next;

    expect(world.requestsOf('signed')).toBe(1);
    // Of the others nobody knows whether their requests were answered.
    expect(await lostOf(world, members)).toEqual([1, 1, 1, 0]);
  });
});
