import * as z from 'zod';
import { readBinaryCloudEvent, readStructuredCloudEvent } from './cloud-event.ts';
import { firstField } from '../fields.ts';
import { eventTime, isObject, typeText, type Content, type ReadContent } from './fields.ts';
import { propertySource, wholeSource, type Json } from '../json-slice.ts';
import { isOwnEnvelope, readOwnEnvelope } from './own-envelope.ts';

/**
 * Recognises the envelope, in this order: CloudEvents in binary mode (by attributes), CloudEvents in structured mode (has
 * `specversion`), an EventBridge event (has `source`, `detail-type` and `detail`), our own (has `queue`,
 * `data` or `dataRef`; keys that are not ours are ignored). Anything else is data as a whole.
 */
export function readContent(json: Json, attributes: Record<string, string>): ReadContent {
  const binary = readBinaryCloudEvent(json, attributes);
  if (binary !== undefined) return binary;
  const { value } = json;
  if (!isObject(value)) return whole(json);
  if (Object.hasOwn(value, 'specversion')) return readStructuredCloudEvent(json);
  if (isEventBridgeEvent(value)) return readEventBridgeEvent(json);
  return isOwnEnvelope(value) ? readOwnEnvelope(json) : whole(json);
}

function whole(json: Json): ReadContent {
  return { ok: true, content: { data: wholeSource(json), routedBy: [] } };
}

const eventBridgeEvent = z.object({
  id: z.string().min(1).exactOptional(),
  source: z.string().min(1),
  'detail-type': typeText,
  time: eventTime.exactOptional(),
  queue: z.string().exactOptional(),
});

function isEventBridgeEvent(value: Record<string, unknown>): boolean {
  return ['source', 'detail-type', 'detail'].every((key) => Object.hasOwn(value, key));
}

/** `detail` is the data; the rest of the envelope is not passed on ("Events in Amazon EventBridge", user guide). */
function readEventBridgeEvent(json: Json): ReadContent {
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
}
