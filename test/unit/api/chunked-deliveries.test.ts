import { beforeEach, describe, expect, it, vi } from 'vitest';
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
import { aChunkKey, aFirstSuccess, HOLDER, RETENTION_MS } from '../../support/chunk-builders.ts';
import { aDelivery, SOME_TIME } from '../../support/delivery-builders.ts';
import { inMemoryDeliveries } from '../../support/in-memory/in-memory-deliveries.ts';
import { chunkedDeliveries } from '../../../functions/api/deliveries/chunked-deliveries.ts';
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

/** What happens before the next member is taken out. */
const beforeTakeOut = (happens: () => Promise<unknown>): void => {
  const takeOutNow = chunks.takeOut.bind(chunks);
  vi.spyOn(chunks, 'takeOut').mockImplementationOnce(async (...given) => {
    await happens();
    return takeOutNow(...given);
  });
};

const succeed = (id: string) => {
  const successes = new Map([[id, aFirstSuccess()]]);
  return chunks.write(recordSuccesses(place, HOLDER.owner, { successes, separate: [], ends: false }, at));
};

it('finds no delivery before its chunk is claimed', async () => {
  expect(await deliveries().find(keyOf('a'))).toBeUndefined();
});

describe('a delivery in a chunk or in a separate record', () => {
  beforeEach(async () => {
    await chunks.write(claim);
  });

  it('is found as its chunk describes it', async () => {
    const pending = { key: keyOf('a'), status: 'pending', lease: HOLDER, attempts: [] };
    expect(await found('a')).toMatchObject(pending);
    await succeed('a');
    const attempts = [{ ...aFirstSuccess(), number: 1, outcome: 'delivered' }];
    expect(await found('a')).toMatchObject({ status: 'delivered', attempts });
    expect(await found('b')).toMatchObject({ status: 'pending' });
    expect(await deliveries().find(keyOf('c'))).toBeUndefined();
  });

  it('is read from its separate record if it has one', async () => {
    const create = aDelivery({ ...(await found('a')), status: 'retrying' });
    await records.write({ name: 'record', key: create.key, expect: { kind: 'absent' }, create });
    expect((await currentChunk()).members?.get('a')).toBe('pending');
    expect(await found('a')).toMatchObject({ status: 'retrying' });
  });

  it('is found if it leaves its chunk between two reads', async () => {
    const find = chunks.find.bind(chunks);
    vi.spyOn(chunks, 'find').mockImplementationOnce(async (...given) => {
      await takeOut('a');
      return find(...given);
    });
    expect(await found('a')).toMatchObject({ status: 'pending', lease: HOLDER });
  });

  it('is read only from its separate record if its key has no chunk', async () => {
    const read = vi.spyOn(chunks, 'find');
    expect(await deliveries().find({ queue, messageId, subscriptionId: 'a', bucket })).toBeUndefined();
    expect(read).not.toHaveBeenCalled();
  });
});

describe('a change of a delivery in a chunk', () => {
  let seen: OpenDelivery;

  beforeEach(async () => {
    await chunks.write(claim);
    const delivery = await found('a');
    if (!isOpen(delivery)) throw new Error(`The delivery is ${delivery.status}`);
    seen = delivery;
  });

  const cancel = (delivery = seen) => deliveries().write(cancelOpen(delivery, 'manual', at));

  it('moves it to a separate record, and marks that in the chunk', async () => {
    const delivery = { status: 'cancelled', reason: 'manual' };
    expect(await cancel()).toMatchObject({ kind: 'written', delivery });
    const members = [...((await currentChunk()).members ?? [])];
    expect(members).toEqual([
      ['a', 'separate'],
      ['b', 'pending'],
    ]);
  });

  it('is refused if the delivery has changed since it was read', async () => {
    await succeed('a');
    expect(await cancel()).toMatchObject({ kind: 'refused', current: { status: 'delivered' } });
  });

  it('is made once if several requests try', async () => {
    const results = await Promise.all([1, 2, 3].map(() => cancel()));
    expect(results.filter(({ kind }) => kind === 'written')).toHaveLength(1);
  });

  it('is made if a concurrent request moves the delivery first', async () => {
    beforeTakeOut(() => takeOut('a'));
    expect((await cancel()).kind).toBe('written');
  });

  it('is refused if the delivery is not on record', async () => {
    expect(await cancel({ ...seen, key: keyOf('z') })).toEqual({ kind: 'refused', current: undefined });
  });

  it('throws after four tries if the delivery cannot be moved', async () => {
    const refusing = vi.spyOn(chunks, 'takeOut').mockResolvedValue('refused');
    await expect(cancel()).rejects.toThrow(ContendedError);
    expect(refusing).toHaveBeenCalledTimes(4);
  });
});

describe('a record for a delivery that has not begun', () => {
  const create = cancelBeforeFirstAttempt({ key: keyOf('a'), acceptedAt: SOME_TIME }, 'manual', at);

  it('is marked in its chunk, so that the claim skips it', async () => {
    const delivery = { status: 'cancelled' };
    expect(await deliveries().write(create)).toMatchObject({ kind: 'written', delivery });
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
    beforeTakeOut(() => chunks.write(claim));
    const current = { status: 'pending', lease: HOLDER };
    expect(await deliveries().write(create)).toMatchObject({ kind: 'refused', current });
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

  const add = () => deliveries().add(delivery);
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
    const addNow = chunks.add.bind(chunks);
    vi.spyOn(chunks, 'add').mockImplementationOnce(async (...given) => {
      await chunks.write(claimOf('z'));
      return addNow(...given);
    });
    expect(await add()).toMatchObject({ kind: 'refused', current: { lease: HOLDER } });
    expect(await matched()).toBe(2);
  });

  it('is done once if several requests try', async () => {
    const results = await Promise.all([1, 2, 3].map(() => add()));
    expect(results.filter(({ kind }) => kind === 'written')).toHaveLength(1);
    expect(await matched()).toBe(3);
  });

  it('is given up after four tries if the record of the message refuses it', async () => {
    const refusing = vi.spyOn(chunks, 'add').mockResolvedValue('refused');
    await expect(add()).rejects.toThrow(ContendedError);
    expect(refusing).toHaveBeenCalledTimes(4);
  });
});
