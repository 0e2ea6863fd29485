import * as z from 'zod';
import type { Delivery } from '../../domain/delivery/delivery.ts';
import { deliveryView, deliveryViewSchema } from '../views/delivery.ts';
import { spliceRaw } from '../json-slice.ts';

/** Maximum size of a notice in bytes; a larger one contains a reference to the data instead. */
export const MAX_NOTICE_BYTES = 256 * 1024;

/** Data in a notice: JSON source text, a reference to the stored message, or none because it was erased. */
export type NoticeData =
  { kind: 'inline'; data: string } | { kind: 'reference'; dataRef: string } | { kind: 'gone' };

/** Fields of a notice without `data`, which may be any JSON. */
export const undeliverableNoticeSchema = deliveryViewSchema.extend({
  /** HTTP status of the last attempt; null if there was no response. */
  lastStatus: z.int().nullable(),
  /** `s3://bucket/key` of the stored message, a JSON object; its `data` is the data. */
  dataRef: z.string().exactOptional(),
});

/**
 * Encodes a notice for the undeliverable queue: the delivery as in the API, with `lastStatus` and `data` or
 * `dataRef`.
 */
export function encodeUndeliverableNotice(delivery: Delivery, data: NoticeData): string {
  const fields = { ...deliveryView(delivery), lastStatus: lastStatusOf(delivery) };
  switch (data.kind) {
    case 'inline':
      return spliceRaw(fields, 'data', data.data);
    case 'reference':
      return JSON.stringify({ ...fields, dataRef: data.dataRef });
    case 'gone':
      return JSON.stringify(fields);
  }
}

function lastStatusOf({ attempts }: Delivery): number | null {
  const last = attempts.at(-1)?.result;
  return last?.kind === 'answered' ? last.statusCode : null;
}
