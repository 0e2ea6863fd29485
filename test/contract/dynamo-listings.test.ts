import { BatchWriteCommand } from '@aws-sdk/lib-dynamodb';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { deliveryItemOf } from '../../shared/adapters/dynamodb/delivery-item.ts';
import { dynamoDeliveries } from '../../shared/adapters/dynamodb/deliveries.ts';
import { dynamoDeliveryListings } from '../../shared/adapters/dynamodb/delivery-listings.ts';
import { dynamoMessageListings } from '../../shared/adapters/dynamodb/message-listings.ts';
import { dynamoMessageRecords } from '../../shared/adapters/dynamodb/message-records.ts';
import { inParallel } from '../../shared/adapters/in-parallel.ts';
import type { Delivery } from '../../shared/domain/delivery/delivery.ts';
import { aDelivery, aDeliveryKey, SOME_TIME } from '../support/delivery-builders.ts';
import { deployment } from '../support/deployment.ts';
import { countingClient } from '../support/dynamo-clients.ts';
import { privateTables } from '../support/private-tables.ts';
import { describeDeliveryListingsContract } from './delivery-listings.contract.ts';
import { describeMessageDeliveriesContract } from './message-deliveries.contract.ts';
import { describeMessageListingsContract } from './message-listings.contract.ts';

const { documents, dynamo, endpoints } = deployment;
const tables = privateTables(dynamo);
const reading = { sleep: () => Promise.resolve(), random: Math.random };
const table = await tables.like(endpoints.deliveriesTable);
afterAll(tables.deleteAll);

const makeDeliveries = () => ({
  deliveries: dynamoDeliveries(documents, table),
  listings: dynamoDeliveryListings(documents, table, reading),
});

describeDeliveryListingsContract('in DynamoDB', makeDeliveries);
describeMessageDeliveriesContract('in DynamoDB', makeDeliveries);
describeMessageListingsContract('in DynamoDB', () => ({
  records: dynamoMessageRecords(documents, table),
  listings: dynamoMessageListings(documents, table),
}));

const writeAll = async (all: readonly Delivery[]): Promise<void> => {
  const batches = Array.from({ length: Math.ceil(all.length / 25) }, (_, index) =>
    all.slice(25 * index, 25 * index + 25),
  );
  await inParallel(batches, 8, async (batch) => {
    const requests = batch.map((delivery) => ({ PutRequest: { Item: deliveryItemOf(delivery) } }));
    await dynamo.send(new BatchWriteCommand({ RequestItems: { [table]: requests } }));
  });
};

describe('a queue with 4,000 failed deliveries', () => {
  const queue = 'stricken';
  const SHARDS = 8;
  const all = Array.from({ length: 4_000 }, (_, index) =>
    aDelivery({
      key: aDeliveryKey({ queue, subscriptionId: `s-${index % 50}` }),
      acceptedAt: SOME_TIME + index,
      status: 'retrying',
    }),
  );
  const newest = all.toReversed();

  beforeAll(() => writeAll(all));

  it('is listed 100 at a time by one or two queries per shard, and one request for the records', async () => {
    const { client, requests } = countingClient(endpoints);
    const listings = dynamoDeliveryListings(client, table, reading);
    const { items, marker } = await listings.newest({ queue }, { limit: 100 });
    expect(items.map(({ key }) => key)).toEqual(newest.slice(0, 100).map(({ key }) => key));
    expect(marker).toBeDefined();
    expect(requests()).toBeLessThanOrEqual(2 * SHARDS);
    const before = requests();
    const { deliveries } = await listings.records(items.map(({ key }) => key));
    expect(new Set(deliveries)).toEqual(new Set(newest.slice(0, 100)));
    expect(requests() - before).toBe(1);
  });

  it('is listed for a window in the middle without reading the deliveries before it', async () => {
    const { client, requests } = countingClient(endpoints);
    const window = { queue, since: SOME_TIME + 3_000, until: SOME_TIME + 3_090 };
    const { items, marker } = await dynamoDeliveryListings(client, table, reading).oldest(window, {
      limit: 100,
    });
    expect(items.map(({ acceptedAt }) => acceptedAt)).toEqual(
      Array.from({ length: 90 }, (_, index) => SOME_TIME + 3_000 + index),
    );
    expect(marker).toBeUndefined();
    expect(requests()).toBeLessThanOrEqual(2 * SHARDS);
  });
});
