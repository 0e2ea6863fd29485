import type { DynamoDBDocument } from '@aws-sdk/lib-dynamodb';
import * as z from 'zod';
import { deliveryIndexes, ttlAttribute } from '../../../config/tables.ts';
import type { LaterPart } from '../../../domain/delivery/fan-out.ts';
import { isFromEarlierQueue, replacementFor } from '../../../domain/delivery/recreated-queue.ts';
import { eventFaultSchema } from '../../../domain/event-type/event-fault.ts';
import { DAY_MS } from '../../../domain/duration.ts';
import type { BodyLocation } from '../../../domain/message/body.ts';
import type { Message, MessageKey } from '../../../domain/message/message.ts';
import type {
  AcceptedMessage,
  BodyState,
  MessageRecord,
  MessageRecords,
  NextPart,
} from '../../../ports/messages.ts';
import { messageFields } from '../../../wire/jobs/message-body.ts';
import { byHourPartition, hashToShard, MESSAGE, shards, sortableTime, toPartition } from './delivery-keys.ts';
import { readItem } from '../queries.ts';
import { decodeRecord, type ItemKey, RECORD_VERSION, type Renamed, renamed, toTtl } from '../record.ts';
import { openTable } from '../table.ts';
import {
  conditional,
  EXISTS,
  expression,
  ifConditionHolds,
  putIfAbsent,
  TOKEN,
  updateReturningItem,
  writeTokens,
} from '../writes.ts';

/** The MESSAGE items of the deliveries table. */
export function dynamoMessageRecords(client: DynamoDBDocument, tableName: string): MessageRecords {
  const table = openTable(client, tableName);
  const newToken = writeTokens();
  /** `created`: also if a copy of this request was refused because of it. */
  const create = async (record: MessageRecord, token: string) => {
    const put = await conditional(table.put(putIfAbsent({ ...toMessageItem(record), [TOKEN]: token })));
    if (put.kind === 'written') return { created: record };
    const earlier = put.item && toMessageRecord(record.key, put.item);
    return put.item?.[TOKEN] === token ? { created: earlier } : { earlier };
  };

  const accept = async (
    record: MessageRecord,
    sentAt: number | undefined,
    token: string,
  ): ReturnType<MessageRecords['accept']> => {
    const { created, earlier } = await create(record, token);
    if (created !== undefined) return { kind: 'accepted', record: created };
    if (earlier !== undefined && isFromEarlierQueue(earlier, record, sentAt)) {
      const replacement = replacementFor(earlier, record);
      const replaced = await ifConditionHolds(table.put(buildReplacement(earlier, replacement, token)));
      return replaced === undefined
        ? await accept(record, sentAt, token)
        : { kind: 'accepted', record: replacement };
    }
    const counted = await ifConditionHolds(table.update(countDuplicate(record.key)));
    // The record expired between the two requests, so the message counts as new.
    if (counted === undefined) return await accept(record, sentAt, token);
    return { kind: 'duplicate', record: toMessageRecord(record.key, counted.Attributes) };
  };

  const find = async (key: MessageKey): Promise<MessageRecord | undefined> => {
    const item = await readItem(table, toMessageItemKey(key));
    return item && toMessageRecord(key, item);
  };

  return {
    accept: (record, sentAt) => accept(record, sentAt, newToken()),
    addPart: async (record, next) => {
      const added = await conditional(table.update(addPart(record, next)));
      if (added.kind === 'written')
        return { kind: 'added', record: toMessageRecord(record.key, added.output.Attributes) };
      const current = added.item && toMessageRecord(record.key, added.item);
      return { kind: 'refused', current: current?.acceptedAt === record.acceptedAt ? current : undefined };
    },
    find,
    keepBody: async ({ key, acceptedAt }, body, expiresAt) => {
      // Rounded up to whole days, so that the many deliveries of a message do not all update its record for a few
      // milliseconds: a read costs a tenth of a write, and all of them would write to one key.
      const until = Math.ceil(expiresAt / DAY_MS) * DAY_MS;
      const current = await find(key);
      if (current?.acceptedAt !== acceptedAt) return 'forgotten';
      const isDecided = current.body !== undefined || current.erasedAt !== undefined;
      if (isDecided && current.expiresAt >= until) return classifyBody(current, acceptedAt);
      const kept = { key, acceptedAt, body, expiresAt: Math.max(until, current.expiresAt) };
      const written = await ifConditionHolds(table.update(keep(kept)));
      // Refused: the record is gone, or a concurrent write stored or erased the body, with a later expiry.
      const found = written === undefined ? await find(key) : toMessageRecord(key, written.Attributes);
      return classifyBody(found, acceptedAt);
    },
    eraseBody: async (key, at) => {
      const erased = await ifConditionHolds(table.update(erase(key, at)));
      // Refused: the record is gone, or the body was already erased.
      return erased === undefined ? find(key) : toMessageRecord(key, erased.Attributes);
    },
  };
}

