import * as z from 'zod';
import { primaryKey, ttlAttribute } from '../../../config/tables.ts';
import { DAY_MS } from '../../../domain/duration.ts';
import {
  type ArchivedQueue,
  type ArchivedSubscription,
  type Deletion,
  isPresent,
  type SubscriptionKey,
} from '../../../domain/subscription/subscription.ts';
import type { Page, PageRequest } from '../../../ports/page.ts';
import type { SubscriptionAt } from '../../../ports/subscriptions.ts';
import { sortableTime } from '../deliveries/delivery-keys.ts';
import { buildPage, parseMarker } from '../pages.ts';
import { queryItems, queryOfPrefix, readItem } from '../queries.ts';
import { decodeRecord, type ItemKey, RECORD_VERSION, toTtl } from '../record.ts';
import { subscriptionPrefix, toQueue, toSubscription } from './subscription-item.ts';
import type { Table } from '../table.ts';

type Item = Record<string, unknown>;

/** The partition of all archived queues. Sorted by name and time of deletion. */
const ARCHIVED_QUEUES = 'ARCHIVES';
const queuePrefix = 'QUEUE#';

export function queueArchiveKey(queue: string, deletedAt: number): ItemKey {
  return { pk: ARCHIVED_QUEUES, sk: `${queuePrefix}${queue}#${sortableTime(deletedAt)}` };
}

/** The archive of subscriptions that were deleted one by one, or with their queue at `deletedAt`. */
export function subscriptionArchive(queue: string, deletedAt?: number): string {
  return deletedAt === undefined ? `ARCHIVE#${queue}` : `ARCHIVE#${queue}#${deletedAt}`;
}

export function subscriptionArchiveKey({ queue, subscriptionId }: SubscriptionKey): ItemKey {
  return { pk: subscriptionArchive(queue), sk: `${subscriptionPrefix}${subscriptionId}` };
}

/** Later than `restorableUntil`, so that TTL removes nothing of a queue that is being restored. */
const KEPT_LONGER_MS = DAY_MS;

const archiveSchema = z.object({
  deletedAt: z.number(),
  restorableUntil: z.number(),
  /** As it was before the deletion. Nested, so that neither an index nor TTL sees its attributes. */
  item: z.record(z.string(), z.unknown()),
});

export type Archive = z.infer<typeof archiveSchema>;

/** The write that archives an item under a key. */
export function putArchive(key: ItemKey, item: Item, deletion: Deletion) {
  const { deletedAt, restorableUntil } = deletion;
  const ttl = { [ttlAttribute]: toTtl(restorableUntil + KEPT_LONGER_MS) };
  return {
    Put: { Item: { ...key, v: RECORD_VERSION, deletedAt, restorableUntil, item, ...ttl } },
  };
}

const endSchema = z.object({ deletedAt: z.number().optional(), expiresAt: z.number().optional() });

/** The writes that archive subscriptions of a deleted queue, except those deleted or expired before it. */
export function archiveSubscriptions(
  queue: string,
  items: readonly (Item & { sk: string })[],
  deletion: Deletion,
) {
  const pk = subscriptionArchive(queue, deletion.deletedAt);
  return items
    .filter((item) => {
      const { deletedAt, expiresAt = Infinity } = endSchema.parse(item);
      return deletedAt === undefined && expiresAt > deletion.deletedAt;
    })
    .map((item) => putArchive({ pk, sk: item.sk }, item, deletion));
}

export async function listArchivedQueues(
  table: Table,
  page: PageRequest,
  now: number,
): Promise<Page<ArchivedQueue>> {
  const query = unexpired(queryOfPrefix(ARCHIVED_QUEUES, queuePrefix), now);
  const { items, ...rest } = await listArchives(table, '#archived_queues', query, page);
  return { ...rest, items: items.map(({ item, ...deletion }) => ({ ...deletion, queue: toQueue(item) })) };
}

export async function listArchivedSubscriptions(
  table: Table,
  queue: string,
  page: PageRequest,
  now: number,
): Promise<Page<ArchivedSubscription>> {
  const query = unexpired(queryOfPrefix(subscriptionArchive(queue), subscriptionPrefix), now);
  const { items, ...rest } = await listArchives(table, `#archived#${queue}`, query, page);
  return { ...rest, items: items.map(toArchivedSubscription) };
}

async function listArchives(
  table: Table,
  listing: string,
  query: ReturnType<typeof unexpired>,
  page: PageRequest,
): Promise<Page<Archive>> {
  const last = parseMarker(listing, page);
  const ExclusiveStartKey =
    last === undefined ? undefined : { pk: query.ExpressionAttributeValues[':partition'], sk: last };
  const items = await queryItems(table, { ...query, ExclusiveStartKey }, page.limit + 1);
  const found = buildPage(listing, items, page.limit, (item) => String(item[primaryKey.sort]));
  return { ...found, items: found.items.map(toArchive) };
}

export function toArchive(item: unknown): Archive {
  return decodeRecord(archiveSchema, item);
}

function toArchivedSubscription({ item, ...deletion }: Archive): ArchivedSubscription {
  return { ...deletion, subscription: toSubscription(item) };
}

/** TTL deletes archives late, so their own time decides. */
function unexpired(query: ReturnType<typeof queryOfPrefix>, now: number) {
  return {
    ...query,
    ConsistentRead: true,
    FilterExpression: 'restorableUntil > :now',
    ExpressionAttributeValues: { ...query.ExpressionAttributeValues, ':now': now },
  };
}

/** The archive of a queue: of its last deletion up to `until`. */
export async function findQueueArchive(
  table: Table,
  queue: string,
  now: number,
  until = Infinity,
): Promise<Archive | undefined> {
  const query = unexpired(queryOfPrefix(ARCHIVED_QUEUES, `${queuePrefix}${queue}#`), now);
  const items = await queryItems(table, { ...query, ScanIndexForward: false });
  return items.map(toArchive).find(({ deletedAt }) => deletedAt <= until);
}

/** What can be restored of a subscription: its item, and the same as a domain value. */
export async function findSubscriptionArchive(
  table: Table,
  { now, ...key }: SubscriptionAt,
): Promise<(ArchivedSubscription & Pick<Archive, 'item'>) | undefined> {
  const item = await readItem(table, subscriptionArchiveKey(key));
  if (item === undefined) return undefined;
  const archive = toArchive(item);
  const found = toArchivedSubscription(archive);
  const isRestorable = found.restorableUntil > now && isPresent(found.subscription, now);
  return isRestorable ? { ...found, item: archive.item } : undefined;
}
