import { beforeEach, describe, expect, it } from 'vitest';
import { chunkedDeliveries } from '../../../functions/api/deliveries/chunked-deliveries.ts';
import { ContendedError } from '../../../shared/domain/contention.ts';
import { claimChunk } from '../../../shared/domain/delivery/chunk-changes.ts';
import { deliveryIn } from '../../../shared/domain/delivery/chunk-members.ts';
import { deliveryByHand } from '../../../shared/domain/delivery/interventions.ts';
import type { Chunks } from '../../../shared/ports/deliveries.ts';
import { aChunkKey, HOLDER, RETENTION_MS } from '../../support/chunk-builders.ts';
import { SOME_TIME } from '../../support/delivery-builders.ts';
import { inMemoryChunks, inMemoryDeliveries } from '../../support/in-memory/in-memory-deliveries.ts';
import { inMemoryMessageRecords } from '../../support/in-memory/in-memory-messages.ts';

const at = { now: SOME_TIME, retentionMs: RETENTION_MS };
const place = aChunkKey();
const message = { queue: place.queue, messageId: place.messageId };
const delivery = deliveryByHand({ key: { ...place, subscriptionId: 'z' }, acceptedAt: SOME_TIME }, at);

const claimOf = (...members: readonly string[]) =>
  claimChunk(place, { acceptedAt: SOME_TIME, members, lease: HOLDER }, at);

let records: ReturnType<typeof inMemoryDeliveries>;
let messages: ReturnType<typeof inMemoryMessageRecords>;
let chunks: Chunks;

beforeEach(async () => {
  records = inMemoryDeliveries();
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

const add = (port = chunks) => chunkedDeliveries({ deliveries: records, chunks: port }).add(delivery);
const matched = async () => (await messages.find(message))?.matched;

describe('adding a delivery that did not match', () => {
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
