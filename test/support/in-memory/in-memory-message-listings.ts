import { sortableTime } from '../../../shared/adapters/dynamodb/delivery-keys.ts';
import {
  type Direction,
  listingOf,
  pageUpTo,
  startPlaceOf,
  orderIn,
} from '../../../shared/adapters/dynamodb/pages.ts';
import type {
  ListedMessage,
  MessageListings,
  MessageRecord,
  MessageWindow,
} from '../../../shared/ports/messages.ts';
import type { Page, PageRequest } from '../../../shared/ports/page.ts';
import type { InMemoryMessageRecords } from './in-memory-message-records.ts';

/** Listings of the current message records. */
export const inMemoryMessageListings = ({
  records,
}: Pick<InMemoryMessageRecords, 'records'>): MessageListings => {
  const listed = (direction: Direction, window: MessageWindow, request: PageRequest): Page<ListedMessage> => {
    const listing = listingOf(`messages ${direction}`, window);
    const after = startPlaceOf(listing, request);
    const isBefore = orderIn(direction);
    const placed = [...records.values()]
      .filter(({ key, acceptedAt }) => key.queue === window.queue && isWithin(window, acceptedAt))
      .map((record) => ({ record, place: placeOf(record) }))
      .filter(({ place }) => after === undefined || isBefore(after, place))
      .sort((one, other) => (isBefore(one.place, other.place) ? -1 : 1));
    const page = placed.slice(0, request.limit);
    const items = page.map(({ record: { key, acceptedAt } }) => ({ key, acceptedAt }));
    return pageUpTo(listing, items, placed.length > page.length ? page.at(-1)?.place : undefined);
  };

  return {
    accepted: async (window, request) => {
      await Promise.resolve();
      return structuredClone(listed('ascending', window, request));
    },
    newest: async (window, request) => {
      await Promise.resolve();
      return structuredClone(listed('descending', window, request));
    },
  };
};

const isWithin = ({ since, until }: MessageWindow, acceptedAt: number): boolean =>
  acceptedAt >= since && acceptedAt < until;

const placeOf = ({ key, acceptedAt }: MessageRecord): string =>
  `${sortableTime(acceptedAt)}#${key.messageId}`;
