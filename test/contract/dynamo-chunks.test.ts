import { GetCommand } from '@aws-sdk/lib-dynamodb';
import { afterAll, describe, expect, it } from 'vitest';
import { chunkItemKeyOf, itemKeyOf } from '../../shared/adapters/dynamodb/delivery-keys.ts';
import { dynamoDeliveries } from '../../shared/adapters/dynamodb/deliveries.ts';
import { dynamoMessageRecords } from '../../shared/adapters/dynamodb/message-records.ts';
import { dynamoChunks, dynamoSeparateRecords } from '../../shared/adapters/dynamodb/chunks.ts';
import { dynamoDeliveryListings } from '../../shared/adapters/dynamodb/delivery-listings.ts';
import { ttlAttribute } from '../../shared/config/tables.ts';
import {
  dissolveChunk,
  claimChunk,
  recordSuccesses,
  removeMember,
  type ChunkTransition,
} from '../../shared/domain/delivery/chunk.ts';
import type { ChunkKey } from '../../shared/domain/delivery/delivery.ts';
import { aChunkKey, aFirstSuccess, HOLDER, RETENTION_MS } from '../support/chunk-builders.ts';
import { aDelivery, aDeliveryKey, SOME_TIME } from '../support/delivery-builders.ts';
import { deployment } from '../support/deployment.ts';
import { countingClient, clientLosingAResponse } from '../support/dynamo-clients.ts';
import { privateTables } from '../support/private-tables.ts';
import { describeAddedDeliveriesContract } from './added-deliveries.contract.ts';
import { describeChunkListingsContract } from './chunk-listings.contract.ts';
import { describeChunksContract } from './chunks.contract.ts';

const { documents, dynamo, endpoints } = deployment;
const tables = privateTables(dynamo);
const pacing = { sleep: () => Promise.resolve() };
const table = await tables.like(endpoints.deliveriesTable);
afterAll(tables.deleteAll);

const make = (client = documents) => ({
  chunks: { ...dynamoChunks(client, table), ...dynamoSeparateRecords(client, table, pacing) },
  deliveries: dynamoDeliveries(client, table),
  messageRecords: dynamoMessageRecords(client, table),
  listings: dynamoDeliveryListings(client, table, { ...pacing, random: Math.random }),
});

describeChunksContract('in DynamoDB', make);
describeAddedDeliveriesContract('in DynamoDB', make);
describeChunkListingsContract('in DynamoDB', make);

const at = { now: SOME_TIME, retentionMs: RETENTION_MS };

const claimOf = (key: ChunkKey): ChunkTransition =>
  claimChunk(key, { acceptedAt: SOME_TIME, members: ['a', 'b'], lease: HOLDER }, at);

const recordOf = (key: ChunkKey, id: string): ChunkTransition =>
  recordSuccesses(
    key,
    HOLDER.owner,
    { successes: new Map([[id, aFirstSuccess()]]), separate: [], ends: false },
    { ...at, now: SOME_TIME + 90_000 },
  );

const noSuchTable = { name: 'ResourceNotFoundException' };

describe('chunks in the deliveries table', () => {
  it('take one request for a write, whether it succeeds or is refused', async () => {
    const { client, requests } = countingClient(endpoints);
    const { chunks } = make(client);
    const key = aChunkKey();
    await chunks.write(claimOf(key));
    await chunks.write(claimOf(key));
    await chunks.write(recordOf(key, 'a'));
    await chunks.write(dissolveChunk(key, { ...HOLDER, until: 0 }, at));
    expect(requests()).toBe(4);
  });

  it('renew their TTL, and are in no index', async () => {
    const { chunks } = make();
    const key = aChunkKey();
    await chunks.write(claimOf(key));
    await chunks.write(recordOf(key, 'a'));
    const { Item = {} } = await dynamo.send(new GetCommand({ TableName: table, Key: chunkItemKeyOf(key) }));
    expect(Item[ttlAttribute]).toBe((SOME_TIME + 90_000 + RETENTION_MS) / 1000);
    expect(Object.keys(Item).toSorted()).toEqual(
      ['acceptedAt', 'expiresAt', 'lease', 'members', 'pk', 'sk', 'updatedAt', 'v', ttlAttribute].toSorted(),
    );
  });

  it('add no attributes to the record of a delivery that leaves its chunk', async () => {
    const { chunks } = make();
    const key = aChunkKey();
    await chunks.write(claimOf(key));
    const delivery = aDelivery({ key: aDeliveryKey({ ...key, subscriptionId: 'a' }) });
    await chunks.takeOut(removeMember(key, 'a', 'pending', delivery), delivery);
    const { Item = {} } = await dynamo.send(
      new GetCommand({ TableName: table, Key: itemKeyOf(delivery.key) }),
    );
    expect(Item).toMatchObject({ status: 'pending', v: 1 });
    expect(Item).not.toHaveProperty('chunk');
  });

  it('return their state after a write that was repeated because its response was lost', async () => {
    const key = aChunkKey();
    expect(await make(await clientLosingAResponse(endpoints)).chunks.write(claimOf(key))).toMatchObject({
      kind: 'refused',
      current: { lease: HOLDER },
    });
    expect(await make(await clientLosingAResponse(endpoints)).chunks.write(recordOf(key, 'a'))).toMatchObject(
      {
        kind: 'refused',
        current: {
          members: new Map<string, unknown>([
            ['a', aFirstSuccess()],
            ['b', 'pending'],
          ]),
        },
      },
    );
  });

  it('pass on the errors of DynamoDB', async () => {
    const lost = dynamoChunks(documents, 'no-such-table');
    await expect(lost.write(claimOf(aChunkKey()))).rejects.toMatchObject(noSuchTable);
    await expect(lost.find(aChunkKey())).rejects.toMatchObject(noSuchTable);
  });
});
