import type { StatusCounts } from './books.ts';
import type { MessageKey } from './message.ts';

/** What is on record of a message. Times are milliseconds since the epoch. */
export type MessageStanding = {
  key: MessageKey;
  type?: string;
  acceptedAt: number;
  /** How often it came again. */
  duplicates: number;
  /** Subscriptions that it was for when it was accepted, and those that did not want it. */
  matched: number;
  filtered: number;
  deliveries: StatusCounts;
  erasedAt?: number;
  /** The source text of the data; undefined where it is not kept. */
  data: string | undefined;
};
