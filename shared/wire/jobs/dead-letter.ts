import type { DeadLetterAttribute } from '../../domain/delivery/dead-letter.ts';
import type { Delivery } from '../../domain/delivery/delivery.ts';
import { isIngressAttribute } from '../ingress/attributes.ts';
import { spliceRaw } from '../json-slice.ts';
import { deliveryView } from '../views/shown-delivery.ts';

/** Maximum size of a notice in bytes; a larger one contains a reference to the data instead. */
export const MAX_NOTICE_BYTES = 256 * 1024;

/**
 * Encodes a notice for the undeliverable queue: the delivery as in the API, with `lastStatus`, and `data` as JSON source
 * text or `dataRef`. With neither, the data was erased.
 */
export function encodeUndeliverableNotice(
  delivery: Delivery,
  { data, dataRef }: { data?: string; dataRef?: string } = {},
): string {
  const fields = { ...deliveryView(delivery), lastStatus: findLastStatus(delivery), dataRef };
  return data === undefined ? JSON.stringify(fields) : spliceRaw(fields, 'data', data);
}

function findLastStatus({ attempts }: Delivery): number | null {
  const last = attempts.at(-1)?.result;
  return last?.kind === 'answered' ? last.statusCode : null;
}

/** The attributes of a received message that are text; Posthaste has no others. */
export function stringAttributes(
  attributes: Readonly<Record<string, { stringValue?: string | undefined }>>,
): Record<string, string> {
  return Object.fromEntries(
    Object.entries(attributes).flatMap(([name, { stringValue }]) =>
      stringValue === undefined ? [] : [[name, stringValue]],
    ),
  );
}

/** Attribute with the reason for which a function dead-lettered a message. */
export const REASON_ATTRIBUTE = 'reason';

/** Maximum size of a message with its attributes in bytes (Amazon SQS message quotas). */
const MAX_BYTES = 1024 * 1024;

/** Whether SQS would refuse a message for its size. */
export function isTooLarge(
  body: string,
  attributes: Readonly<Record<string, DeadLetterAttribute | string>>,
): boolean {
  const bytes = Object.entries(attributes).reduce(
    (sum, [name, given]) => sum + Buffer.byteLength(name) + countBytes(given),
    Buffer.byteLength(body),
  );
  return bytes > MAX_BYTES;
}

function countBytes(given: DeadLetterAttribute | string): number {
  const attribute = typeof given === 'string' ? { type: 'String', text: given } : given;
  const value = 'text' in attribute ? Buffer.byteLength(attribute.text) : attribute.bytes.byteLength;
  return Buffer.byteLength(attribute.type) + value;
}

/** Maximum number of attributes of a message (Amazon SQS message quotas). */
const MAX_ATTRIBUTES = 10;

/** The reserved attributes, and as many of the sender's as fit; those that dispatch reads take precedence. */
export function withReservedAttributes<Value>(
  sender: Readonly<Record<string, Value>>,
  reserved: Readonly<Record<string, Value>>,
): Record<string, Value> {
  const kept = Object.entries(sender)
    .filter(([name]) => !Object.hasOwn(reserved, name))
    .toSorted(([one], [other]) => Number(isIngressAttribute(other)) - Number(isIngressAttribute(one)))
    .slice(0, MAX_ATTRIBUTES - Object.keys(reserved).length);
  return { ...Object.fromEntries(kept), ...reserved };
}
