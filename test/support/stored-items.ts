import { readFileSync } from 'node:fs';
import * as z from 'zod';

const itemSchema = z.looseObject({ pk: z.string(), sk: z.string() });
export type StoredItem = z.infer<typeof itemSchema>;

const bodies = z.array(z.string()).default([]);

/** A queue in one situation: its items, what the SQS queues had for it, and what the API answered, by path. */
const situationSchema = z.object({
  recordedAt: z.number(),
  items: z.object({ subscriptions: z.array(itemSchema), deliveries: z.array(itemSchema) }),
  ingress: bodies,
  delivery: bodies,
  retry: bodies,
  operation: bodies,
  undeliverable: bodies,
  /** Of a pull subscription: the token, the one that it replaced, and receipts by message. */
  pull: z
    .object({
      id: z.string(),
      old: z.string(),
      token: z.string(),
      receipts: z.record(z.string(), z.string()),
    })
    .exactOptional(),
  views: z.record(z.string(), z.unknown()).default({}),
});

export type Situation = z.infer<typeof situationSchema>;
export function parseSituation(text: string): Situation {
  return situationSchema.parse(JSON.parse(text));
}

/**
 * What versions left behind, by situation: the release 0.1.0, and two commits after it. It was recorded on the local AWS by
 * stopping the functions at the right moment; states that take days were written by the item mapping of that version.
 * Tokens are made up. Sealed secrets are missing, because their KMS key no longer exists. A DynamoDB set is an array.
 */
export const stored = {
  '0.1.0': recordedBy('0.1.0'),
  '556ba158': recordedBy('556ba158'),
  '12df063c': recordedBy('12df063c'),
};

export type StoredBy = keyof typeof stored;

function recordedBy(version: string): Record<string, Situation> {
  const file = new URL(`../deployed/stored-by-${version}.json`, import.meta.url);
  return z.record(z.string(), situationSchema).parse(JSON.parse(readFileSync(file, 'utf8')));
}

export function situationOf(version: StoredBy, name: string): Situation {
  const situation = stored[version][name];
  if (situation === undefined) throw new Error(`nothing recorded for ${name}`);
  return situation;
}

/** With its set, as the SDK reads it. */
export function asRead(item: StoredItem): StoredItem {
  return Array.isArray(item['early']) ? { ...item, early: new Set(item['early']) } : item;
}
