import * as z from 'zod';
import type { Chunk, FirstSuccess, Standing } from '../domain/chunk.ts';
import { chunkKeyOf } from './delivery-keys.ts';
import { decoded, decodedRecord } from './record.ts';

/** Nothing is on record of a member yet. */
const PENDING = 0;

/** A member's delivery has a record of its own. */
const OWN = 1;

const number = z.number();

/** A success as a list, since the names of its fields would be most of it. */
const successSchema = z
  .tuple([number, number, z.union([number, z.null()])])
  .rest(z.string())
  .transform(([startedAt, durationMs, statusCode, snippet]): FirstSuccess => {
    return {
      startedAt,
      durationMs,
      ...(statusCode === null ? {} : { statusCode }),
      ...(snippet === undefined ? {} : { snippet }),
    };
  });

const standingSchema = z.union([
  z.literal(PENDING).transform((): Standing => 'pending'),
  z.literal(OWN).transform((): Standing => 'own'),
  successSchema,
]);

const chunkSchema = z.object({
  acceptedAt: number.exactOptional(),
  /** By subscription. */
  members: z.record(z.string(), standingSchema).exactOptional(),
  early: z.set(z.string()).exactOptional(),
  lease: z.object({ owner: z.string(), until: number }).exactOptional(),
  updatedAt: number,
  expiresAt: number,
});

const keySchema = z.object({ pk: z.string(), sk: z.string() }).transform((item, context) => {
  const key = chunkKeyOf(item);
  if (key !== undefined) return key;
  context.addIssue({ code: 'custom', path: ['sk'], message: 'is no key of a chunk' });
  return z.NEVER;
});

/** @throws UnreadableRecordError */
export const chunkOfItem = (item: unknown): Chunk => {
  const { members, early, lease, acceptedAt, updatedAt, expiresAt } = decodedRecord(chunkSchema, item);
  return {
    key: decoded(keySchema, item),
    acceptedAt: acceptedAt ?? 0,
    ...(members === undefined ? {} : { members: new Map(Object.entries(members)) }),
    early: early ?? new Set(),
    ...(lease === undefined ? {} : { lease }),
    updatedAt,
    expiresAt,
  };
};

/** Where a member stands, as the item says it. */
export const standingItemOf = (standing: Standing): unknown => {
  if (standing === 'pending') return PENDING;
  if (standing === 'own') return OWN;
  const { startedAt, durationMs, statusCode = null, snippet } = standing;
  return [startedAt, durationMs, statusCode, ...(snippet === undefined ? [] : [snippet])];
};
