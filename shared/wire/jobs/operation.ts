import { type Operation, operationSchema } from '../../domain/recovery/operation.ts';
import { readWith, type Reading, unreadable } from '../fields.ts';
import { openEnvelope, WIRE_VERSION } from './message-body.ts';

/** Encodes an operation for the operation queue. */
export function encodeOperation(operation: Operation): string {
  return JSON.stringify({ v: WIRE_VERSION, ...operation });
}

/**
 * Parses a message of the operation queue. Unknown keys are ignored; an unknown version gives `unknown_version`.
 * Other reasons: `not_json`, `unknown_kind`, `invalid_field:<path>`.
 */
export function parseOperation(text: string): Reading<Operation> {
  const opened = openEnvelope(text);
  if (!opened.ok) return opened;
  const read = readWith(operationSchema, opened.value.json.value);
  return !read.ok && read.reason === 'invalid_field:kind' ? unreadable('unknown_kind') : read;
}
