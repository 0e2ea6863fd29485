import * as z from 'zod';
import type { MessageStanding } from '../domain/message-standing.ts';
import { timeText, timeView } from './time-view.ts';
import { spliceRaw } from './message-body.ts';

const count = z.int().min(0);

/** A message, how its deliveries stand, and its data while that is kept. */
export const messageViewSchema = z.object({
  queue: z.string(),
  id: z.string(),
  type: z.string().exactOptional(),
  acceptedAt: timeView,
  /** How often it came again. */
  duplicates: count,
  /** Subscriptions that it was for when it was accepted. */
  matched: count,
  filtered: count,
  /** Those on record. */
  deliveries: z.object({
    pending: count,
    retrying: count,
    delivered: count,
    rejected: count,
    exhausted: count,
    cancelled: count,
  }),
  bodyKept: z.boolean(),
  erasedAt: timeView.exactOptional(),
  /** The data as it was published. */
  body: z.unknown().exactOptional(),
});

/** As JSON text: the data stands in it byte for byte, neither parsed nor printed anew. */
export const encodeMessageView = (standing: MessageStanding): string => {
  const { key, type, acceptedAt, duplicates, matched, filtered, deliveries, erasedAt, data } = standing;
  const view = {
    queue: key.queue,
    id: key.messageId,
    type,
    acceptedAt: timeText(acceptedAt),
    duplicates,
    matched,
    filtered,
    deliveries,
    bodyKept: data !== undefined,
    erasedAt: erasedAt === undefined ? undefined : timeText(erasedAt),
  } satisfies { [Field in keyof z.infer<typeof messageViewSchema>]?: unknown };
  return data === undefined ? JSON.stringify(view) : spliceRaw(view, 'body', data);
};
