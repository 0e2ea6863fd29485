import * as z from 'zod';
import { readWith, type Reading, unreadable } from '../fields.ts';
import { propertySource, type Json } from '../json-slice.ts';
import { eventTime, text, typeText, type IngressContent } from './fields.ts';

const eventBridgeEvent = z.object({
  id: text.exactOptional(),
  source: text,
  'detail-type': typeText,
  time: eventTime.exactOptional(),
  queue: z.string().exactOptional(),
});

export function isEventBridgeEvent(value: Record<string, unknown>): boolean {
  return ['source', 'detail-type', 'detail'].every((key) => Object.hasOwn(value, key));
}

/**
 * Reads an EventBridge event: `detail` is the data; the rest of the envelope is dropped ("Events in Amazon
 * EventBridge", user guide).
 */
export function readEventBridgeEvent(json: Json): Reading<IngressContent> {
  const parsed = readWith(eventBridgeEvent, json.value);
  if (!parsed.ok) return parsed;
  const data = propertySource(json, 'detail');
  if (data === undefined) return unreadable('data_missing');
  const { id, source, 'detail-type': type, time, queue } = parsed.value;
  const content: IngressContent = {
    type,
    data,
    routedBy: [type, source],
    ...(queue === undefined ? {} : { queue }),
    ...(id === undefined ? {} : { identity: { id } }),
    ...(time === undefined ? {} : { timestamp: time }),
  };
  return { ok: true, value: content };
}
