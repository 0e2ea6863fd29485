import * as z from 'zod';
import { MAX_DELAY_SECONDS } from '../../domain/delivery/wake-up-plan.ts';
import { isJsonObject } from '../../domain/json.ts';
import { type DataReference, MAX_S3_NAME_BYTES } from '../../domain/message/data-reference.ts';
import { MAX_TTL_SECONDS, MAX_TYPE_LENGTH } from '../../domain/message/message.ts';
import { parseTraceContext, type TraceContext } from '../../domain/message/trace-context.ts';
import { type Reading, readWith, unreadable } from '../fields.ts';
import { type Json, parseJson, propertySource, wholeSource } from '../json-slice.ts';
import { findCloudEventAttribute } from './attributes.ts';

/** Content of a published message, independent of its envelope. */
export type IngressContent = {
  queue?: string;
  /** Present if the publisher set an id; `source`: set if the id is unique only together with it. */
  identity?: { id: string; source?: string };
  type?: string;
  /** RFC 3339 in UTC with milliseconds. */
  timestamp?: string;
  /** JSON source text, or a reference to it. */
  data: string | DataReference;
  /** Seconds. */
  ttl?: number;
  /** Seconds, 0 to 900. */
  delay?: number;
  trace?: TraceContext;
  /** Keys of `ingressRoutes` that may route this message, the most specific first. */
  routedBy: readonly string[];
};

/** A lone surrogate has no form in UTF-8: SQS would refuse every job with it. */
const wellFormed = z.string().refine((given) => given.isWellFormed());

const text = wellFormed.min(1);

const typeText = text.max(MAX_TYPE_LENGTH);

/** An RFC 3339 time, normalised to UTC with milliseconds. A leap second becomes the one before, as in Temporal. */
const eventTime = z
  .string()
  .toUpperCase()
  .overwrite((text) => text.replace(/(?<=T\d\d:\d\d:)60/, '59'))
  .pipe(z.iso.datetime({ offset: true }))
  .transform((text, context) => {
    const time = new Date(text);
    const inUtc = Number.isNaN(time.getTime()) ? '' : time.toISOString();
    // Other years than those of RFC 3339 have a sign.
    if (/^\d/.test(inUtc)) return inUtc;
    context.addIssue({ code: 'custom', message: 'no such time' });
    return z.NEVER;
  });

const s3Name = text.refine((name) => Buffer.byteLength(name) <= MAX_S3_NAME_BYTES);

const ownEnvelope = z.object({
  queue: z.string().exactOptional(),
  id: text.exactOptional(),
  type: typeText.exactOptional(),
  ttl: z.int().min(1).max(MAX_TTL_SECONDS).exactOptional(),
  delay: z.int().min(0).max(MAX_DELAY_SECONDS).exactOptional(),
  dataRef: z.object({ bucket: s3Name, key: s3Name, versionId: s3Name.exactOptional() }).exactOptional(),
});

function isOwnEnvelope(value: Record<string, unknown>): boolean {
  return ['queue', 'data', 'dataRef'].some((key) => Object.hasOwn(value, key));
}

/** Reads Posthaste's envelope: `data` or `dataRef`, and optional fields. */
function readOwnEnvelope(json: Json): Reading<IngressContent> {
  const parsed = readWith(ownEnvelope, json.value);
  if (!parsed.ok) return parsed;
  const { id, dataRef, ...rest } = parsed.value;
  const inline = propertySource(json, 'data');
  if (inline !== undefined && dataRef !== undefined) return unreadable('invalid_field:dataRef');
  const data = inline ?? dataRef;
  if (data === undefined) return unreadable('data_missing');
  const content: IngressContent = {
    ...rest,
    ...(id === undefined ? {} : { identity: { id } }),
    data,
    routedBy: [],
  };
  return { ok: true, value: content };
}

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
function readStructuredCloudEvent(json: Json): Reading<IngressContent> {
  const data = structuredData(json);
  return data.ok ? readAttributes(json.value, data.value) : data;
}

/**
 * The source text of `data`. `data_base64` contains bytes, which JSON cannot represent; subscribers receive the
 * base64 text as a JSON string. Both together are invalid (JSON format §3.1).
 */
function structuredData(json: Json): Reading<string> {
  const encoded = isJsonObject(json.value) ? json.value['data_base64'] : undefined;
  const source = propertySource(json, 'data');
  if (encoded === undefined || encoded === null) return { ok: true, value: source ?? 'null' };
  const isBytes = source === undefined && z.base64().safeParse(encoded).success;
  const text = isBytes ? propertySource(json, 'data_base64') : undefined;
  return text === undefined ? unreadable('invalid_field:data_base64') : { ok: true, value: text };
}

