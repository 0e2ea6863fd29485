import { z } from 'zod';
import { deliveryIndexes, ttlAttribute } from '../config/tables.ts';
import type { MessageBody } from '../domain/message-body.ts';
import type { Message, MessageKey } from '../domain/message.ts';
import type { MessageRecord } from '../ports/message-records.ts';
import { MESSAGE, partitionOf, shardOf, shards, sortableTime } from './delivery-keys.ts';
import { decodedRecord, RECORD_VERSION, ttlOf } from './record.ts';

/** A message kept on its own record: queue and id are the record's. */
const keptMessageSchema = z.object({
  originalId: z.string().exactOptional(),
  type: z.string().exactOptional(),
  timestamp: z.string(),
  data: z.string(),
  expiresAt: z.number().exactOptional(),
} satisfies Record<Exclude<keyof Message, 'queue' | 'id'>, z.ZodType>);

const bodySchema = z.union([z.object({ message: keptMessageSchema }), z.object({ payloadKey: z.string() })]);

const recordSchema = z.object({
  acceptedAt: z.number(),
  listedAt: z.number(),
  type: z.string().exactOptional(),
  matched: z.number(),
  filtered: z.number(),
  duplicates: z.number(),
  buckets: z.number(),
  body: bodySchema.exactOptional(),
  expiresAt: z.number(),
} satisfies Record<Exclude<keyof MessageRecord, 'key'>, z.ZodType>);

export const messageItemKeyOf = (key: MessageKey): { pk: string; sk: string } => ({
  pk: partitionOf(key, 0),
  sk: MESSAGE,
});

/** @throws UnreadableRecordError */
export const messageRecordOf = (key: MessageKey, item: unknown): MessageRecord => {
  const { body, ...record } = decodedRecord(recordSchema, item);
  return { key, ...record, ...(body === undefined ? {} : { body: bodyOf(key, body) }) };
};

const bodyOf = (key: MessageKey, body: z.output<typeof bodySchema>): MessageBody =>
  'message' in body
    ? { kind: 'inline', message: { queue: key.queue, id: key.messageId, ...body.message } }
    : { kind: 'stored', payloadKey: body.payloadKey };

/** Nothing undefined is in what the schema gives, and nothing that the record says anyway. */
export const bodyItemOf = (body: MessageBody): Record<string, unknown> => {
  switch (body.kind) {
    case 'stored':
      return { payloadKey: body.payloadKey };
    case 'inline':
      return { message: keptMessageSchema.parse(body.message) };
  }
};

export const messageItemOf = ({ key, body, ...record }: MessageRecord): Record<string, unknown> => ({
  ...messageItemKeyOf(key),
  v: RECORD_VERSION,
  ...recordSchema.omit({ body: true }).parse(record),
  ...(body === undefined ? {} : { body: bodyItemOf(body) }),
  [deliveryIndexes.byHour.partition]: byHourPartition(
    key.queue,
    record.acceptedAt,
    shardOf(key.messageId, shards.byHour),
  ),
  [deliveryIndexes.byHour.sort]: `${sortableTime(record.acceptedAt)}#${key.messageId}`,
  [ttlAttribute]: ttlOf(record.expiresAt),
});

/** `<queue>#2026-11-21T14#<shard>`, the hour in UTC. */
const byHourPartition = (queue: string, acceptedAt: number, shard: number): string =>
  `${queue}#${new Date(acceptedAt).toISOString().slice(0, 13)}#${shard}`;
