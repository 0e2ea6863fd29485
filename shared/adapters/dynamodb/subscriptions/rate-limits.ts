import * as z from 'zod';
import { primaryKey, ttlAttribute } from '../../../config/tables.ts';
import { contended, withRetriedWrites } from '../../../domain/contention.ts';
import { DAY_MS } from '../../../domain/duration.ts';
import {
  type RateLimit,
  type Slot,
  findSlots,
  type FoundSlots,
  latestEnd,
  type Line,
  lineStart,
  MAX_LINE_MS,
  MAX_RETURNED_SLOTS,
  mostTogether,
  slotBeyond,
  slotsFrom,
} from '../../../domain/subscription/rate-limit.ts';
import type { SubscriptionKey } from '../../../domain/subscription/subscription.ts';
import type { Clock } from '../../../ports/clock.ts';
import type { RateLimits } from '../../../ports/pace.ts';
import { slotsItemKey } from '../deliveries/delivery-keys.ts';
import { combineCalls } from '../../combine-calls.ts';
import { openTable, type Table } from '../table.ts';
import { conditional, expression, ifConditionHolds, updateReturningItem } from '../writes.ts';
import { decode, RECORD_VERSION, toTtl } from '../record.ts';
import type { DynamoDBDocument } from '@aws-sdk/lib-dynamodb';

/**
 * Milliseconds in which requests for slots are combined, since the deliveries of a batch are claimed
 * concurrently.
 */
const GATHER_MS = 10;

/** The most tries of a reservation. */
const RESERVATION_TRIES = 6;

/** Number of lines whose end is remembered, to extend a line without a refused write first. A hint only. */
const MAX_REMEMBERED = 10_000;

/** Milliseconds; deliveries of a batch that expire this close to each other reserve slots together. */
const EXPIRING_TOGETHER_MS = 10_000;

/** Milliseconds; slots for later are reserved together if their times are this close. */
const STARTING_TOGETHER_MS = 1_000;

/**
 * End of the line, in whole microseconds: DynamoDB adds exact decimals and JavaScript binary fractions, so that a sum of
 * milliseconds with fractions would never equal the stored one.
 */
const END = 'endMicroseconds';

function microseconds(milliseconds: number): number {
  return Math.round(1_000 * milliseconds);
}

type SlotRequest = {
  limited: SubscriptionKey;
  limit: RateLimit;
  from: number | undefined;
  until: number | undefined;
};

/**
 * One item of the deliveries table for each rate-limited subscription: the time up to which its slots are
 * reserved. The deliveries of a batch reserve theirs by one conditional update. An active line is extended by an
 * addition, so that concurrent functions get slots without a conflict; otherwise a new line begins now.
 */
export function dynamoRateLimits(
  client: DynamoDBDocument,
  tableName: string,
  clock: Pick<Clock, 'now'>,
): RateLimits {
  const table = openTable(client, tableName);
  const ends = new Map<string, number>();
  const reserve = combineCalls<SlotRequest & { line: string }, Slot>(
    GATHER_MS,
    async (_, { line: key, ...asked }, count) => {
      const now = clock.now();
      const { limit, until } = asked;
      const isActive = (ends.get(key) ?? 0) > now;
      const mayNotBegin = asked.from !== undefined || lineStart(limit, now) > (until ?? Infinity);
      const most = Math.min(count, mostTogether(limit));
      const wanted = { ...asked, count: most, now };
      const first = isActive || mayNotBegin ? lengthen(wanted) : begin(wanted);
      const { reservedUpTo, slots } = await reserveSlots(table, wanted, first);
      if (ends.size >= MAX_REMEMBERED) ends.clear();
      ends.set(key, reservedUpTo);
      return [...slots, ...Array.from({ length: count - most }, () => slotBeyond(limit, now, until))];
    },
  );
  return {
    reserve: (limited, limit, { from, until } = {}) => {
      const line = JSON.stringify([limited.queue, limited.subscriptionId, limit.epoch]);
      const start = from && Math.ceil(from / STARTING_TOGETHER_MS) * STARTING_TOGETHER_MS;
      const expiring = until && Math.ceil(until / EXPIRING_TOGETHER_MS);
      const asked = { limited, limit, from: start, until, line };
      return reserve(JSON.stringify([line, start, expiring]), asked);
    },
    returnSlot: async (limited, slot) => {
      await ifConditionHolds(table.update(returnSlotUpdate(limited, slot, clock.now())));
    },
  };
}

type ReservationRequest = SlotRequest & { count: number; now: number };

/**
 * The reserved slots, or the substitute for each of them if there are none, and the end of the line afterwards.
 */
type Reservation = { reservedUpTo: number; slots: readonly Slot[] };

