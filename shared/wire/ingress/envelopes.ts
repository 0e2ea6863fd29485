import { wholeSource, type Json } from '../json-slice.ts';
import { readBinaryCloudEvent, readStructuredCloudEvent } from './cloud-event.ts';
import { isEventBridgeEvent, readEventBridgeEvent } from './eventbridge-event.ts';
import type { Reading } from '../fields.ts';
import { type IngressContent, isObject } from './fields.ts';
import { isOwnEnvelope, readOwnEnvelope } from './own-envelope.ts';

/**
 * Recognises the envelope, in this order: CloudEvents in binary mode (by attributes), CloudEvents in structured
 * mode (`specversion`), an EventBridge event (`source`, `detail-type` and `detail`), Posthaste's envelope (`queue`,
 * `data` or `dataRef`; unknown keys are ignored). Anything else is data as a whole.
 */
export function readContent(json: Json, attributes: Record<string, string>): Reading<IngressContent> {
  const binary = readBinaryCloudEvent(json, attributes);
  if (binary !== undefined) return binary;
  const { value } = json;
  if (!isObject(value)) return whole(json);
  if (Object.hasOwn(value, 'specversion')) return readStructuredCloudEvent(json);
  if (isEventBridgeEvent(value)) return readEventBridgeEvent(json);
  return isOwnEnvelope(value) ? readOwnEnvelope(json) : whole(json);
}

function whole(json: Json): Reading<IngressContent> {
  return { ok: true, value: { data: wholeSource(json), routedBy: [] } };
}