function classifyBody(record: MessageRecord | undefined, acceptedAt: number): BodyState {
  if (record?.acceptedAt !== acceptedAt) return 'forgotten';
  return record.erasedAt === undefined ? 'kept' : 'erased';
}

function buildReplacement(earlier: MessageRecord, record: MessageRecord, token: string) {
  return {
    Item: { ...toMessageItem(record), [TOKEN]: token },
    ConditionExpression: 'acceptedAt = :earlier',
    ExpressionAttributeValues: { ':earlier': earlier.acceptedAt },
  };
}

function countDuplicate(key: MessageKey) {
  const expr = expression();
  return updateReturningItem(toMessageItemKey(key), expr.add({ duplicates: 1 }), EXISTS, expr);
}

/**
 * Counts one more match of a message that was sent to all subscriptions. Until then, `matched` decides where the
 * deliveries of its next part are stored.
 */
export function matchCounted({ key, acceptedAt }: AcceptedMessage) {
  const expr = expression();
  return {
    Key: toMessageItemKey(key),
    UpdateExpression: expr.add({ matched: 1 }),
    ConditionExpression: `${expr.equal('acceptedAt', acceptedAt)} AND ${expr.equal('until', undefined)}`,
    ...expr.attributes(),
  };
}

function addPart(
  { key, acceptedAt, parts }: MessageRecord,
  { part, lastSubscriptionId, matched, filtered, unchunked }: NextPart,
) {
  const expr = expression();
  const appends = [expr.append('parts', [toPartItem(part)])];
  if (unchunked.length > 0) appends.push(expr.append('apart', unchunked));
  const asRead =
    parts === undefined
      ? expr.equal('parts', undefined)
      : `size(${expr.name('parts')}) = ${expr.value(parts.length)}`;
  const update = `${expr.update({ until: lastSubscriptionId }, ...appends)} ${expr.add({ matched, filtered })}`;
  const condition = `${expr.equal('acceptedAt', acceptedAt)} AND ${asRead}`;
  return updateReturningItem(toMessageItemKey(key), update, condition, expr);
}

function keep({
  key,
  acceptedAt,
  body,
  expiresAt,
}: AcceptedMessage & { body: BodyLocation; expiresAt: number }) {
  const expr = expression();
  const expiry = { expiresAt, [ttlAttribute]: toTtl(expiresAt) };
  const update = expr.update(expiry, expr.setOnce('body', toBodyItem(body)));
  const isNoEarlier = `${expr.name('expiresAt')} <= ${expr.value(expiresAt)}`;
  const condition = `${expr.equal('acceptedAt', acceptedAt)} AND ${isNoEarlier}`;
  return updateReturningItem(toMessageItemKey(key), update, condition, expr);
}

function erase(key: MessageKey, erasedAt: number) {
  const expr = expression();
  const erased = { erasedAt } satisfies z.input<typeof erasedSchema>;
  const condition = `${EXISTS} AND ${expr.equal(['body', 'erasedAt'], undefined)}`;
  return updateReturningItem(toMessageItemKey(key), expr.update({ body: erased }), condition, expr);
}

/** A message stored inline; queue and id are in the record's key. */
const keptMessageSchema = z.object({
  ...messageFields,
  data: z.string(),
} satisfies Record<Exclude<keyof Message, 'queue' | 'id'>, z.ZodType>);

/** Replaces an erased body, so that no body is stored there again. */
const erasedSchema = z.object({ erasedAt: z.number() });

const bodySchema = z.union([
  z.object({ message: keptMessageSchema }),
  z.object({ payloadKey: z.string() }),
  erasedSchema,
]);