/** `first`: the write to try first. Each refusal returns the line, which decides the next one. */
function reserveSlots(table: Table, wanted: ReservationRequest, first: LineWrite): Promise<Reservation> {
  const { limited, count } = wanted;
  let write = first;
  const reserve = async (): Promise<Reservation | 'again'> => {
    const result = await conditional(table.update(write.request));
    if (result.kind === 'written') {
      const line = decode(lineSchema, result.output.Attributes);
      return { reservedUpTo: line.reservedUpTo, slots: write.slotsIn(line) };
    }
    const found = findSlots(result.item && decode(lineSchema, result.item), count, wanted);
    if ('instead' in found) {
      const { instead, line } = found;
      return { reservedUpTo: line?.reservedUpTo ?? 0, slots: Array.from({ length: count }, () => instead) };
    }
    write = writeFor(wanted, found);
    return 'again';
  };
  const line = `line of subscription ${limited.queue}/${limited.subscriptionId}`;
  return withRetriedWrites(reserve, contended(line), { tries: RESERVATION_TRIES });
}

type LineUpdate = Parameters<Table['update']>[0];

/** A conditional write, and the slots that it reserves in the line after it. */
type LineWrite = { request: LineUpdate; slotsIn: (line: Line) => readonly Slot[] };

function writeFor(wanted: ReservationRequest, found: FoundSlots): LineWrite {
  const { activeLine } = found;
  if (activeLine === undefined) return begin(wanted);
  return activeLine.left === undefined ? lengthen(wanted) : fill(wanted, { ...found, activeLine });
}

function lengthen({ limited, limit, until, count, now, from = now }: ReservationRequest): LineWrite {
  const expr = expression();
  const end = expr.name(END);
  const added = expr.value(microseconds(count * limit.intervalMs));
  const update = expr.update(lifetimeFrom(now), `${end} = ${end} + ${added}`);
  // Domain `isActiveLine`, starts no earlier than wanted, has room for more, and no free slots before its end.
  const condition = `${expr.equal('epoch', limit.epoch)} AND ${end} > ${expr.value(microseconds(now))} AND ${end} >= ${expr.value(microseconds(from))} AND ${end} <= ${expr.value(microseconds(latestEnd(limit, now, until)))} AND ${expr.equal('left', undefined)}`;
  const request = updateReturningItem(slotsItemKey(limited), update, condition, expr);
  return { slotsIn: atTheEnd(count, limit), request };
}

function begin({ limited, limit, count, now }: ReservationRequest): LineWrite {
  const expr = expression();
  const { epoch } = limit;
  const end = microseconds(lineStart(limit, now) + count * limit.intervalMs);
  const line = { [END]: end, epoch, v: RECORD_VERSION, ...lifetimeFrom(now), left: undefined };
  const update = expr.update(line);
  const condition = `${expr.equal(primaryKey.partition, undefined)} OR ${expr.name('epoch')} < ${expr.value(epoch)} OR ${expr.name(END)} <= ${expr.value(microseconds(now))}`;
  const request = updateReturningItem(slotsItemKey(limited), update, condition, expr);
  return { slotsIn: atTheEnd(count, limit), request };
}

function atTheEnd(count: number, limit: RateLimit): LineWrite['slotsIn'] {
  return ({ reservedUpTo }) => slotsFrom(reservedUpTo - count * limit.intervalMs, count, limit);
}

/** Takes slots that were left free in a line as it was read. */
function fill(
  { limited, limit, now }: ReservationRequest,
  { activeLine, slots, added, left }: FoundSlots & { activeLine: Line },
): LineWrite {
  const expr = expression();
  const end = expr.name(END);
  const rest = { left: left.length === 0 ? undefined : left, ...lifetimeFrom(now) };
  const moved = `${end} = ${end} + ${expr.value(microseconds(added * limit.intervalMs))}`;
  const update = expr.update(rest, moved);
  const condition = `${expr.equal('epoch', activeLine.epoch)} AND ${expr.equal(END, microseconds(activeLine.reservedUpTo))} AND ${expr.equal('left', activeLine.left)}`;
  return {
    slotsIn: () => slots,
    request: updateReturningItem(slotsItemKey(limited), update, condition, expr),
  };
}

/** Returns a slot to the free slots of its line while the line is active. */
function returnSlotUpdate(limited: SubscriptionKey, { at, epoch }: Slot, now: number): LineUpdate {
  const expr = expression();
  const left = expr.name('left');
  return {
    Key: slotsItemKey(limited),
    UpdateExpression: `SET ${expr.append('left', [at])}`,
    ConditionExpression: `${expr.name('epoch')} = ${expr.value(epoch)} AND ${expr.name(END)} > ${expr.value(microseconds(now))} AND (attribute_not_exists(${left}) OR size(${left}) < ${expr.value(MAX_RETURNED_SLOTS)})`,
    ...expr.attributes(),
  };
}

/** Longer than any line, so that TTL never removes an active one. */
function lifetimeFrom(now: number): Record<string, number> {
  return { [ttlAttribute]: toTtl(now + MAX_LINE_MS + DAY_MS) };
}

const lineSchema = z
  .object({ [END]: z.int(), epoch: z.string(), left: z.array(z.number()).exactOptional() })
  .transform(({ [END]: end, ...line }): Line => ({ ...line, reservedUpTo: end / 1_000 }));
