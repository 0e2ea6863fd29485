import type { DynamoDBDocument } from '@aws-sdk/lib-dynamodb';
import * as z from 'zod';
import { primaryKey, ttlAttribute } from '../../config/tables.ts';
import { DAY_MS } from '../../domain/duration.ts';
import { toRecord } from '../../domain/delivery/vocabulary.ts';
import {
  type CountingWindow,
  RECEIVER_COUNTS,
  type ReceiverCounts,
} from '../../domain/subscription/back-pressure.ts';
import type { SubscriptionKey } from '../../domain/subscription/subscription.ts';
import type { CountingWindows } from '../../ports/pace.ts';
import { countsItemKey } from './deliveries/delivery-keys.ts';
import { decode, RECORD_VERSION, toTtl } from './record.ts';
import { openTable } from './table.ts';
import { expression, ifConditionHolds } from './writes.ts';

const windowSchema = z.object(
  toRecord<keyof CountingWindow, z.ZodNumber>([...RECEIVER_COUNTS, 'version', 'writes'], () => z.number()),
);

/** One item of the deliveries table for each watched subscription. Its window belongs to one version of the pressure. */
export function dynamoCountingWindows(client: DynamoDBDocument, tableName: string): CountingWindows {
  const table = openTable(client, tableName);
  /** Returns whether the stored window has the version. */
  const addTo = async (key: SubscriptionKey, version: number, counts: ReceiverCounts): Promise<boolean> => {
    const expr = expression();
    const written = await ifConditionHolds(
      table.update({
        Key: countsItemKey(key),
        UpdateExpression: expr.add({ ...counts, writes: 1 }),
        ConditionExpression: `${expr.name('version')} = ${expr.value(version)}`,
        ...expr.attributes(),
      }),
    );
    return written !== undefined;
  };
  /** Returns whether no window of this version or a later one existed. */
  const begin = async (key: SubscriptionKey, version: number, counts: ReceiverCounts): Promise<boolean> => {
    const expr = expression();
    const [pk, stored] = [expr.name(primaryKey.partition), expr.name('version')];
    const written = await ifConditionHolds(
      table.put({
        Item: {
          ...countsItemKey(key),
          v: RECORD_VERSION,
          version,
          writes: 1,
          ...counts,
          [ttlAttribute]: toTtl(version + DAY_MS),
        },
        ConditionExpression: `attribute_not_exists(${pk}) OR ${stored} < ${expr.value(version)}`,
        ...expr.attributes(),
      }),
    );
    return written !== undefined;
  };
  return {
    find: async (key) => {
      const { Item } = await table.get({ Key: countsItemKey(key) });
      return Item && decode(windowSchema, Item);
    },
    add: async (key, version, counts) => {
      if (await addTo(key, version, counts)) return;
      // Refused: a later version is stored, or another instance began this one at the same time.
      if (!(await begin(key, version, counts))) await addTo(key, version, counts);
    },
  };
}
