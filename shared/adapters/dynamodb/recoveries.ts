import * as z from 'zod';
import { ttlAttribute } from '../../config/tables.ts';
import type { DeliveryKey } from '../../domain/delivery/delivery.ts';
import { type Recovery, recoverySchema, recoverySelectionSchema } from '../../domain/recovery/recovery.ts';
import type { Recoveries, RecoveryPage } from '../../ports/deliveries.ts';
import type { DynamoDBDocument } from '@aws-sdk/lib-dynamodb';
import { tableOf } from './table.ts';
import { conditional, putIfAbsent } from './writes.ts';
import { lastOf, pageOf } from './pages.ts';
import { queryItems, queryOfPrefix, readItem } from './queries.ts';
import { decode, decodeRecord, type ItemKey, RECORD_VERSION, ttlOf } from './record.ts';
import { randomBytes } from 'node:crypto';

/**
 * Attribute with the token of the last write: distinguishes our own write, repeated because its response was
 * lost, from a concurrent one (see deliveries.ts).
 */
const TOKEN = 'w';

/** The recoveries of a queue, in the deliveries table. */
export function dynamoRecoveries(client: DynamoDBDocument, tableName: string): Recoveries {
  const table = tableOf(client, tableName);
  return {
    create: async (recovery) => {
      const { put, token } = putOf(recovery);
      const refusal = await refusalOf(table.put(putIfAbsent(put.Item)), token);
      if (refusal !== undefined) throw refusal.error;
    },
    find: async (queue, id) => {
      const item = await readItem(table, recoveryKeyOf(queue, id));
      return item && recoveryOf(item);
    },
    list: async (queue, page) => {
      const listing = `${queue}#recoveries`;
      const last = lastOf(listing, page);
      const ExclusiveStartKey = last === undefined ? undefined : recoveryKeyOf(queue, last);
      const query = { ...queryOfPrefix(jobsPartitionOf(queue), RECOVERY), ScanIndexForward: false };
      const items = await queryItems(table, { ...query, ExclusiveStartKey }, page.limit + 1);
      return pageOf(listing, items.map(recoveryOf), page.limit, ({ id }) => id);
    },
    save: async (recovery) => {
      const { put, token } = putOf(recovery);
      const unchanged = {
        ...put,
        ConditionExpression: '#version = :before',
        ExpressionAttributeNames: { '#version': 'version' },
        ExpressionAttributeValues: { ':before': recovery.version - 1 },
      };
      const refusal = await refusalOf(table.put(unchanged), token);
      if (refusal === undefined) return { kind: 'saved' };
      return { kind: 'refused', current: refusal.item && recoveryOf(refusal.item) };
    },
    keepPage: async (recovery) => {
      await conditional(table.put(putIfAbsent(pageItemOf(recovery))));
    },
    keptPages: async (queue, id, page) => {
      const listing = `${queue}#recovery#${id}`;
      const last = lastOf(listing, page);
      const ExclusiveStartKey = last === undefined ? undefined : pageKeyOf(queue, id, Number(last));
      const query = { ...queryOfPrefix(jobsPartitionOf(queue), pagePrefixOf(id)), ConsistentRead: true };
      const items = await queryItems(table, { ...query, ExclusiveStartKey }, page.limit + 1);
      const pages = items.map((item) => recoveryPageOf(queue, item));
      return pageOf(listing, pages, page.limit, ({ number }) => String(number));
    },
  };
}

function putOf(recovery: Recovery) {
  const token = randomBytes(9).toString('base64url');
  const put = {
    Item: { ...recoveryItemOf(recovery), [TOKEN]: token },
    ReturnValuesOnConditionCheckFailure: 'ALL_OLD' as const,
  };
  return { put, token };
}

/** Undefined: it was written, now or by the request that this one repeats. */
async function refusalOf(write: Promise<unknown>, token: string) {
  const result = await conditional(write);
  return result.kind === 'written' || result.item?.[TOKEN] === token ? undefined : result;
}

/** No other key of the table starts like this: those of messages contain two `#`. */
const JOB = 'JOB#';
const RECOVERY = 'RECOVERY#';

function jobsPartitionOf(queue: string): string {
  return `${JOB}${queue}`;
}

function recoveryKeyOf(queue: string, id: string): ItemKey {
  return { pk: jobsPartitionOf(queue), sk: `${RECOVERY}${id}` };
}

/** Not the prefix of a recovery, so that listings of recoveries do not contain the pages. */
function pagePrefixOf(id: string): string {
  return `PAGE#${id}#`;
}

function pageKeyOf(queue: string, id: string, number: number): ItemKey {
  return { pk: jobsPartitionOf(queue), sk: pagePrefixOf(id) + String(number).padStart(8, '0') };
}

/** Without the queue, which is that of the recovery. Absent if there is none. */
const deliveryKeys = z.array(recoverySchema.shape.batch.unwrap().element.omit({ queue: true })).default([]);

/** Beside the selection, whose fields are attributes of the item too. */
const recoveryItemSchema = recoverySchema
  .omit({ selection: true })
  .extend({ batch: deliveryKeys, deferred: deliveryKeys });

/** @throws UnreadableRecordError */
function recoveryOf(item: unknown): Recovery {
  const { batch, deferred, ...rest } = decodeRecord(recoveryItemSchema, item);
  const selection = decode(recoverySelectionSchema, item);
  const ofQueue = (key: Omit<DeliveryKey, 'queue'>): DeliveryKey => ({ queue: selection.queue, ...key });
  return { selection, batch: batch.map(ofQueue), deferred: deferred.map(ofQueue), ...rest };
}

function recoveryItemOf({ selection, batch, deferred, ...rest }: Recovery): Record<string, unknown> {
  return {
    ...recoveryKeyOf(selection.queue, rest.id),
    v: RECORD_VERSION,
    ...selection,
    ...rest,
    ...(batch.length > 0 && { batch: batch.map(withoutQueue) }),
    ...(deferred.length > 0 && { deferred: deferred.map(withoutQueue) }),
    [ttlAttribute]: ttlOf(rest.expiresAt),
  };
}

const pageSchema = z.object({ number: z.number(), keys: deliveryKeys });

/** @throws UnreadableRecordError */
function recoveryPageOf(queue: string, item: unknown): RecoveryPage {
  const { number, keys } = decodeRecord(pageSchema, item);
  return { number, keys: keys.map((key) => ({ queue, ...key })) };
}

function pageItemOf({ selection, id, pages, batch, expiresAt }: Recovery & { pages: number }) {
  return {
    ...pageKeyOf(selection.queue, id, pages),
    v: RECORD_VERSION,
    number: pages,
    keys: batch.map(withoutQueue),
    [ttlAttribute]: ttlOf(expiresAt),
  };
}

function withoutQueue({ messageId, subscriptionId, bucket }: DeliveryKey) {
  return { messageId, subscriptionId, bucket };
}
