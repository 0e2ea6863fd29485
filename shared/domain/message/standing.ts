import type { StatusCounts } from './books.ts';
import type { MessageKey } from './message.ts';

/** What is on record of a message. Times are milliseconds since the epoch. */
type MessageFacts = {
  key: MessageKey;
  type?: string;
  acceptedAt: number;
  /** How often it came again. */
  duplicates: number;
  /** Subscriptions that it was for when it was accepted, and those that did not want it. */
  matched: number;
  filtered: number;
  erasedAt?: number;
  /** There while the message was not sent to all subscriptions: `matched` and `filtered` grow. */
  until?: string;
};

/** `data`: its source text; undefined where it is not kept. */
export type MessageDetail = MessageFacts & { deliveries: StatusCounts; data: string | undefined };

/** A message in a listing. `deliveries`: not counted where there are many. */
export type MessageListItem = MessageFacts & { deliveries: StatusCounts | undefined; bodyKept: boolean };
