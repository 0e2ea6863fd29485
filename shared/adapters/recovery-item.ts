import * as z from 'zod';
import { primaryKey, ttlAttribute } from '../config/tables.ts';
import type { DeliveryKey } from '../domain/delivery.ts';
import { RECOVERABLE, RECOVERY_STATES, type Recovery } from '../domain/recovery.ts';
import { decodedRecord, RECORD_VERSION, ttlOf } from './record.ts';

/** No other key of the table begins so: those of messages hold two `#`. */
const JOB = 'JOB#';
const RECOVERY = 'RECOVERY#';

export const recoveryPrefix = RECOVERY;

export const jobsPartitionOf = (queue: string): string => `${JOB}${queue}`;

export const recoveryKeyOf = (queue: string, id: string): Record<'pk' | 'sk', string> => ({
  [primaryKey.partition]: jobsPartitionOf(queue),
  [primaryKey.sort]: `${RECOVERY}${id}`,
});

/** The queue is the recovery's. */
const deliveryKeys = z
  .array(z.object({ messageId: z.string(), subscriptionId: z.string(), bucket: z.number() }))
  .default([]);

const recoverySchema = z.object({
  id: z.string(),
  queue: z.string(),
  since: z.number(),
  until: z.number(),
  subscriptionId: z.string().exactOptional(),
  status: z.enum(RECOVERABLE).exactOptional(),
  state: z.enum(RECOVERY_STATES),
  found: z.number(),
  reopened: z.number(),
  skipped: z.record(z.string(), z.number()),
  batch: deliveryKeys,
  deferred: deliveryKeys,
  looks: z.number(),
  cursor: z.string().exactOptional(),
  listed: z.boolean(),
  version: z.number(),
  createdAt: z.number(),
  updatedAt: z.number(),
  expiresAt: z.number(),
} satisfies Record<keyof Recovery['selection'] | Exclude<keyof Recovery, 'selection'>, z.ZodType>);

/** @throws UnreadableRecordError */
export const recoveryOf = (item: unknown): Recovery => {
  const { queue, since, until, subscriptionId, status, batch, deferred, ...rest } = decodedRecord(
    recoverySchema,
    item,
  );
  const ofQueue = (key: Omit<DeliveryKey, 'queue'>): DeliveryKey => ({ queue, ...key });
  return {
    selection: {
      queue,
      since,
      until,
      ...(subscriptionId !== undefined && { subscriptionId }),
      ...(status !== undefined && { status }),
    },
    batch: batch.map(ofQueue),
    deferred: deferred.map(ofQueue),
    ...rest,
  };
};

export const recoveryItemOf = ({
  selection,
  batch,
  deferred,
  ...rest
}: Recovery): Record<string, unknown> => ({
  ...recoveryKeyOf(selection.queue, rest.id),
  v: RECORD_VERSION,
  ...selection,
  ...rest,
  ...(batch.length > 0 && { batch: batch.map(withoutQueue) }),
  ...(deferred.length > 0 && { deferred: deferred.map(withoutQueue) }),
  [ttlAttribute]: ttlOf(rest.expiresAt),
});

const withoutQueue = ({ messageId, subscriptionId, bucket }: DeliveryKey) => ({
  messageId,
  subscriptionId,
  bucket,
});
