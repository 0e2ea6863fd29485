import { DeleteCommand, GetCommand, QueryCommand } from '@aws-sdk/lib-dynamodb';
import { afterAll, describe, expect, it } from 'vitest';
import { dynamoMessageRecords } from '../../shared/adapters/dynamodb/message-records.ts';
import { deliveryIndexes, ttlAttribute } from '../../shared/config/tables.ts';
import { deployment } from '../support/deployment.ts';
import { countingClient, interruptedClient } from '../support/dynamo-clients.ts';
import { privateTables } from '../support/private-tables.ts';
import { describeMessageLivesContract } from './message-lives.contract.ts';
import { describeMessagePartsContract } from './message-parts.contract.ts';
import { describeMessageRecordsContract } from './message-records.contract.ts';

const { documents, dynamo, endpoints } = deployment;
const tables = privateTables(dynamo);
const table = await tables.like(endpoints.deliveriesTable);
afterAll(tables.deleteAll);

describeMessageRecordsContract('in DynamoDB', () => dynamoMessageRecords(documents, table));
describeMessagePartsContract('in DynamoDB', () => dynamoMessageRecords(documents, table));
describeMessageLivesContract('in DynamoDB', () => dynamoMessageRecords(documents, table));

describe('the record of a message in the deliveries table', () => {
  const record = {
    key: { queue: 'orders', messageId: 'm-1' },
    acceptedAt: Date.UTC(2027, 0, 15, 23, 59, 59, 999),
    listedAt: 0,
    matched: 1,
    filtered: 0,
    duplicates: 0,
    buckets: 1,
    expiresAt: Date.UTC(2027, 2, 1),
  };

  it('is found by queue and hour', async () => {
    await dynamoMessageRecords(documents, table).accept(record);
    const { byHour } = deliveryIndexes;
    const pages = await Promise.all(
      [0, 1, 2, 3, 4, 5, 6, 7].map((shard) =>
        dynamo.send(
          new QueryCommand({
            TableName: table,
            IndexName: byHour.name,
            KeyConditionExpression: `${byHour.partition} = :hour`,
            ExpressionAttributeValues: { ':hour': `orders#2027-01-15T23#${shard}` },
          }),
        ),
      ),
    );
    const found = pages.flatMap(({ Items = [] }) => Items);
    expect(found).toMatchObject([
      { pk: 'orders#m-1#0', sk: 'MESSAGE', byHourSk: `${record.acceptedAt}#m-1` },
    ]);
  });

  it('is not written again when a second delivery stores the body on the same day', async () => {
    const { client, requests } = countingClient(endpoints);
    const records = dynamoMessageRecords(client, table);
    const key = { ...record.key, messageId: 'm-2' };
    await records.accept({ ...record, key });
    const before = requests();
    for (const milliseconds of [1, 2, 3]) {
      await records.keepBody(
        { ...record, key },
        { kind: 'stored', payloadKey: 'p' },
        record.expiresAt + milliseconds,
      );
    }
    // One read and one write, then two reads.
    expect(requests() - before).toBe(4);
  });

  it('keeps the later expiry of two concurrent writes of its body', async () => {
    const key = { ...record.key, messageId: 'm-3' };
    const records = dynamoMessageRecords(documents, table);
    await records.accept({ ...record, key });
    const later = record.expiresAt + 10 * 24 * 60 * 60 * 1000;
    const overtaken = interruptedClient(endpoints, async (call) => {
      if (call === 'UpdateItemCommand')
        await records.keepBody({ ...record, key }, { kind: 'stored', payloadKey: 'later' }, later);
    });
    await dynamoMessageRecords(overtaken, table).keepBody(
      { ...record, key },
      { kind: 'stored', payloadKey: 'p' },
      record.expiresAt,
    );
    const found = await records.find(key);
    expect(found).toMatchObject({ body: { payloadKey: 'later' }, expiresAt: later });
  });

  it('is created again if it expires just before a duplicate is counted', async () => {
    const known = { ...record, key: { ...record.key, messageId: 'm-4' } };
    await dynamoMessageRecords(documents, table).accept(known);
    const expiring = interruptedClient(endpoints, async (call) => {
      if (call !== 'UpdateItemCommand') return;
      await dynamo.send(new DeleteCommand({ TableName: table, Key: { pk: 'orders#m-4#0', sk: 'MESSAGE' } }));
    });
    const again = { ...known, matched: 7 };
    expect(await dynamoMessageRecords(expiring, table).accept(again)).toEqual({
      kind: 'accepted',
      record: again,
    });
  });

  it('is deleted by TTL when it expires', async () => {
    const key = { ...record.key, messageId: 'm-5' };
    const records = dynamoMessageRecords(documents, table);
    await records.accept({ ...record, key });
    const timeToLive = async () => {
      const { Item } = await dynamo.send(
        new GetCommand({ TableName: table, Key: { pk: 'orders#m-5#0', sk: 'MESSAGE' } }),
      );
      return Item?.[ttlAttribute] === undefined ? undefined : Number(Item[ttlAttribute]) * 1000;
    };
    expect(await timeToLive()).toBe(record.expiresAt);
    await records.keepBody({ ...record, key }, { kind: 'stored', payloadKey: 'p' }, record.expiresAt + 1);
    expect(await timeToLive()).toBe((await records.find(key))?.expiresAt);
  });
});
