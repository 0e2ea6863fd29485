import { LRUCache } from 'lru-cache';
import * as z from 'zod';
import { deliveryIndexes, ttlAttribute } from '../../../config/tables.ts';
import { type Creation, type Delivery, holds, type Revision } from '../../../domain/delivery/delivery.ts';
import type { OverdueDelivery } from '../../../domain/delivery/transitions.ts';
import type { Deliveries, WriteResult } from '../../../ports/deliveries.ts';
import { deliveryKeySchema, toDeliveryItem, toDelivery } from './delivery-item.ts';
import {
  overduePartition,
  shards,
  toItemKey,
  undividedPullPartition,
  waitingPartitions,
} from './delivery-keys.ts';
import { buildCondition, buildUpdate } from './delivery-write.ts';
import { conditional, expression, putIfAbsent, TOKEN, updateReturningItem, writeTokens } from '../writes.ts';
import { type Query, readItem } from '../queries.ts';
import { openTable, type Table } from '../table.ts';
import { decode, toTtl } from '../record.ts';
import type { DynamoDBDocument, QueryCommandOutput } from '@aws-sdk/lib-dynamodb';

/** The deliveries table. AWS errors pass through, except failed conditions, which are results. */
export function dynamoDeliveries(client: DynamoDBDocument, tableName: string): Deliveries {
  const table = openTable(client, tableName);
  const newToken = writeTokens();
  return {
    write: async (transition) => {
      const token = newToken();
      return 'create' in transition
        ? await createRecord(table, transition, token)
        : await updateRecord(table, transition, token);
    },
    find: async (key) => {
      const item = await readItem(table, toItemKey(key));
      return item && toDelivery(item);
    },
    overdue: (before, limit) => overdueDeliveries(table, before, limit),
    waiting: waitingDeliveries(table),
  };
}

/** For how long an undivided partition that was empty is not read again. Instances of the version before write to it during an upgrade. */
const EMPTY_FOR_MS = 60_000;

/** The deliveries of all shards that wait longest. Each could have all of them. Only a subscription by pull has an undivided part. */
function waitingDeliveries(table: Table): Deliveries['waiting'] {
  const emptied = new LRUCache<string, true>({ max: 1_000, ttl: EMPTY_FOR_MS });
  return async (place, before, limit) => {
    const read = async (partition: string): Promise<OverdueDelivery[]> => {
      const { Items = [] } = await table.query(overdueQuery(before, { partition }, limit));
      return Items.map(toOverdueDelivery);
    };
    const undivided = async (): Promise<OverdueDelivery[]> => {
      const { queue, subscriptionId } = place;
      if (subscriptionId === undefined) return [];
      const partition = undividedPullPartition({ queue, subscriptionId });
      if (emptied.has(partition)) return [];
      const found = await read(partition);
      if (found.length === 0) emptied.set(partition, true);
      return found;
    };
    const divided = waitingPartitions(place).map(read);
    const found = (await Promise.all([undivided(), ...divided])).flat();
    return found.toSorted((one, other) => one.overdueAt - other.overdueAt).slice(0, limit);
  };
}

async function createRecord(table: Table, { create }: Creation, token: string): Promise<WriteResult> {
  return await writeResult(token, async () => {
    await table.put(putIfAbsent({ ...toDeliveryItem(create), [TOKEN]: token }));
    return create;
  });
}

/**
 * Updates a record, usually by one request. An update expression has no maximum, so the condition includes that
 * `expiresAt` does not decrease. A record refused only for that is written again without `expiresAt`. Callers
 * that computed the change from the latest read never hit this path.
 */
async function updateRecord(table: Table, transition: Revision, token: string): Promise<WriteResult> {
  const write = (renewal: Renewal) =>
    writeResult(token, async () =>
      toDelivery((await table.update(updateRequest(transition, renewal, token))).Attributes),
    );
  const result = await write('renews_expiry');
  return result.kind === 'refused' && expiresLater(result.current, transition)
    ? await write('keeps_expiry')
    : result;
}

type Renewal = 'renews_expiry' | 'keeps_expiry';

function expiresLater(current: Delivery | undefined, { expect, change }: Revision): boolean {
  const { expiresAt = Infinity } = change;
  return current !== undefined && holds(expect, current) && current.expiresAt > expiresAt;
}

function updateRequest({ key, expect, change }: Revision, renewal: Renewal, token: string) {
  const expr = expression();
  const condition = buildCondition(expect, expr);
  const expiresAt = renewal === 'renews_expiry' ? change.expiresAt : undefined;
  const renewed = expiresAt === undefined ? {} : { expiresAt, [ttlAttribute]: toTtl(expiresAt) };
  const update = buildUpdate(key, change, { [TOKEN]: token, ...renewed }, expr);
  const isNoEarlier =
    expiresAt === undefined ? [] : [`${expr.name('expiresAt')} <= ${expr.value(expiresAt)}`];
  return updateReturningItem(toItemKey(key), update, [condition, ...isNoEarlier].join(' AND '), expr);
}

/** The result of a conditional write. A refusal by our own write, sent twice, counts as written. */
async function writeResult(token: string, write: () => Promise<Delivery>): Promise<WriteResult> {
  const result = await conditional(write());
  if (result.kind === 'written') return { kind: 'written', delivery: result.output };
  const { item } = result;
  const current = item && toDelivery(item);
  const isOwn = current !== undefined && item?.[TOKEN] === token;
  return isOwn ? { kind: 'written', delivery: current } : { kind: 'refused', current };
}

type LastKey = QueryCommandOutput['LastEvaluatedKey'];
type Cursor = { shard: number; from?: LastKey };

/**
 * The oldest overdue deliveries of all shards. Each shard gets an even share of the limit; unused shares go to the
 * other shards in another round. If rounding up yields too many, those due last are cut off.
 */
async function overdueDeliveries(table: Table, before: number, limit: number): Promise<OverdueDelivery[]> {
  const found: OverdueDelivery[] = [];
  let cursors: Cursor[] = Array.from({ length: shards.overdue }, (_, shard) => ({ shard }));
  while (cursors.length > 0 && found.length < limit) {
    const share = Math.ceil((limit - found.length) / cursors.length);
    const pages = await Promise.all(
      cursors.map(async (cursor) => {
        const page = await table.query(
          overdueQuery(before, { partition: overduePartition(cursor.shard), from: cursor.from }, share),
        );
        return { shard: cursor.shard, from: page.LastEvaluatedKey, items: page.Items };
      }),
    );
    found.push(...pages.flatMap(({ items }) => items).map(toOverdueDelivery));
    cursors = pages.filter(({ from }) => from !== undefined);
  }
  return found.sort((one, other) => one.overdueAt - other.overdueAt).slice(0, limit);
}

export function overdueQuery(
  before: number,
  { partition, from }: { partition: string; from?: LastKey },
  limit: number,
): Query {
  return {
    IndexName: deliveryIndexes.overdue.name,
    KeyConditionExpression: `${deliveryIndexes.overdue.partition} = :partition AND ${deliveryIndexes.overdue.sort} <= :before`,
    ExpressionAttributeValues: { ':partition': partition, ':before': before },
    Limit: limit,
    ExclusiveStartKey: from,
  };
}

/** The index projects keys only. */
const overdueSchema = z.object({ overdueAt: z.number() });

export function toOverdueDelivery(item: unknown): OverdueDelivery {
  return {
    key: decode(deliveryKeySchema, item),
    overdueAt: decode(overdueSchema, item).overdueAt,
  };
}
