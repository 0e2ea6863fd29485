import * as z from 'zod';
import { listedAttribute, primaryKey } from '../../config/tables.ts';
import type { Page, PageRequest } from '../../ports/page.ts';
import { buildPage, type Direction, orderIn, parseMarker, type ReadPart } from './pages.ts';
import { hasTimeAfter, type Pacing } from '../lambda/invocation-deadline.ts';
import { decode, type ItemKey } from './record.ts';
import type { QueryCommandOutput } from '@aws-sdk/lib-dynamodb';
import type { Table } from './table.ts';

type Item = Record<string, unknown>;

/** Of one table. */
export type Query = Parameters<Table['query']>[0];

/** An item by its key; strongly consistent. */
export async function readItem(table: Table, key: Item): Promise<Item | undefined> {
  return (await table.get({ Key: key, ConsistentRead: true })).Item;
}

/** The same by Query: dispatch has no other right to read the subscriptions table. */
export async function queryItem(table: Table, { pk, sk }: ItemKey, query?: Query): Promise<Item | undefined> {
  const { Items = [] } = await table.query({
    ...query,
    KeyConditionExpression: `${primaryKey.partition} = :pk AND ${primaryKey.sort} = :sk`,
    ExpressionAttributeValues: { ':pk': pk, ':sk': sk },
    ConsistentRead: true,
  });
  return Items[0];
}

/** Queries the items of a partition whose sort keys begin with this text. */
export function queryOfPrefix(partition: string, prefix: string) {
  return {
    KeyConditionExpression: `${primaryKey.partition} = :partition AND begins_with(${primaryKey.sort}, :prefix)`,
    ExpressionAttributeValues: { ':partition': partition, ':prefix': prefix },
  };
}

/** The responses to a query, one per request, fetched as they are consumed. */
export async function* responsesOf(table: Table, query: Query): AsyncGenerator<QueryCommandOutput> {
  let ExclusiveStartKey = query.ExclusiveStartKey;
  do {
    const answer = await table.query({ ...query, ExclusiveStartKey });
    yield answer;
    ExclusiveStartKey = answer.LastEvaluatedKey;
  } while (ExclusiveStartKey !== undefined);
}

/** The pages of a query, one per request, fetched as they are consumed. */
export async function* pagesOf(table: Table, query: Query): AsyncGenerator<Item[]> {
  for await (const { Items = [] } of responsesOf(table, query)) yield Items;
}

/** The items of a query, following pages until `atMost` are found or there are no more. */
export async function queryItems(
  table: Table,
  query: Omit<Query, 'Limit'>,
  atMost = Infinity,
): Promise<Item[]> {
  const items: Item[] = [];
  // No Limit with a filter: it counts entries that the filter drops, so a few items would take many requests.
  const limit = Number.isFinite(atMost) && query.FilterExpression === undefined ? { Limit: atMost } : {};
  for await (const page of pagesOf(table, { ...query, ...limit })) {
    items.push(...page);
    if (items.length >= atMost) break;
  }
  return items.slice(0, atMost);
}

/** How to read a listing whose items a query returns in order. `keyOf`: the key of the item with a name in the listing. */
type ItemListing<Listed> = {
  query: Omit<Query, 'Limit' | 'ExclusiveStartKey'>;
  keyOf: (name: string) => Item;
  parse: (item: Item) => Listed;
  nameOf: (listed: Listed) => string;
};

/** A page of a listing. @throws InvalidMarkerError */
export async function listItems<Listed>(
  table: Table,
  listing: string,
  page: PageRequest,
  { query, keyOf, parse, nameOf }: ItemListing<Listed>,
): Promise<Page<Listed>> {
  const last = parseMarker(listing, page);
  const ExclusiveStartKey = last === undefined ? undefined : keyOf(last);
  const items = await queryItems(table, { ...query, ExclusiveStartKey }, page.limit + 1);
  return buildPage(listing, items.map(parse), page.limit, nameOf);
}

/** Waits and randomness for repeated reads: `random` is uniform in [0, 1). */
export type BatchReading = Pacing & { random: () => number };

/** DynamoDB left part of a batch unread after all retries, because it is throttled. Transient. */
class ItemsNotReadError extends Error {
  override readonly name = 'ItemsNotReadError';
  readonly isTransient = true;
  constructor(unread: number, of: number) {
    super(`DynamoDB left ${unread} of ${of} items unread.`);
  }
}

