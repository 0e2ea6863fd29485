import * as z from 'zod';
import type { Delivery } from '../../domain/delivery/delivery.ts';
import { deliveryView, deliveryViewSchema } from '../views/delivery.ts';
import { spliceRaw } from './message-body.ts';

/** Above this the body of the undeliverable queue names where the data is instead of holding it. Bytes of the whole. */
export const MAX_NOTICE_BYTES = 256 * 1024;

/** The data of an undeliverable message: JSON source text, the place of the whole message, or erased. */
export type NoticeData =
  { kind: 'inline'; data: string } | { kind: 'reference'; dataRef: string } | { kind: 'gone' };

/** What an undeliverable message looks like beside its `data`, which is any JSON. */
export const undeliverableNoticeSchema = deliveryViewSchema.extend({
  /** HTTP status of the last attempt; null where it got no answer. */
  lastStatus: z.int().nullable(),
  /** `s3://bucket/key` of the message as JSON, the data under `data`. */
  dataRef: z.string().exactOptional(),
});

/** The undeliverable queue's body: the delivery as the API shows it, with `lastStatus` and `data` or `dataRef`. */
export function encodeUndeliverableNotice(delivery: Delivery, data: NoticeData): string {
  const fields = { ...deliveryView(delivery), lastStatus: delivery.attempts.at(-1)?.statusCode ?? null };
  switch (data.kind) {
    case 'inline':
      return spliceRaw(fields, 'data', data.data);
    case 'reference':
      return JSON.stringify({ ...fields, dataRef: data.dataRef });
    case 'gone':
      return JSON.stringify(fields);
  }
}