/**
 * Reads binary mode: context attributes as message attributes, the whole body as data. Undefined if the message
 * has no such attributes.
 */
function readBinaryCloudEvent(
  json: Json,
  attributes: Record<string, string>,
): Reading<IngressContent> | undefined {
  const named = Object.fromEntries(
    Object.entries(attributes).flatMap(([name, value]) => {
      const attribute = findCloudEventAttribute(name);
      return attribute === undefined ? [] : [[attribute, value]];
    }),
  );
  return Object.hasOwn(named, 'specversion') ? readAttributes(named, wholeSource(json)) : undefined;
}

function readAttributes(value: unknown, data: string): Reading<IngressContent> {
  const parsed = readWith(attributesSchema, value);
  if (!parsed.ok) return parsed;
  const { id, source, type, time, queue, ...tracing } = parsed.value;
  const trace = parseTraceContext(tracing);
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

const eventBridgeEvent = z.object({
  id: text.exactOptional(),
  source: text,
  'detail-type': typeText,
  time: eventTime.exactOptional(),
  queue: z.string().exactOptional(),
});

function isEventBridgeEvent(value: Record<string, unknown>): boolean {
  return ['source', 'detail-type', 'detail'].every((key) => Object.hasOwn(value, key));
}

/**
 * Reads an EventBridge event: `detail` is the data; the rest of the envelope is dropped ("Events in Amazon
 * EventBridge", user guide).
 */
function readEventBridgeEvent(json: Json): Reading<IngressContent> {
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

/** Content of an SNS notification; values of the message inside take precedence. */
type NotificationContent = Pick<IngressContent, 'identity' | 'type' | 'timestamp' | 'routedBy'> & {
  /** The published text, as parsed JSON or else as a JSON string. */
  inner: Json;
  /** SNS message attributes; treated like SQS attributes, as with raw message delivery. */
  attributes: Record<string, string>;
};

const notification = z.object({
  MessageId: text,
  TopicArn: text,
  Message: wellFormed,
  Subject: typeText.nullish(),
  Timestamp: eventTime,
  MessageAttributes: z.record(z.string(), z.object({ Value: z.string() })).nullish(),
});

function isNotification(value: unknown): boolean {
  return isJsonObject(value) && value['Type'] === 'Notification' && Object.hasOwn(value, 'TopicArn');
}

/**
 * Unwraps an SNS notification ("Amazon SNS message and JSON formats", SNS developer guide). Only the outermost one:
 * a nested notification is data. Undefined for anything else.
 */
export function unwrapNotification(json: Json): Reading<NotificationContent | undefined> {
  if (!isNotification(json.value)) return { ok: true, value: undefined };
  const parsed = readWith(notification, json.value);
  if (!parsed.ok) return parsed;
  const { MessageId, TopicArn, Message, Subject, Timestamp, MessageAttributes } = parsed.value;
  const content: NotificationContent = {
    inner: parseJson(Message) ?? { source: JSON.stringify(Message), value: Message },
    attributes: Object.fromEntries(
      Object.entries(MessageAttributes ?? {}).map(([name, { Value }]) => [name, Value]),
    ),
    identity: { id: MessageId },
    ...(typeof Subject === 'string' ? { type: Subject } : {}),
    timestamp: Timestamp,
    routedBy: [TopicArn, TopicArn.slice(TopicArn.lastIndexOf(':') + 1)],
  };
  return { ok: true, value: content };
}

/**
 * Recognises the envelope, in this order: CloudEvents in binary mode (by attributes), CloudEvents in structured
 * mode (`specversion`), an EventBridge event (`source`, `detail-type` and `detail`), Posthaste's envelope (`queue`,
 * `data` or `dataRef`; unknown keys are ignored). Anything else is data as a whole.
 */
export function readContent(json: Json, attributes: Record<string, string>): Reading<IngressContent> {
  const binary = readBinaryCloudEvent(json, attributes);
  if (binary !== undefined) return binary;
  const { value } = json;
  if (!isJsonObject(value)) return whole(json);
  if (Object.hasOwn(value, 'specversion')) return readStructuredCloudEvent(json);
  if (isEventBridgeEvent(value)) return readEventBridgeEvent(json);
  return isOwnEnvelope(value) ? readOwnEnvelope(json) : whole(json);
}

function whole(json: Json): Reading<IngressContent> {
  return { ok: true, value: { data: wholeSource(json), routedBy: [] } };
}
