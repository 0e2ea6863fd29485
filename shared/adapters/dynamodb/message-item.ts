import * as z from 'zod';
import { deliveryIndexes, ttlAttribute } from '../../config/tables.ts';
import type { BodyLocation } from '../../domain/message/body.ts';
import type { LaterPart } from '../../domain/delivery/fan-out.ts';
import type { Message, MessageKey } from '../../domain/message/message.ts';
import { traceContextSchema } from '../../domain/message/trace-context.ts';
import type { MessageRecord } from '../../ports/messages.ts';
import { byHourPartition, MESSAGE, partitionOf, shardOf, shards, sortableTime } from './delivery-keys.ts';
import { decodeRecord, type ItemKey, RECORD_VERSION, ttlOf } from './record.ts';

/** A message stored inline; queue and id are in the record's key. */
const keptMessageSchema = z.object({
  originalId: z.string().exactOptional(),
  type: z.string().exactOptional(),
  timestamp: z.string(),
  data: z.string(),
  expiresAt: z.number().exactOptional(),
  trace: traceContextSchema.exactOptional(),
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
  accepted: z
    .object({ digest: z.string(), timestamp: z.string(), expiresAt: z.number().exactOptional() })
    .exactOptional(),
  body: bodySchema.exactOptional(),
  retentionDays: z.number().exactOptional(),
  expiresAt: z.number(),
} satisfies Record<Exclude<keyof MessageRecord, 'key' | 'erasedAt'>, z.ZodType>);

export function messageItemKeyOf(key: MessageKey): ItemKey {
  return { pk: partitionOf(key, 0), sk: MESSAGE };
}

/** @throws UnreadableRecordError */
export function messageRecordOf(key: MessageKey, item: unknown): MessageRecord {
  const { body, parts, ...record } = decodeRecord(recordSchema, item);
  return {
    key,
    ...record,
    ...(parts === undefined ? {} : { parts: parts.map(partOf) }),
    ...(body === undefined ? {} : fieldsOf(key, body)),
  };
}

function partOf([after, listedAt, firstBucket, buckets, chunks]: PartItem): LaterPart {
  return { after, listedAt, firstBucket, buckets, ...(chunks === undefined ? {} : { chunks }) };
}

export function partItemOf({ after, listedAt, firstBucket = 0, buckets, chunks }: LaterPart): PartItem {
  return [after, listedAt, firstBucket, buckets, ...(chunks === undefined ? [] : [chunks])];
}

function fieldsOf(
  key: MessageKey,
  body: z.output<typeof bodySchema>,
): Pick<MessageRecord, 'body' | 'erasedAt'> {
  if ('erasedAt' in body) return { erasedAt: body.erasedAt };
  if ('payloadKey' in body) return { body: { kind: 'stored', payloadKey: body.payloadKey } };
  return { body: { kind: 'inline', message: { queue: key.queue, id: key.messageId, ...body.message } } };
}

/** The stored form of a body, without undefined values and without what the record already contains. */
export function bodyItemOf(body: BodyLocation): Record<string, unknown> {
  switch (body.kind) {
    case 'stored':
      return { payloadKey: body.payloadKey };
    case 'inline':
      return { message: keptMessageSchema.parse(body.message) };
  }
}

export function erasedBodyItem(at: number): z.input<typeof erasedSchema> {
  return { erasedAt: at };
}

// Created once: zod compiles a schema at its first use, which costs more than all other work on a message.
const writtenSchema = recordSchema.omit({ body: true, parts: true });

export function messageItemOf({ key, body, parts, ...record }: MessageRecord): Record<string, unknown> {
  return {
    ...messageItemKeyOf(key),
    v: RECORD_VERSION,
    ...writtenSchema.parse(record),
    ...(parts === undefined ? {} : { parts: parts.map(partItemOf) }),
    ...(body === undefined ? {} : { body: bodyItemOf(body) }),
    [deliveryIndexes.byHour.partition]: byHourPartition(
      key.queue,
      record.acceptedAt,
      shardOf(key.messageId, shards.byHour),
    ),
    [deliveryIndexes.byHour.sort]: `${sortableTime(record.acceptedAt)}#${key.messageId}`,
    [ttlAttribute]: ttlOf(record.expiresAt),
  };
}
