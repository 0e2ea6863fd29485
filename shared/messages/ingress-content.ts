import * as z from 'zod';
import { MAX_DELAY_SECONDS } from '../domain/wake-up-plan.ts';
import { readBinaryCloudEvent, readStructuredCloudEvent } from './cloud-event.ts';
import { firstField } from './field-fault.ts';
import { eventTime, isObject, typeText, type Content, type ReadContent } from './ingress-fields.ts';
import { propertySource, wholeSource, type Json } from './json-slice.ts';

/**
 * Recognises the envelope, in this order: CloudEvents in binary mode (by attributes), CloudEvents in structured mode (has
 * `specversion`), an EventBridge event (has `source`, `detail-type` and `detail`), our own (has `queue` or
 * `data`; keys that are not ours are ignored). Anything else is data as a whole.
 */
export const readContent = (json: Json, attributes: Record<string, string>): ReadContent => {
  const binary = readBinaryCloudEvent(json, attributes);
  if (binary !== undefined) return binary;
  const { value } = json;
  if (!isObject(value)) return whole(json);
  if (Object.hasOwn(value, 'specversion')) return readStructuredCloudEvent(json);
  if (isEventBridgeEvent(value)) return readEventBridgeEvent(json);
  return isOwnEnvelope(value) ? readOwnEnvelope(json) : whole(json);
};

const whole = (json: Json): ReadContent => ({ ok: true, content: { data: wholeSource(json), routedBy: [] } });

/** Longest `ttl`: beyond any retention, and safe to add to a time. */
const MAX_TTL_SECONDS = 2 ** 31 - 1;

const ownEnvelope = z.object({
  queue: z.string().exactOptional(),
  id: z.string().min(1).exactOptional(),
  type: typeText.exactOptional(),
  ttl: z.int().min(1).max(MAX_TTL_SECONDS).exactOptional(),
  delay: z.int().min(0).max(MAX_DELAY_SECONDS).exactOptional(),
});

const isOwnEnvelope = (value: Record<string, unknown>): boolean =>
  Object.hasOwn(value, 'queue') || Object.hasOwn(value, 'data');

const readOwnEnvelope = (json: Json): ReadContent => {
  const parsed = ownEnvelope.safeParse(json.value);
  if (!parsed.success) return { ok: false, reason: `invalid_field:${firstField(parsed.error)}` };
  const data = propertySource(json, 'data');
  if (data === undefined) return { ok: false, reason: 'data_missing' };
  const { id, ...rest } = parsed.data;
  return {
    ok: true,
    content: { ...rest, ...(id === undefined ? {} : { identity: { id } }), data, routedBy: [] },
  };
};

const eventBridgeEvent = z.object({
  id: z.string().min(1).exactOptional(),
  source: z.string().min(1),
  'detail-type': typeText,
  time: eventTime.exactOptional(),
  queue: z.string().exactOptional(),
});

const isEventBridgeEvent = (value: Record<string, unknown>): boolean =>
  ['source', 'detail-type', 'detail'].every((key) => Object.hasOwn(value, key));

/** `detail` is the data; the rest of the envelope is not passed on ("Events in Amazon EventBridge", user guide). */
const readEventBridgeEvent = (json: Json): ReadContent => {
  const parsed = eventBridgeEvent.safeParse(json.value);
  if (!parsed.success) return { ok: false, reason: `invalid_field:${firstField(parsed.error)}` };
  const data = propertySource(json, 'detail');
  if (data === undefined) return { ok: false, reason: 'data_missing' };
  const { id, source, 'detail-type': type, time, queue } = parsed.data;
  const content: Content = {
    type,
    data,
    routedBy: [type, source],
    ...(queue === undefined ? {} : { queue }),
    ...(id === undefined ? {} : { identity: { id } }),
    ...(time === undefined ? {} : { timestamp: time }),
  };
  return { ok: true, content };
};