/** Number of requests before giving up, and the upper bound of the first wait, which doubles. */
const MAX_ROUNDS = 5;
const FIRST_WAIT_MS = 50;

/**
 * Up to 100 items, in any order; strongly consistent. Keys that DynamoDB leaves unread are requested again while there is
 * time. It refuses a key that is given twice, as by two listings of which one showed an item before it changed.
 * @throws ItemsNotReadError
 */
export async function itemsByKey(
  table: Table,
  keys: readonly Item[],
  { sleep, random, deadline }: BatchReading,
): Promise<Item[]> {
  const found: Item[] = [];
  let unread: readonly Item[] = [...new Map(keys.map((key) => [JSON.stringify(key), key])).values()];
  for (let round = 1; unread.length > 0; round += 1) {
    if (round > 1) {
      const waitMs = random() * FIRST_WAIT_MS * 2 ** (round - 2);
      if (round > MAX_ROUNDS || !hasTimeAfter(waitMs, deadline))
        throw new ItemsNotReadError(unread.length, keys.length);
      await sleep(waitMs);
    }
    const answer = await readOnce(table, unread);
    found.push(...answer.found);
    unread = answer.unread;
  }
  return found;
}

async function readOnce(
  { client, name }: Table,
  keys: readonly Item[],
): Promise<{ found: readonly Item[]; unread: readonly Item[] }> {
  const { Responses = {}, UnprocessedKeys = {} } = await client.batchGet({
    RequestItems: { [name]: { Keys: [...keys], ConsistentRead: true } },
  });
  return { found: Responses[name] ?? [], unread: UnprocessedKeys[name]?.Keys ?? [] };
}

/** A range of one index partition: positions from `first` to `last`, both inclusive, after `after`. */
export type IndexPart = {
  index: { readonly name: string; readonly partition: string; readonly sort: string };
  partition: string;
  first: string;
  last: string;
  direction: Direction;
  /** The last position of the page before. */
  after?: string | undefined;
  /** Only entries with this status. */
  status?: string | undefined;
};

/** Reads a partition of an index by Query, one request per read; no request if the range is empty. */
export function readIndexPart<Item>(
  table: Table,
  part: IndexPart,
  itemOf: (entry: unknown) => Item,
): ReadPart<Item> {
  const range = narrowRange(part);
  if (range.first > range.last) return () => Promise.resolve({ found: [] });
  const query = buildQuery(part, range);
  const placeSchema = z.object({ [part.index.sort]: z.string() });
  const placeIn = (entry: unknown): string => decode(placeSchema, entry)[part.index.sort] ?? '';
  const isBefore = orderIn(part.direction);

  const readFrom =
    (start: Query['ExclusiveStartKey']): ReadPart<Item> =>
    async (most) => {
      const { Items = [], LastEvaluatedKey } = await table.query({
        ...query,
        ExclusiveStartKey: start,
        Limit: most,
      });
      const found = Items.map((entry) => ({ place: placeIn(entry), item: itemOf(entry) }))
        // BETWEEN includes both ends.
        .filter(({ place }) => part.after === undefined || isBefore(part.after, place));
      return LastEvaluatedKey === undefined
        ? { found }
        : { found, rest: { readTo: placeIn(LastEvaluatedKey), read: readFrom(LastEvaluatedKey) } };
    };
  return readFrom(undefined);
}

type Range = Pick<IndexPart, 'first' | 'last'>;

function narrowRange({ first, last, after, direction }: IndexPart): Range {
  if (after === undefined) return { first, last };
  return direction === 'ascending'
    ? { first: after > first ? after : first, last }
    : { first, last: after < last ? after : last };
}

function buildQuery({ index, direction, partition, status }: IndexPart, range: Range) {
  return {
    IndexName: index.name,
    KeyConditionExpression: `${index.partition} = :partition AND ${index.sort} BETWEEN :first AND :last`,
    ExpressionAttributeValues: {
      ':partition': partition,
      ':first': range.first,
      ':last': range.last,
      ...(status === undefined ? {} : { ':status': status }),
    },
    ...(status === undefined
      ? {}
      : { FilterExpression: '#status = :status', ExpressionAttributeNames: { '#status': listedAttribute } }),
    ScanIndexForward: direction === 'ascending',
  };
}
