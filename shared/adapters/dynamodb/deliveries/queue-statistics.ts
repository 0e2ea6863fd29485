import * as z from 'zod';
import { primaryKey, ttlAttribute } from '../../../config/tables.ts';
import { DAY_MS, MINUTE_MS } from '../../../domain/duration.ts';
import {
  type Counters,
  noCounters,
  STATISTICS_COUNTS,
  STATISTICS_TIMES,
  type StatisticsCount,
  type StatisticsTime,
} from '../../../domain/delivery/statistics.ts';
import type { MessageWindow } from '../../../ports/messages.ts';
import type { MinuteCounters, QueueStatistics } from '../../../ports/statistics.ts';
import { statisticsItemKey } from './delivery-keys.ts';
import { pagesOf } from '../queries.ts';
import { openTable } from '../table.ts';
import { decodeRecord, RECORD_VERSION, toTtl } from '../record.ts';
import { expression } from '../writes.ts';
import { DynamoDBServiceException } from '@aws-sdk/client-dynamodb';
import type { DynamoDBDocument } from '@aws-sdk/lib-dynamodb';

/**
 * An item of the deliveries table for each queue and minute. An update costs one write unit while the item is under
 * 1 KB, so its attributes have short names.
 * Counters are added by a client without retries: a request that is refused may follow one whose answer was lost.
 */
export function dynamoQueueStatistics(client: DynamoDBDocument, tableName: string): QueueStatistics {
  const table = openTable(client, tableName);
  return {
    add: async ({ queue, at, counters, expiresAt }) => {
      const expr = expression();
      const set = expr.update({ v: RECORD_VERSION, [ttlAttribute]: toTtl(expiresAt) });
      const update = {
        Key: statisticsItemKey(queue, at),
        UpdateExpression: `${expr.add(toAttributes(counters))} ${set}`,
        ...expr.attributes(),
      };
      try {
        await table.update(update);
        return { kind: 'added' };
      } catch (error) {
        if (isRefusal(error)) return { kind: 'refused', error };
        throw error;
      }
    },
    minutes: async function* (window) {
      for (const { since, until } of splitIntoDays(window)) {
        const [first, last] = [since, until - MINUTE_MS].map((at) => statisticsItemKey(window.queue, at));
        const pages = pagesOf(table, {
          KeyConditionExpression: `${primaryKey.partition} = :partition AND ${primaryKey.sort} BETWEEN :first AND :last`,
          ExpressionAttributeValues: { ':partition': first?.pk, ':first': first?.sk, ':last': last?.sk },
        });
        for await (const items of pages) yield* items.map(toMinuteCounters);
      }
    },
  };
}

/** After a server error, a timeout or a lost answer the item may have changed. */
function isRefusal(error: unknown): error is DynamoDBServiceException {
  if (!(error instanceof DynamoDBServiceException)) return false;
  const { httpStatusCode = 0 } = error.$metadata;
  return httpStatusCode >= 400 && httpStatusCode < 500;
}

/** The window, divided at midnight UTC. */
function splitIntoDays({ since, until }: Omit<MessageWindow, 'queue'>): Omit<MessageWindow, 'queue'>[] {
  const first = Math.floor(since / DAY_MS);
  return Array.from({ length: Math.ceil(until / DAY_MS) - first }, (_, index) => ({
    since: Math.max(since, (first + index) * DAY_MS),
    until: Math.min(until, (first + index + 1) * DAY_MS),
  }));
}

const countAttributes: Record<StatisticsCount, string> = {
  messages: 'm',
  matched: 'k',
  filtered: 'f',
  attempts: 'a',
  attemptsFailed: 'af',
  attemptsRejected: 'ar',
  delivered: 'd',
  exhausted: 'e',
  rejected: 'j',
  cancelled: 'c',
};

/** Followed by the number of the bucket, as in `t24`. */
const bucketPrefixes: Record<StatisticsTime, string> = { timeToDelivery: 't', response: 'r' };

function toAttributes(counters: Counters): Record<string, number> {
  const counts = STATISTICS_COUNTS.map((name): [string, number] => [
    countAttributes[name],
    counters.counts[name],
  ]);
  const buckets = STATISTICS_TIMES.flatMap((time) =>
    [...counters[time]].map(([bucket, count]): [string, number] => [
      `${bucketPrefixes[time]}${bucket}`,
      count,
    ]),
  );
  return Object.fromEntries([...counts, ...buckets].filter(([, count]) => count !== 0));
}

const countNames = new Map(STATISTICS_COUNTS.map((name) => [countAttributes[name], name]));

/** Buckets of all durations up to the greatest time of a Date. A pattern would take most of the time of a long window. */
const BUCKETS = 160;
const buckets = new Map<string, { time: StatisticsTime; bucket: number }>(
  STATISTICS_TIMES.flatMap((time) =>
    Array.from(
      { length: BUCKETS },
      (_, bucket) => [`${bucketPrefixes[time]}${bucket}`, { time, bucket }] as const,
    ),
  ),
);

const minuteSchema = z.object({ pk: z.string(), sk: z.string().regex(/^\d\d:\d\d$/) });

/** @throws UnreadableRecordError */
function toMinuteCounters(item: Record<string, unknown>): Omit<MinuteCounters, 'queue'> {
  const { pk, sk } = decodeRecord(minuteSchema, item);
  const counters = noCounters();
  for (const [attribute, value] of Object.entries(item)) {
    if (typeof value !== 'number') continue;
    const bucket = buckets.get(attribute);
    const name = countNames.get(attribute);
    if (bucket !== undefined) counters[bucket.time].set(bucket.bucket, value);
    else if (name !== undefined) counters.counts[name] = value;
  }
  const [, day] = pk.split('#');
  return { at: Date.parse(`${day}T${sk}Z`), counters };
}
