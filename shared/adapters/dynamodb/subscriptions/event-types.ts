import type { DynamoDBDocument } from '@aws-sdk/lib-dynamodb';
import {
  type EventType,
  eventTypeSchema,
  isVisibleTo,
  type TypeViewer,
} from '../../../domain/event-type/event-type.ts';
import type { Clock } from '../../../ports/clock.ts';
import type { CachedEventTypes, EventTypes } from '../../../ports/event-types.ts';
import type { Page, PageRequest } from '../../../ports/page.ts';
import { estimateHeapBytes, readCache } from '../../read-cache.ts';
import { buildPage, pageUpTo, parseMarker } from '../pages.ts';
import { type Query, queryItem, queryOfPrefix, responsesOf } from '../queries.ts';
import { decodeRecord, type ItemKey, RECORD_VERSION, UnreadableRecordError } from '../record.ts';
import { json } from './subscription-item.ts';
import { openTable, type Table } from '../table.ts';
import { expression } from '../writes.ts';

/** The partition of all types, in the subscriptions table. */
const EVENT_TYPES = 'EVENT_TYPES';
const typePrefix = 'TYPE#';

/** The catalogue in the subscriptions table. AWS errors pass through. */
export function dynamoEventTypes(client: DynamoDBDocument, tableName: string): EventTypes {
  const table = openTable(client, tableName);
  return {
    // An update, because `createdAt` of an existing type stays.
    put: async (type) => {
      const expr = expression();
      const { createdAt, ...attributes } = toAttributes(type);
      const { Attributes } = await table.update({
        Key: eventTypeKey(type.name),
        UpdateExpression: expr.update(attributes, expr.setOnce('createdAt', createdAt)),
        ReturnValues: 'ALL_OLD',
        ...expr.attributes(),
      });
      return Attributes === undefined
        ? { kind: 'created' }
        : { kind: 'replaced', before: toEventType(Attributes) };
    },
    find: (name) => findEventType(table, name),
    list: (page, viewer) => listEventTypes(table, page, viewer),
    delete: async (name) => {
      const { Attributes } = await table.delete({ Key: eventTypeKey(name), ReturnValues: 'ALL_OLD' });
      return Attributes && toEventType(Attributes);
    },
  };
}

/** Strongly consistent. @throws UnreadableRecordError */
async function findEventType(table: Table, name: string): Promise<EventType | undefined> {
  const item = await queryItem(table, eventTypeKey(name));
  return item && toEventType(item);
}

function eventTypeKey(name: string): ItemKey {
  return { pk: EVENT_TYPES, sk: `${typePrefix}${name}` };
}

/**
 * Each request reads up to 1 MB (`Query`, DynamoDB API reference). The first one with types that the viewer sees ends the
 * page: the marker contains the last name, which may be none that the viewer does not see.
 */
async function listEventTypes(table: Table, page: PageRequest, viewer: TypeViewer): Promise<Page<EventType>> {
  const listing = viewer === undefined ? '#event-types' : `#event-types#${viewer.queue}`;
  for await (const { Items = [], LastEvaluatedKey } of responsesOf(table, queryOf(listing, page, viewer))) {
    const types = Items.map(toEventType).filter((type) => isVisibleTo(type, viewer));
    if (types.length > page.limit || LastEvaluatedKey === undefined)
      return buildPage(listing, types, page.limit, ({ name }) => name);
    if (types.length > 0) return pageUpTo(listing, types, types.at(-1)?.name);
  }
  return { items: [] };
}

/** No Limit for a viewer: it counts the types that are left out. */
function queryOf(listing: string, page: PageRequest, viewer: TypeViewer): Query {
  const last = parseMarker(listing, page);
  return {
    ...queryOfPrefix(EVENT_TYPES, typePrefix),
    ...(viewer === undefined && { Limit: page.limit + 1 }),
    ConsistentRead: true,
    ExclusiveStartKey: last === undefined ? undefined : eventTypeKey(last),
  };
}

const itemSchema = eventTypeSchema.extend({
  schema: json.pipe(eventTypeSchema.shape.schema).exactOptional(),
  example: json.exactOptional(),
});

/** @throws UnreadableRecordError */
function toEventType(item: unknown): EventType {
  return decodeRecord(itemSchema, item);
}

/** All attributes besides the keys. Undefined: the update removes it. */
function toAttributes(type: EventType) {
  const { schema, example, description, group, deprecated, queues, ...others } = type;
  return {
    v: RECORD_VERSION,
    ...others,
    description,
    group,
    deprecated,
    queues,
    schema: schema && JSON.stringify(schema),
    example: example === undefined ? undefined : JSON.stringify(example),
  };
}

/** Some 1,000 types with schemas of 3 KB. Those read first are forgotten first. */
const MAX_CACHED_BYTES = 32 * 2 ** 20;

type Found = { type: Awaited<ReturnType<CachedEventTypes['find']>> };

/** The catalogue in the subscriptions table, read through a cache. */
export function cachedEventTypes(
  client: DynamoDBDocument,
  tableName: string,
  { clock, cacheSeconds }: { clock: Pick<Clock, 'now'>; cacheSeconds: number },
): CachedEventTypes {
  const table = openTable(client, tableName);
  const cache = readCache<Found>({
    clock,
    maxAgeMs: cacheSeconds * 1000,
    maxWeight: MAX_CACHED_BYTES,
    weightOf: estimateHeapBytes,
  });
  const read = async (name: string): Promise<Found> => {
    try {
      return { type: await findEventType(table, name) };
    } catch (error) {
      if (error instanceof UnreadableRecordError) return { type: 'unreadable' };
      throw error;
    }
  };
  return { find: async (name) => (await cache.cached(name, () => read(name)))?.type };
}
