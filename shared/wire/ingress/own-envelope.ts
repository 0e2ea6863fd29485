import * as z from 'zod';
import { MAX_S3_NAME_BYTES } from '../../domain/message/data-reference.ts';
import { MAX_TTL_SECONDS } from '../../domain/message/message.ts';
import { MAX_DELAY_SECONDS } from '../../domain/delivery/wake-up-plan.ts';
import { readWith, type Reading, unreadable } from '../fields.ts';
import { text, typeText, type IngressContent } from './fields.ts';
import { propertySource, type Json } from '../json-slice.ts';

const s3Name = text.refine((name) => Buffer.byteLength(name) <= MAX_S3_NAME_BYTES);

const ownEnvelope = z.object({
  queue: z.string().exactOptional(),
  id: text.exactOptional(),
  type: typeText.exactOptional(),
  ttl: z.int().min(1).max(MAX_TTL_SECONDS).exactOptional(),
  delay: z.int().min(0).max(MAX_DELAY_SECONDS).exactOptional(),
  dataRef: z.object({ bucket: s3Name, key: s3Name, versionId: s3Name.exactOptional() }).exactOptional(),
});

export function isOwnEnvelope(value: Record<string, unknown>): boolean {
  return ['queue', 'data', 'dataRef'].some((key) => Object.hasOwn(value, key));
}

/** Reads Posthaste's envelope: `data` or `dataRef`, and optional fields. */
export function readOwnEnvelope(json: Json): Reading<IngressContent> {
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
