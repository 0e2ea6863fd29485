import * as z from 'zod';
import { traceContextOf } from '../../domain/message/trace-context.ts';
import { readWith, type Reading, unreadable } from '../fields.ts';
import { eventTime, isObject, text, typeText, type IngressContent } from './fields.ts';
import { propertySource, wholeSource, type Json } from '../json-slice.ts';

/**
 * Context attributes (CloudEvents 1.0.2 §3) and Posthaste's extension `queue`. A null attribute counts as unset
 * (JSON format §2.2).
 */
const attributesSchema = z.object({
  specversion: z.literal('1.0'),
  id: text,
  source: text,
  type: typeText,
  time: eventTime.nullish(),
  queue: z.string().nullish(),
  // The extension "Distributed Tracing".
  traceparent: z.unknown().optional(),
  tracestate: z.unknown().optional(),
});

/** Reads CloudEvents' JSON format. An event without data is valid; subscribers receive `null`. */
export function readStructuredCloudEvent(json: Json): Reading<IngressContent> {
  const data = structuredData(json);
  return data.ok ? readAttributes(json.value, data.value) : data;
}

/**
 * The source text of `data`. `data_base64` contains bytes, which JSON cannot represent; subscribers receive the
 * base64 text as a JSON string. Both together are invalid (JSON format §3.1).
 */
function structuredData(json: Json): Reading<string> {
  const encoded = isObject(json.value) ? json.value['data_base64'] : undefined;
  const source = propertySource(json, 'data');
  if (encoded === undefined || encoded === null) return { ok: true, value: source ?? 'null' };
  const isBytes = source === undefined && z.base64().safeParse(encoded).success;
  const text = isBytes ? propertySource(json, 'data_base64') : undefined;
  return text === undefined ? unreadable('invalid_field:data_base64') : { ok: true, value: text };
}

/**
 * CloudEvents defines no binding for SQS. Accepts the prefixes of its HTTP, Kafka and AMQP bindings, as far as SQS
 * attribute names allow them: SQS forbids the colon, and AMQP allows `_` instead.
 */
const ATTRIBUTE_NAME = /^(?:ce[-_]|cloudEvents_)(?<attribute>[a-z0-9]+)$/;

export function isCloudEventAttribute(name: string): boolean {
  return ATTRIBUTE_NAME.test(name);
}

/**
 * Reads binary mode: context attributes as message attributes, the whole body as data. Undefined if the message
 * has no such attributes.
 */
export function readBinaryCloudEvent(
  json: Json,
  attributes: Record<string, string>,
): Reading<IngressContent> | undefined {
  const named = Object.fromEntries(
    Object.entries(attributes).flatMap(([name, value]) => {
      const attribute = ATTRIBUTE_NAME.exec(name)?.groups?.['attribute'];
      return attribute === undefined ? [] : [[attribute, value]];
    }),
  );
  return Object.hasOwn(named, 'specversion') ? readAttributes(named, wholeSource(json)) : undefined;
}

function readAttributes(value: unknown, data: string): Reading<IngressContent> {
  const parsed = readWith(attributesSchema, value);
  if (!parsed.ok) return parsed;
  const { id, source, type, time, queue, ...tracing } = parsed.value;
  const trace = traceContextOf(tracing);
  const content: IngressContent = {
    identity: { id, source },
    type,
    data,
    routedBy: [type, source],
    ...(typeof time === 'string' ? { timestamp: time } : {}),
    ...(typeof queue === 'string' ? { queue } : {}),
    ...(trace === undefined ? {} : { trace }),
  };
  return { ok: true, value: content };
}
