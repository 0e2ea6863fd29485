import type { EventFault } from '../event-type/event-fault.ts';
import type { StatusCounts } from './books.ts';
import type { MessageKey } from '../message/message.ts';

/** Recorded facts about a message. Times are milliseconds since the epoch. */
export type MessageFacts = {
  key: MessageKey;
  type?: string;
  acceptedAt: number;
  /** Repeated sends of the message. */
  duplicates: number;
  /**
   * `matched`: subscriptions that matched at the acceptance or got it by hand. `filtered`: those excluded by their
   * options at the acceptance.
   */
  matched: number;
  filtered: number;
  /** Why the catalogue of event types refuses it, where that is only noted. */
  eventFault?: EventFault;
  /** When the body was erased manually; no body is stored from then on. */
  erasedAt?: number;
  /**
   * Last subscription of the last part, until the message was sent to all subscriptions; `matched` and `filtered` grow until
   * then.
   */
  lastSubscriptionId?: string;
};

/**
 * `isQueueDeleted`: another queue may have the name now. `areAllCounted`: whether `deliveries` has all that are recorded.
 * `data`: JSON source text; undefined if it is not kept.
 */
export type MessageDetail = MessageFacts & {
  isQueueDeleted: boolean;
  deliveries: StatusCounts;
  areAllCounted: boolean;
  data: string | undefined;
};

/** A message in a listing. `deliveries`: undefined if there are too many to count. */
export type MessageListItem = MessageFacts & { deliveries: StatusCounts | undefined; bodyKept: boolean };
