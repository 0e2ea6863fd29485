import * as z from 'zod';
import type { DeliveryKey } from '../../../shared/domain/delivery/delivery.ts';
import { isMessageId } from '../../../shared/domain/message/message.ts';
import { parsedJson } from '../request-json.ts';

/**
 * Names one receive of a delivery. Nothing in it is trusted: the record of the delivery has the owner of the lease,
 * which is random.
 */
export type Receipt = { key: DeliveryKey; attempt: number; owner: string };

const VERSION = 1;

const receiptSchema = z.tuple([
  z.literal(VERSION),
  z.string(),
  z.string().refine(isMessageId),
  z.string(),
  z.int().nonnegative(),
  z.int().positive(),
  z.string(),
]);

/** More than the longest names need. In characters. */
export const MAX_RECEIPT_LENGTH = 1024;

export function receiptText({ key, attempt, owner }: Receipt): string {
  const { queue, messageId, subscriptionId, bucket } = key;
  const parts = [VERSION, queue, messageId, subscriptionId, bucket, attempt, owner];
  return Buffer.from(JSON.stringify(parts)).toString('base64url');
}

/** Undefined: no receipt of this version. */
export function parseReceipt(text: string): Receipt | undefined {
  const parsed = receiptSchema.safeParse(parsedJson(Buffer.from(text, 'base64url').toString()));
  if (!parsed.success) return undefined;
  const [, queue, messageId, subscriptionId, bucket, attempt, owner] = parsed.data;
  return { key: { queue, messageId, subscriptionId, bucket }, attempt, owner };
}
