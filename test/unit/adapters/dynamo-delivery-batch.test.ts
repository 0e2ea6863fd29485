import { marshall } from '@aws-sdk/util-dynamodb';
import { describe, expect, it, onTestFinished } from 'vitest';
import * as z from 'zod';
import { dynamoClient } from '../../../shared/adapters/dynamodb/client.ts';
import { recordsOf } from '../../../shared/adapters/dynamodb/deliveries.ts';
import type { BatchReading } from '../../../shared/adapters/dynamodb/queries.ts';
import { deliveryItemOf } from '../../../shared/adapters/dynamodb/delivery-item.ts';
import { itemKeyOf } from '../../../shared/adapters/dynamodb/delivery-keys.ts';
import type { Delivery } from '../../../shared/domain/delivery/delivery.ts';
import { aDelivery } from '../../support/delivery-builders.ts';
import { inAnyOrder } from '../../support/in-any-order.ts';
import { awsStub } from '../../support/aws-stub.ts';

const attribute = z.object({ S: z.string() });
const request = z.object({
  RequestItems: z.object({
    table: z.object({
      Keys: z.array(z.object({ pk: attribute, sk: attribute })),
      ConsistentRead: z.literal(true),
    }),
  }),
});
type Key = z.infer<typeof request>['RequestItems']['table']['Keys'][number];

/**
 * A table with these deliveries that reads at most `atMost` keys of a request and leaves the rest unprocessed.
 */
const tableOf = async (
  deliveries: readonly Delivery[],
  atMost: (request: number) => number,
  change: (item: Record<string, unknown>) => Record<string, unknown> = (item) => item,
) => {
  const items = new Map(
    deliveries.map((delivery) => {
      const { pk, sk } = itemKeyOf(delivery.key);
      const item = change(deliveryItemOf(delivery));
      return [`${pk} ${sk}`, marshall(item, { removeUndefinedValues: true })] as const;
    }),
  );
  const stub = await awsStub(({ body }, index) => {
    const { Keys } = request.parse(JSON.parse(body)).RequestItems.table;
    const itemOf = ({ pk, sk }: Key) => items.get(`${pk.S} ${sk.S}`);
    const read = Keys.slice(0, atMost(index))
      .map(itemOf)
      .filter((item) => item !== undefined);
    const unread = Keys.slice(atMost(index));
    return {
      body: JSON.stringify({
        Responses: { table: read },
        UnprocessedKeys: unread.length === 0 ? {} : { table: { Keys: unread, ConsistentRead: true } },
      }),
    };
  });
  onTestFinished(stub.close);
  const { endpoint, region, credentials } = stub.config;
  const waits: number[] = [];
  const reading = {
    sleep: (milliseconds: number) => {
      waits.push(milliseconds);
      return Promise.resolve();
    },
    random: () => 0.5,
  };
  const read = (more: Partial<BatchReading> = {}) =>
    recordsOf(
      dynamoClient({ endpoint, region, credentials }),
      'table',
      deliveries.map(({ key }) => key),
      { ...reading, ...more },
    );
  return { read, waits, requests: stub.requests };
};

describe('a batch of records', () => {
  const deliveries = Array.from({ length: 7 }, () => aDelivery());

  it('takes one request if DynamoDB reads all of it', async () => {
    const { read, waits, requests } = await tableOf(deliveries, () => 100);
    expect(inAnyOrder((await read()).deliveries)).toEqual(inAnyOrder(deliveries));
    expect(requests).toHaveLength(1);
    expect(waits).toEqual([]);
  });

  it('takes no request for an empty list', async () => {
    const { read, requests } = await tableOf([], () => 100);
    expect(await read()).toEqual({ deliveries: [], unreadable: [] });
    expect(requests).toEqual([]);
  });

  it('requests unprocessed keys again after a jittered wait that doubles', async () => {
    const { read, waits, requests } = await tableOf(deliveries, () => 2);
    expect(inAnyOrder((await read()).deliveries)).toEqual(inAnyOrder(deliveries));
    expect(requests).toHaveLength(4);
    expect(waits).toEqual([25, 50, 100]);
  });

  it('reports unreadable records and returns the others', async () => {
    const [poison, ...others] = deliveries;
    const { read } = await tableOf(
      deliveries,
      () => 100,
      (item) => (item['sk'] === `DELIVERY#${poison?.key.subscriptionId}` ? { ...item, v: 99 } : item),
    );
    const records = await read();
    expect(inAnyOrder(records.deliveries)).toEqual(inAnyOrder(others));
    expect(records.unreadable).toMatchObject([
      { key: poison?.key, error: { name: 'UnreadableRecordError' } },
    ]);
  });

  it('fails after five requests with an error that counts the unread items', async () => {
    const { read, requests } = await tableOf(deliveries, (index) => (index === 0 ? 3 : 0));
    await expect(read()).rejects.toMatchObject({
      name: 'ItemsNotReadError',
      unread: 4,
      message: 'DynamoDB left 4 of 7 items unread.',
    });
    expect(requests).toHaveLength(5);
  });

  it('fails before a wait that there is no time for', async () => {
    const { read, waits, requests } = await tableOf(deliveries, () => 0);
    await expect(read({ deadline: { remainingMs: () => 530 } })).rejects.toMatchObject({ unread: 7 });
    expect(requests).toHaveLength(2);
    expect(waits).toEqual([25]);
  });
});
