import * as z from 'zod';
import { ttlAttribute } from '../../../config/tables.ts';
import type { DeliveryKey } from '../../../domain/delivery/delivery.ts';
import { type Recovery, recoverySchema, recoverySelectionSchema } from '../../../domain/recovery/recovery.ts';
import type { Recoveries, RecoveryPage } from '../../../ports/deliveries.ts';
import type { DynamoDBDocument } from '@aws-sdk/lib-dynamodb';
import { openTable, type Table } from '../table.ts';
import { conditional, putIfAbsent, TOKEN, writeTokens } from '../writes.ts';
import { listItems, queryOfPrefix, readItem } from '../queries.ts';
import { decode, decodeRecord, type ItemKey, RECORD_VERSION, toTtl } from '../record.ts';

type PutRequest = Parameters<Table['put']>[0];

/** The recoveries of a queue, in the deliveries table. */
export function dynamoRecoveries(client: DynamoDBDocument, tableName: string): Recoveries {
  const table = openTable(client, tableName);
  const newToken = writeTokens();
  /** Undefined: it was written, now or by the request that this one repeats. */
  const put = async (recovery: Recovery, build: (item: Record<string, unknown>) => PutRequest) => {
    const token = newToken();
    const result = await conditional(table.put(build({ ...toRecoveryItem(recovery), [TOKEN]: token })));
    return result.kind === 'written' || result.item?.[TOKEN] === token ? undefined : result;
  };
  return {
    create: async (recovery) => {
      const refusal = await put(recovery, putIfAbsent);
      if (refusal !== undefined) throw refusal.error;
    },
    find: async (queue, id) => {
      const item = await readItem(table, toRecoveryItemKey(queue, id));
      return item && toRecovery(item);
    },
    list: (queue, page) =>
      listItems(table, `${queue}#recoveries`, page, {
        query: { ...queryOfPrefix(toJobsPartition(queue), RECOVERY), ScanIndexForward: false },
        keyOf: (id) => toRecoveryItemKey(queue, id),
        parse: toRecovery,
        nameOf: ({ id }) => id,
      }),
    save: async (recovery) => {
      const refusal = await put(recovery, (Item) => ({
        Item,
        ConditionExpression: '#version = :before',
        ExpressionAttributeNames: { '#version': 'version' },
        ExpressionAttributeValues: { ':before': recovery.version - 1 },
        ReturnValuesOnConditionCheckFailure: 'ALL_OLD',
      }));
      if (refusal === undefined) return { kind: 'saved' };
      return { kind: 'refused', current: refusal.item && toRecovery(refusal.item) };
    },
    keepPage: async (recovery) => {
      await conditional(table.put(putIfAbsent(toPageItem(recovery))));
    },
    keptPages: (queue, id, page) =>
      listItems(table, `${queue}#recovery#${id}`, page, {
        query: { ...queryOfPrefix(toJobsPartition(queue), toPagePrefix(id)), ConsistentRead: true },
        keyOf: (number) => toPageItemKey(queue, id, Number(number)),
        parse: (item) => toRecoveryPage(queue, item),
        nameOf: ({ number }) => String(number),
      }),
  };
}

/** No other key of the table starts like this: those of messages contain two `#`. */
const JOB = 'JOB#';
const RECOVERY = 'RECOVERY#';

function toJobsPartition(queue: string): string {
  return `${JOB}${queue}`;
}

function toRecoveryItemKey(queue: string, id: string): ItemKey {
  return { pk: toJobsPartition(queue), sk: `${RECOVERY}${id}` };
}

/** Not the prefix of a recovery, so that listings of recoveries do not contain the pages. */
function toPagePrefix(id: string): string {
  return `PAGE#${id}#`;
}

function toPageItemKey(queue: string, id: string, number: number): ItemKey {
  return { pk: toJobsPartition(queue), sk: toPagePrefix(id) + String(number).padStart(8, '0') };
}

/** Without the queue, which is that of the recovery. Absent if there is none. */
const deliveryKeys = z.array(recoverySchema.shape.batch.unwrap().element.omit({ queue: true })).default([]);

/** Beside the selection, whose fields are attributes of the item too. */
const recoveryItemSchema = recoverySchema
  .omit({ selection: true })
  .extend({ batch: deliveryKeys, deferred: deliveryKeys });

/** @throws UnreadableRecordError */
function toRecovery(item: unknown): Recovery {
  const { batch, deferred, ...rest } = decodeRecord(recoveryItemSchema, item);
  const selection = decode(recoverySelectionSchema, item);
  const ofQueue = (key: Omit<DeliveryKey, 'queue'>): DeliveryKey => ({ queue: selection.queue, ...key });
  return { selection, batch: batch.map(ofQueue), deferred: deferred.map(ofQueue), ...rest };
}

function toRecoveryItem({ selection, batch, deferred, ...rest }: Recovery): Record<string, unknown> {
  return {
    ...toRecoveryItemKey(selection.queue, rest.id),
    v: RECORD_VERSION,
    ...selection,
    ...rest,
    ...(batch.length > 0 && { batch: batch.map(withoutQueue) }),
    ...(deferred.length > 0 && { deferred: deferred.map(withoutQueue) }),
    [ttlAttribute]: toTtl(rest.expiresAt),
  };
}

const pageSchema = z.object({ number: z.number(), keys: deliveryKeys });

/** @throws UnreadableRecordError */
function toRecoveryPage(queue: string, item: unknown): RecoveryPage {
  const { number, keys } = decodeRecord(pageSchema, item);
  return { number, keys: keys.map((key) => ({ queue, ...key })) };
}

function toPageItem({ selection, id, pages, batch, expiresAt }: Recovery & { pages: number }) {
  return {
    ...toPageItemKey(selection.queue, id, pages),
    v: RECORD_VERSION,
    number: pages,
    keys: batch.map(withoutQueue),
    [ttlAttribute]: toTtl(expiresAt),
  };
}

function withoutQueue({ messageId, subscriptionId, bucket }: DeliveryKey) {
  return { messageId, subscriptionId, bucket };
}
