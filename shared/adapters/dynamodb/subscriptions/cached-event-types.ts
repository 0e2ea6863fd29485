import type { DynamoDBDocument } from '@aws-sdk/lib-dynamodb';
import type { Clock } from '../../../ports/clock.ts';
import type { CachedEventTypes } from '../../../ports/event-types.ts';
import { estimateHeapBytes, readCache } from '../../read-cache.ts';
import { findEventType } from './event-types.ts';
import { UnreadableRecordError } from '../record.ts';
import { openTable } from '../table.ts';

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
