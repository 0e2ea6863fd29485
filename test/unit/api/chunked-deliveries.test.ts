import { beforeEach, describe, expect, it } from 'vitest';
import { ContendedError } from '../../../shared/domain/contention.ts';
import type { Chunk } from '../../../shared/domain/delivery/chunk.ts';
import {
  type Delivery,
  type DeliveryKey,
  isOpen,
  type OpenDelivery,
} from '../../../shared/domain/delivery/delivery.ts';
import {
  cancelBeforeFirstAttempt,
  cancelOpen,
  deliveryByHand,
} from '../../../shared/domain/delivery/interventions.ts';
import type { Chunks } from '../../../shared/ports/deliveries.ts';
import { aChunkKey, aFirstSuccess, HOLDER, RETENTION_MS } from '../../support/chunk-builders.ts';
import { aDelivery, SOME_TIME } from '../../support/delivery-builders.ts';
import { inMemoryDeliveries } from '../../support/in-memory/in-memory-deliveries.ts';
import { chunkedDeliveries } from '../../../functions/api/deliveries/of-subscription.ts';
import {
  claimChunk,
  recordSuccesses,
  removeMember,
  deliveryIn,
} from '../../../shared/domain/delivery/chunk.ts';
import { inMemoryChunks } from '../../support/in-memory/in-memory-deliveries.ts';
import { inMemoryMessageRecords } from '../../support/in-memory/in-memory-messages.ts';

const at = { now: SOME_TIME, retentionMs: RETENTION_MS };
const place = aChunkKey();
const { queue, messageId, bucket, chunk } = place;
const keyOf = (subscriptionId: string): DeliveryKey => ({ queue, messageId, subscriptionId, bucket, chunk });
const claimOf = (...members: readonly string[]) =>
  claimChunk(place, { acceptedAt: SOME_TIME, members, lease: HOLDER }, at);
const claim = claimOf('a', 'b');

let records: ReturnType<typeof inMemoryDeliveries>;
let chunks: ReturnType<typeof inMemoryChunks>;

beforeEach(() => {
  records = inMemoryDeliveries();
  chunks = inMemoryChunks(records);
});

const deliveries = () => chunkedDeliveries({ deliveries: records, chunks });

const found = async (id: string): Promise<Delivery> => {
  const delivery = await deliveries().find(keyOf(id));
  if (delivery === undefined) throw new Error(`Delivery ${id} is not on record`);
  return delivery;
};

const foundOpen = async (id: string): Promise<OpenDelivery> => {
  const delivery = await found(id);
  if (!isOpen(delivery)) throw new Error(`Delivery ${id} is ${delivery.status}`);
  return delivery;
};

/** What a concurrent change does. */
const takeOut = async (id: string): Promise<unknown> => {
  const delivery = await found(id);
  return chunks.takeOut(removeMember(place, id, 'pending', delivery), delivery);
};

const currentChunk = async (): Promise<Chunk> => {
  const current = await chunks.find(place);
  if (current === undefined) throw new Error('The chunk is not on record');
  return current;
};

/** A port that runs a function before the n-th call of a method. */
const before = <Port extends object>(
  port: Port,
  name: keyof Port,
  nth: number,
  happens: () => Promise<unknown>,
): Port => {
  let calls = 0;
  return new Proxy(port, {
    get: (target, property) => {
      const method: unknown = Reflect.get(target, property);
      if (property !== name || typeof method !== 'function') return method;
      return async (...given: unknown[]): Promise<unknown> => {
        calls += 1;
        if (calls === nth) await happens();
        return Reflect.apply(method as (...given: unknown[]) => unknown, target, given);
      };
    },
  });
};

