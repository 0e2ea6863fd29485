import { type Operation, operationSchema } from '../../domain/recovery/operation.ts';
import type { Reading } from '../fields.ts';
import { readVersioned, WIRE_VERSION } from './message-body.ts';

/** Encodes an operation for the operation queue. */
export function encodeOperation(operation: Operation): string {
  return JSON.stringify({ v: WIRE_VERSION, ...operation });
}

/** Parses a message of the operation queue. */
export function parseOperation(text: string): Reading<Operation> {
  const read = readVersioned(operationSchema, text);
  return read.ok ? { ok: true, value: read.value.value } : read;
}
