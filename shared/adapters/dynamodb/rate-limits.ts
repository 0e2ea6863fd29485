import * as z from 'zod';
import { primaryKey, ttlAttribute } from '../../config/tables.ts';
import { ContendedError, withRetriedWrites } from '../../domain/contention.ts';
import { DAY_MS } from '../../domain/duration.ts';
import {
  isOvertaken,
  isStanding,
  latestEnd,
  type Line,
  noSlot,
  noSlotYet,
  type RateLimit,
  type Slot,
  slotsFrom,
} from '../../domain/subscription/rate-limit.ts';
import type { Clock } from '../../ports/clock.ts';
import type { Limited, RateLimits } from '../../ports/subscriptions.ts';
import { slotsItemKey } from './delivery-keys.ts';
import { expression, type Expression } from './expressions.ts';
import { decoded, RECORD_VERSION, ttlOf } from './record.ts';
import { conditional } from './writes.ts';
import type { DynamoDBDocument, UpdateCommandInput } from '@aws-sdk/lib-dynamodb';

/** Milliseconds within which the deliveries of one batch ask, since they are claimed side by side. */
const GATHER_MS = 10;

/** Each refusal tells which way to go next. */
const RESERVATION_TRIES = 6;

/** Lines of which it is remembered that they stand, which saves a refused write; a hint only. */
const MOST_REMEMBERED = 10_000;

/** Messages of one batch that expire within these milliseconds of each other ask together. */
const EXPIRING_TOGETHER_MS = 10_000;

type Asked = { limited: Limited; limit: RateLimit; until: number | undefined };

/**
 * One item of the deliveries table for each subscription that limits its rate: up to when its slots are given out. Deliveries
 * of a batch reserve theirs by one conditional update. A line that stands is lengthened by an addition, so that any number of
 * functions at once get slots without a conflict; one that does not begins now.
 */
export function dynamoRateLimits(
  client: DynamoDBDocument,
  tableName: string,
  clock: Pick<Clock, 'now'>,
): RateLimits {
  const ends = new Map<string, number>();
  const reserve = gathered<Asked & { line: string }, Slot>(
    GATHER_MS,
    async (_, { line: key, ...asked }, count) => {
      const { limit } = asked;
      const now = clock.now();
      const first: Way = (ends.get(key) ?? 0) > now ? 'lengthen' : 'begin';
      const line = await lineAfter(client, tableName, { ...asked, count, now, first });
      if (ends.size >= MOST_REMEMBERED) ends.clear();
      ends.set(key, line.reservedUpTo);
      const { instead } = line;
      return instead === undefined
        ? slotsFrom(line.reservedUpTo - count * limit.intervalMs, count, limit)
        : Array.from({ length: count }, () => instead);
    },
  );
  return {
    reserve: (limited, limit, until) => {
      const line = JSON.stringify([limited.queue, limited.subscriptionId, limit.epoch]);
      const expiring = until === undefined ? '' : Math.ceil(until / EXPIRING_TOGETHER_MS);
      return reserve(`${line}${expiring}`, { limited, limit, until, line });
    },
  };
}

type Wanted = Asked & { count: number; now: number; first: Way };

/** The line with the slots that were wanted at its end, or as it is where there are none, and what there is instead. */
async function lineAfter(
  client: DynamoDBDocument,
  tableName: string,
  wanted: Wanted,
): Promise<Line & { instead?: Slot }> {
  const { limited, limit, until, now } = wanted;
  let way = wanted.first;
  const reserved = await withRetriedWrites<Line & { instead?: Slot }>(
    async () => {
      const result = await updated(client, requestOf[way](tableName, wanted));
      if (result.kind === 'written') return result.line;
      const { line } = result;
      if (line !== undefined && isOvertaken(line, limit, now)) return { ...line, instead: noSlotYet(now) };
      if (!isStanding(line, limit, now)) way = 'begin';
      else if (line.reservedUpTo > latestEnd(now, until)) return { ...line, instead: noSlot(now, until) };
      else way = 'lengthen';
      return 'again';
    },
    { tries: RESERVATION_TRIES },
  );
  if (reserved === 'again')
    throw new ContendedError(`line of subscription ${limited.queue}/${limited.subscriptionId}`);
  return reserved;
}