describe('a delivery in a chunk or in a separate record', () => {
  it('is not found before its chunk is claimed', async () => {
    expect(await deliveries().find(keyOf('a'))).toBeUndefined();
  });

  it('is found as its chunk describes it', async () => {
    await chunks.write(claim);
    expect(await deliveries().find(keyOf('a'))).toMatchObject({
      key: keyOf('a'),
      status: 'pending',
      lease: HOLDER,
      attempts: [],
    });
    const successes = new Map([['a', aFirstSuccess()]]);
    await chunks.write(recordSuccesses(place, HOLDER.owner, { successes, separate: [], ends: false }, at));
    expect(await deliveries().find(keyOf('a'))).toMatchObject({
      status: 'delivered',
      attempts: [{ ...aFirstSuccess(), number: 1, outcome: 'delivered' }],
    });
    expect((await deliveries().find(keyOf('b')))?.status).toBe('pending');
    expect(await deliveries().find(keyOf('c'))).toBeUndefined();
  });

  it('is read from its separate record if it has one', async () => {
    await chunks.write(claim);
    const delivery = aDelivery({ ...(await found('a')), status: 'retrying' });
    await records.write({ name: 'record', key: delivery.key, expect: { kind: 'absent' }, create: delivery });
    expect((await currentChunk()).members?.get('a')).toBe('pending');
    expect((await found('a')).status).toBe('retrying');
  });

  it('is found if it leaves its chunk between two reads', async () => {
    await chunks.write(claim);
    const leaving = before(chunks, 'find', 1, () => takeOut('a'));
    const delivery = await chunkedDeliveries({ deliveries: records, chunks: leaving }).find(keyOf('a'));
    expect(delivery).toMatchObject({ status: 'pending', lease: HOLDER });
  });

  it('is read only from its separate record if its key has no chunk', async () => {
    const alone = { queue, messageId, subscriptionId: 'a', bucket };
    const unasked = before(chunks, 'find', 1, () => Promise.reject(new Error('The chunk was read')));
    expect(await chunkedDeliveries({ deliveries: records, chunks: unasked }).find(alone)).toBeUndefined();
  });
});

describe('a change of a delivery in a chunk', () => {
  it('moves it to a separate record, and marks that in the chunk', async () => {
    await chunks.write(claim);
    const result = await deliveries().write(cancelOpen(await foundOpen('a'), 'manual', at));
    expect(result).toMatchObject({ kind: 'written', delivery: { status: 'cancelled', reason: 'manual' } });
    expect((await currentChunk()).members).toEqual(
      new Map([
        ['a', 'separate'],
        ['b', 'pending'],
      ]),
    );
  });

  it('is refused if the delivery has changed since it was read', async () => {
    await chunks.write(claim);
    const seen = await foundOpen('a');
    const successes = new Map([['a', aFirstSuccess()]]);
    await chunks.write(recordSuccesses(place, HOLDER.owner, { successes, separate: [], ends: false }, at));
    const result = await deliveries().write(cancelOpen(seen, 'manual', at));
    expect(result).toMatchObject({ kind: 'refused', current: { status: 'delivered' } });
  });

  it('is made once if several requests try', async () => {
    await chunks.write(claim);
    const seen = await foundOpen('a');
    const results = await Promise.all(
      [1, 2, 3].map(() => deliveries().write(cancelOpen(seen, 'manual', at))),
    );
    expect(results.filter(({ kind }) => kind === 'written')).toHaveLength(1);
  });

  it('is made if a concurrent request moves the delivery first', async () => {
    await chunks.write(claim);
    const seen = await foundOpen('a');
    const raced = before(chunks, 'takeOut', 1, () => takeOut('a'));
    const result = await chunkedDeliveries({ deliveries: records, chunks: raced }).write(
      cancelOpen(seen, 'manual', at),
    );
    expect(result.kind).toBe('written');
  });

  it('is refused if the delivery is not on record', async () => {
    await chunks.write(claim);
    const seen = { ...(await foundOpen('a')), key: keyOf('z') };
    expect(await deliveries().write(cancelOpen(seen, 'manual', at))).toEqual({
      kind: 'refused',
      current: undefined,
    });
  });

  it('throws after four tries if the delivery cannot be moved', async () => {
    await chunks.write(claim);
    let tries = 0;
    const refusing = {
      ...chunks,
      takeOut: () => {
        tries += 1;
        return Promise.resolve('refused' as const);
      },
    };
    const writing = chunkedDeliveries({ deliveries: records, chunks: refusing }).write(
      cancelOpen(await foundOpen('a'), 'manual', at),
    );
    await expect(writing).rejects.toThrow(ContendedError);
    expect(tries).toBe(4);
  });
});

