import * as z from 'zod';
import type { Operation } from '../../domain/recovery/operation.ts';
import { readWith, type Reading, storedMilliseconds, storedName, unreadable } from '../fields.ts';
import { openEnvelope, WIRE_VERSION } from './message-body.ts';

/** Encodes an operation for the operation queue. */
export function encodeOperation(operation: Operation): string {
  return JSON.stringify({ v: WIRE_VERSION, ...operation });
}

const count = z.int().nonnegative();

const operation = z.discriminatedUnion('kind', [
  z.object({
    kind: z.literal('recovery'),
    queue: storedName,
    recoveryId: storedName,
    orderedAt: storedMilliseconds,
  }),
  z.object({
    kind: z.literal('cancellation'),
    queue: storedName,
    subscriptionId: storedName.exactOptional(),
    deletedAt: storedMilliseconds,
    cursor: z.string().min(1).exactOptional(),
    settled: z.literal(true).exactOptional(),
    failed: count.exactOptional(),
    looks: count.exactOptional(),
  }),
  z.object({
    kind: z.literal('moving_up'),
    queue: storedName,
    subscriptionId: storedName,
    cursor: z.string().min(1).exactOptional(),
    settled: z.literal(true).exactOptional(),
  }),
]);

/**
 * Parses a message of the operation queue. Unknown keys are ignored; an unknown version gives `unknown_version`.
 * Other reasons: `not_json`, `unknown_kind`, `invalid_field:<path>`.
 */
export function parseOperation(text: string): Reading<Operation> {
  const opened = openEnvelope(text);
  if (!opened.ok) return opened;
  const read = readWith(operation, opened.value.json.value);
  return !read.ok && read.reason === 'invalid_field:kind' ? unreadable('unknown_kind') : read;
}