type Way = 'lengthen' | 'begin';

const requestOf: Record<Way, (tableName: string, wanted: Wanted) => UpdateCommandInput> = {
  lengthen: (tableName, { limited, limit, until, count, now }) => {
    const to = expression();
    const end = to.name('reservedUpTo');
    return {
      TableName: tableName,
      Key: slotsItemKey(limited),
      UpdateExpression: `SET ${end} = ${end} + ${to.value(count * limit.intervalMs)}, ${lifetimeOf(to, now)}`,
      // Domain `isStanding`, and room for more.
      ConditionExpression: `${to.name('epoch')} = ${to.value(limit.epoch)} AND ${end} > ${to.value(now)} AND ${end} <= ${to.value(latestEnd(now, until))}`,
      ...ANSWER,
      ...to.attributes(),
    };
  },
  begin: (tableName, { limited, limit, count, now }) => {
    const to = expression();
    const end = to.name('reservedUpTo');
    const epoch = to.name('epoch');
    return {
      TableName: tableName,
      Key: slotsItemKey(limited),
      UpdateExpression: `SET ${end} = ${to.value(now + count * limit.intervalMs)}, ${epoch} = ${to.value(limit.epoch)}, ${to.name('v')} = ${to.value(RECORD_VERSION)}, ${lifetimeOf(to, now)}`,
      ConditionExpression: `attribute_not_exists(${to.name(primaryKey.partition)}) OR ${epoch} < ${to.value(limit.epoch)} OR ${end} <= ${to.value(now)}`,
      ...ANSWER,
      ...to.attributes(),
    };
  },
};

const ANSWER = { ReturnValues: 'ALL_NEW', ReturnValuesOnConditionCheckFailure: 'ALL_OLD' } as const;

/** Longer than any line, so that one is never forgotten while it stands. */
function lifetimeOf(to: Expression, now: number): string {
  return `${to.name(ttlAttribute)} = ${to.value(ttlOf(latestEnd(now) + DAY_MS))}`;
}

const lineSchema = z.object({
  reservedUpTo: z.number(),
  epoch: z.string(),
} satisfies Record<keyof Line, z.ZodType>);

type LineResult = { kind: 'written'; line: Line } | { kind: 'refused'; line: Line | undefined };

async function updated(client: DynamoDBDocument, request: UpdateCommandInput): Promise<LineResult> {
  const result = await conditional(client.update(request));
  if (result.kind === 'written')
    return { kind: 'written', line: decoded(lineSchema, result.output.Attributes) };
  const { item } = result;
  return { kind: 'refused', line: item === undefined ? undefined : decoded(lineSchema, item) };
}

/** A call that waits for others like it. */
type Waiting<Result> = { resolve: (result: Result) => void; reject: (error: unknown) => void };

/**
 * Makes one call of those that come within `gatherMs` under the same key: `call` gets how many they are, and answers with as
 * many results, handed out in the order in which they came. Where it throws, each of them does.
 */
export function gathered<Asked, Result>(
  gatherMs: number,
  call: (key: string, asked: Asked, count: number) => Promise<readonly Result[]>,
): (key: string, asked: Asked) => Promise<Result> {
  const open = new Map<string, Waiting<Result>[]>();

  const close = async (key: string, asked: Asked): Promise<void> => {
    const waiting = open.get(key) ?? [];
    open.delete(key);
    try {
      const results = await call(key, asked, waiting.length);
      waiting.forEach(({ resolve, reject }, index) => {
        const result = results[index];
        if (result === undefined)
          reject(new RangeError(`${results.length} results for ${waiting.length} calls`));
        else resolve(result);
      });
    } catch (error) {
      for (const { reject } of waiting) reject(error);
    }
  };

  return (key, asked) =>
    new Promise((resolve, reject) => {
      const waiting = open.get(key);
      if (waiting !== undefined) {
        waiting.push({ resolve, reject });
        return;
      }
      open.set(key, [{ resolve, reject }]);
      setTimeout(() => void close(key, asked), gatherMs);
    });
}
