import { sortableTime } from '../../../shared/adapters/dynamodb/delivery-keys.ts';
import {
  type Direction,
  listingOf,
  orderIn,
  pageUpTo,
  startPlaceOf,
} from '../../../shared/adapters/dynamodb/pages.ts';
import { isFromEarlierQueue } from '../../../shared/domain/delivery/recreated-queue.ts';
import type { MessageKey } from '../../../shared/domain/message/message.ts';
import type {
  AcceptedMessage,
  ListedMessage,
  MessageListings,
  MessageRecord,
  MessageRecords,
  MessageWindow,
} from '../../../shared/ports/messages.ts';
import type { Page, PageRequest } from '../../../shared/ports/page.ts';
import { withPart } from './with-part.ts';
import { replacementFor } from '../../../shared/domain/delivery/recreated-queue.ts';

/** `records` is for the listings, which read the same store. */
export type InMemoryMessageRecords = MessageRecords & {
  readonly records: ReadonlyMap<string, MessageRecord>;
  /** Counts one more match, unless the message is still being sent. */
  readonly countMatch: (message: AcceptedMessage) => boolean;
};

/** Message records in a Map. */
export const inMemoryMessageRecords = (): InMemoryMessageRecords => {
  const records = new Map<string, MessageRecord>();

  const keep = (record: MessageRecord): MessageRecord => {
    records.set(identityOf(record.key), structuredClone(record));
    return structuredClone(record);
  };

  return {
    records,
    accept: (record, sentAt) => {
      const known = records.get(identityOf(record.key));
      if (known !== undefined && isFromEarlierQueue(known, record, sentAt))
        return Promise.resolve({ kind: 'accepted', record: keep(replacementFor(known, record)) });
      return Promise.resolve(
        known === undefined
          ? { kind: 'accepted', record: keep(record) }
          : { kind: 'duplicate', record: keep({ ...known, duplicates: known.duplicates + 1 }) },
      );
    },
    addPart: (record, next) => {
      const result = withPart(records.get(identityOf(record.key)), record, next);
      if (result.kind === 'added') keep(result.record);
      return Promise.resolve(structuredClone(result));
    },
    countMatch: ({ key, acceptedAt }) => {
      const known = records.get(identityOf(key));
      if (known?.acceptedAt !== acceptedAt || known.lastSubscriptionId !== undefined) return false;
      keep({ ...known, matched: known.matched + 1 });
      return true;
    },
    find: (key) => Promise.resolve(structuredClone(records.get(identityOf(key)))),
    keepBody: ({ key, acceptedAt }, body, expiresAt) => {
      const known = records.get(identityOf(key));
      if (known?.acceptedAt !== acceptedAt) return Promise.resolve('forgotten');
      const livesUntil = Math.max(known.expiresAt, expiresAt);
      const isErased = known.erasedAt !== undefined;
      keep({ ...known, ...(isErased ? {} : { body: known.body ?? body }), expiresAt: livesUntil });
      return Promise.resolve(isErased ? 'erased' : 'kept');
    },
    eraseBody: (key, at) => {
      const known = records.get(identityOf(key));
      if (known === undefined) return Promise.resolve(undefined);
      const erased = { ...known, erasedAt: known.erasedAt ?? at };
      delete erased.body;
      return Promise.resolve(keep(erased));
    },
  };
};

const identityOf = ({ queue, messageId }: MessageKey): string => `${queue}#${messageId}`;

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
