import type { MessageKey } from '../domain/message.ts';
import type { Page, PageRequest } from './page.ts';

/** Messages of a queue by when they were accepted. Times are milliseconds since the epoch. */
export type MessageWindow = {
  queue: string;
  /** At or after. */
  since: number;
  /** Before. */
  until: number;
};

export type ListedMessage = { key: MessageKey; acceptedAt: number };

/**
 * Read from an index, a second or so behind the records. What one page reads is bounded: over hours without a message it is
 * short, or empty, and has a marker all the same.
 */
export interface MessageListings {
  /** The oldest first. @throws InvalidMarkerError */
  accepted(window: MessageWindow, page: PageRequest): Promise<Page<ListedMessage>>;
  /** The newest first. @throws InvalidMarkerError */
  newest(window: MessageWindow, page: PageRequest): Promise<Page<ListedMessage>>;
}