/**
 * `LaterPart` as a list (after, listedAt, firstBucket, buckets, chunks), because the record is read with every
 * failure of its deliveries.
 */
const partSchema = z.tuple([z.string(), z.number(), z.number(), z.number()], z.number());

type PartItem = z.output<typeof partSchema>;

/** Attributes of other names than their fields. */
const FIELDS = { life: 'queueCreatedAt', apart: 'unchunked', until: 'lastSubscriptionId' } as const;
const ATTRIBUTES = { queueCreatedAt: 'life', unchunked: 'apart', lastSubscriptionId: 'until' } as const;

const recordSchema = z.object({
  acceptedAt: z.number(),
  listedAt: z.number(),
  type: z.string().exactOptional(),
  matched: z.number(),
  filtered: z.number(),
  duplicates: z.number(),
  buckets: z.number(),
  firstBucket: z.number().exactOptional(),
  life: z.number().exactOptional(),
  chunks: z.number().exactOptional(),
  apart: z.array(z.string()).exactOptional(),
  parts: z.array(partSchema).exactOptional(),
  until: z.string().exactOptional(),
  eventFault: eventFaultSchema.exactOptional(),
  accepted: z
    .object({ digest: z.string(), timestamp: z.string(), expiresAt: z.number().exactOptional() })
    .exactOptional(),
  body: bodySchema.exactOptional(),
  retentionDays: z.number().exactOptional(),
  expiresAt: z.number(),
} satisfies Record<keyof Renamed<Omit<MessageRecord, 'key' | 'erasedAt'>, typeof ATTRIBUTES>, z.ZodType>);

export function toMessageItemKey(key: MessageKey): ItemKey {
  return { pk: toPartition(key, 0), sk: MESSAGE };
}

/** @throws UnreadableRecordError */
export function toMessageRecord(key: MessageKey, item: unknown): MessageRecord {
  const { body, parts, ...record } = decodeRecord(recordSchema, item);
  return {
    key,
    ...renamed(record, FIELDS),
    ...(parts === undefined ? {} : { parts: parts.map(toPart) }),
    ...(body === undefined ? {} : toBodyFields(key, body)),
  };
}

function toPart([after, listedAt, firstBucket, buckets, chunks]: PartItem): LaterPart {
  return { after, listedAt, firstBucket, buckets, ...(chunks === undefined ? {} : { chunks }) };
}

function toPartItem({ after, listedAt, firstBucket = 0, buckets, chunks }: LaterPart): PartItem {
  return [after, listedAt, firstBucket, buckets, ...(chunks === undefined ? [] : [chunks])];
}

function toBodyFields(
  key: MessageKey,
  body: z.output<typeof bodySchema>,
): Pick<MessageRecord, 'body' | 'erasedAt'> {
  if ('erasedAt' in body) return { erasedAt: body.erasedAt };
  if ('payloadKey' in body) return { body: { kind: 'stored', payloadKey: body.payloadKey } };
  return { body: { kind: 'inline', message: { queue: key.queue, id: key.messageId, ...body.message } } };
}

/** The stored form of a body, without undefined values and without what the record already contains. */
function toBodyItem(body: BodyLocation): Record<string, unknown> {
  switch (body.kind) {
    case 'stored':
      return { payloadKey: body.payloadKey };
    case 'inline':
      return { message: keptMessageSchema.parse(body.message) };
  }
}

// Created once: zod compiles a schema at its first use, which costs more than all other work on a message.
const writtenSchema = recordSchema.omit({ body: true, parts: true });

export function toMessageItem({ key, body, parts, ...record }: MessageRecord): Record<string, unknown> {
  return {
    ...toMessageItemKey(key),
    v: RECORD_VERSION,
    ...writtenSchema.parse(renamed(record, ATTRIBUTES)),
    ...(parts === undefined ? {} : { parts: parts.map(toPartItem) }),
    ...(body === undefined ? {} : { body: toBodyItem(body) }),
    [deliveryIndexes.byHour.partition]: byHourPartition(
      key.queue,
      record.acceptedAt,
      hashToShard(key.messageId, shards.byHour),
    ),
    [deliveryIndexes.byHour.sort]: `${sortableTime(record.acceptedAt)}#${key.messageId}`,
    [ttlAttribute]: toTtl(record.expiresAt),
  };
}
