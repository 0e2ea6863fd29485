import * as z from 'zod';
import type { UnreadableReason } from '../../domain/vocabulary.ts';
import type { Operation } from '../../domain/recovery/operation.ts';
import { firstField } from '../fields.ts';
import { parseJson } from '../json-slice.ts';
import { WIRE_VERSION } from './message-body.ts';

export type ParsedOperation = { ok: true; value: Operation } | { ok: false; reason: UnreadableReason };

/** Encodes an operation for the operation queue. */
export function encodeOperation(operation: Operation): string {
  return JSON.stringify({ v: WIRE_VERSION, ...operation });
}

const milliseconds = z.number().nonnegative();
const count = z.int().nonnegative();
const name = z.string().min(1);

const operation = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('recovery'), queue: name, recoveryId: name, orderedAt: milliseconds }),
  z.object({
    kind: z.literal('cancellation'),
    queue: name,
    subscriptionId: name.exactOptional(),
    deletedAt: milliseconds,
    cursor: name.exactOptional(),
    settled: z.literal(true).exactOptional(),
    failed: count.exactOptional(),
    looks: count.exactOptional(),
  }),
  z.object({
    kind: z.literal('moving_up'),
    queue: name,
    subscriptionId: name,
    cursor: name.exactOptional(),
    settled: z.literal(true).exactOptional(),
  }),
]);

const envelope = z.object({ v: z.unknown().optional(), kind: z.unknown().optional() });

/**
 * Parses a message of the operation queue. Unknown keys are ignored; an unknown version gives `unknown_version`.
 * Other reasons: `not_json`, `unknown_kind`, `invalid_field:<path>`.
 */
export function parseOperation(text: string): ParsedOperation {
  const json = parseJson(text);
  if (json === undefined) return refusal('not_json');
  const outer = envelope.safeParse(json.value);
  if (!outer.success) return refusal(`invalid_field:${firstField(outer.error)}`);
  if (outer.data.v !== WIRE_VERSION) return refusal('unknown_version');
  const parsed = operation.safeParse(json.value);
  if (parsed.success) return { ok: true, value: parsed.data };
  const field = firstField(parsed.error);
  return refusal(field === 'kind' ? 'unknown_kind' : `invalid_field:${field}`);
}

function refusal(reason: UnreadableReason): ParsedOperation {
  return { ok: false, reason };
}