describe('a record for a delivery that has not begun', () => {
  const create = cancelBeforeFirstAttempt({ key: keyOf('a'), acceptedAt: SOME_TIME }, 'manual', at);

  it('is marked in its chunk, so that the claim skips it', async () => {
    expect(await deliveries().write(create)).toMatchObject({
      kind: 'written',
      delivery: { status: 'cancelled' },
    });
    expect((await currentChunk()).excluded).toEqual(new Set(['a']));
    const result = await chunks.write(claim);
    expect(result.kind).toBe('written');
    expect(deliveryIn(await currentChunk(), 'a')).toBeUndefined();
    expect((await found('a')).status).toBe('cancelled');
  });

  it('is refused if the delivery is on record, in its chunk or separately', async () => {
    await chunks.write(claim);
    expect(await deliveries().write(create)).toMatchObject({ kind: 'refused', current: { lease: HOLDER } });
    await takeOut('a');
    expect(await deliveries().write(create)).toMatchObject({ kind: 'refused', current: { lease: HOLDER } });
  });

  it('is refused if its chunk is claimed at the same moment', async () => {
    const raced = before(chunks, 'takeOut', 1, () => chunks.write(claim));
    const result = await chunkedDeliveries({ deliveries: records, chunks: raced }).write(create);
    expect(result).toMatchObject({ kind: 'refused', current: { status: 'pending', lease: HOLDER } });
    expect(records.records.size).toBe(0);
  });

  it('is written without its chunk if the chunk was claimed without it', async () => {
    await chunks.write(claim);
    const other = cancelBeforeFirstAttempt({ key: keyOf('z'), acceptedAt: SOME_TIME }, 'manual', at);
    expect((await deliveries().write(other)).kind).toBe('written');
    expect((await currentChunk()).excluded).toEqual(new Set());
    expect((await found('z')).status).toBe('cancelled');
  });
});

describe('adding a delivery that did not match', () => {
  const message = { queue, messageId };
  const delivery = deliveryByHand({ key: keyOf('z'), acceptedAt: SOME_TIME }, at);

  let messages: ReturnType<typeof inMemoryMessageRecords>;

  beforeEach(async () => {
    messages = inMemoryMessageRecords();
    chunks = inMemoryChunks(records, messages);
    await messages.accept({
      key: message,
      acceptedAt: SOME_TIME,
      listedAt: SOME_TIME,
      matched: 2,
      filtered: 1,
      duplicates: 0,
      buckets: 1,
      chunks: 1,
      expiresAt: SOME_TIME + RETENTION_MS,
    });
  });

  const add = (port: Chunks = chunks) =>
    chunkedDeliveries({ deliveries: records, chunks: port }).add(delivery);
  const matched = async () => (await messages.find(message))?.matched;

  it('counts it, and keeps it out of a chunk that is claimed later', async () => {
    expect(await add()).toEqual({ kind: 'written', delivery });
    const result = await chunks.write(claimOf('a', 'z'));
    expect(result).toMatchObject({ kind: 'written', chunk: { excluded: new Set(['z']) } });
    expect(result.kind === 'written' && deliveryIn(result.chunk, 'z')).toBeUndefined();
    expect(await records.find(delivery.key)).toEqual(delivery);
    expect(await matched()).toBe(3);
  });

  it('leaves a chunk that is claimed as it is', async () => {
    await chunks.write(claimOf('a'));
    expect((await add()).kind).toBe('written');
    expect((await chunks.find(place))?.excluded).toEqual(new Set());
  });

  it('is refused, and not counted, if its chunk claims it at the same moment', async () => {
    const racing: Chunks = {
      ...chunks,
      add: async (...given) => {
        await chunks.write(claimOf('z'));
        return chunks.add(...given);
      },
    };
    expect(await add(racing)).toMatchObject({ kind: 'refused', current: { lease: HOLDER } });
    expect(await matched()).toBe(2);
  });

  it('is done once if several requests try', async () => {
    const results = await Promise.all([1, 2, 3].map(() => add()));
    expect(results.filter(({ kind }) => kind === 'written')).toHaveLength(1);
    expect(await matched()).toBe(3);
  });

  it('is given up after four tries if the record of the message refuses it', async () => {
    let tries = 0;
    const refusing: Chunks = {
      ...chunks,
      add: () => {
        tries += 1;
        return Promise.resolve('refused');
      },
    };
    await expect(add(refusing)).rejects.toThrow(ContendedError);
    expect(tries).toBe(4);
  });
});
