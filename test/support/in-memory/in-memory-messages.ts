import { sortableTime } from '../../../shared/adapters/dynamodb/deliveries/delivery-keys.ts';
import {
  type Direction,
  nameListing,
  orderIn,
  pageUpTo,
  parseStartPlace,
} from '../../../shared/adapters/dynamodb/pages.ts';
import { isFromEarlierQueue, replacementFor } from '../../../shared/domain/delivery/recreated-queue.ts';
import { toPayloadPrefix } from '../../../shared/domain/message/body.ts';
import type { Message, MessageKey } from '../../../shared/domain/message/message.ts';
import type { Payloads } from '../../../shared/ports/bodies.ts';
import type {
  AcceptedMessage,
  ListedMessage,
  MessageListings,
  MessageRecord,
  MessageRecords,
  MessageWindow,
  NextPart,
  PartResult,
} from '../../../shared/ports/messages.ts';
import type { Page, PageRequest } from '../../../shared/ports/page.ts';
import { answer, frozen } from './frozen.ts';

/** `records` is for the listings, which read the same store. */
export type InMemoryMessageRecords = MessageRecords & {
  readonly records: ReadonlyMap<string, MessageRecord>;
  /** Counts one more match, unless the message is still being sent. */
  readonly countMatch: (message: AcceptedMessage) => boolean;
  readonly findNow: (key: MessageKey) => MessageRecord | undefined;
};

/** Message records in a Map. They expire only by a clock. */
export const inMemoryMessageRecords = (clock = { now: () => -Infinity }): InMemoryMessageRecords => {
  const records = new Map<string, MessageRecord>();

  const findNow = (key: MessageKey): MessageRecord | undefined => {
    const record = records.get(identityOf(key));
    return record !== undefined && record.expiresAt > clock.now() ? record : undefined;
  };

  const keep = (record: MessageRecord): MessageRecord => {
    records.set(identityOf(record.key), frozen(record));
    return record;
  };

  return {
    records,
    findNow,
    accept: (record, sentAt) => {
      const known = findNow(record.key);
      if (known !== undefined && isFromEarlierQueue(known, record, sentAt))
        return Promise.resolve({ kind: 'accepted', record: keep(replacementFor(known, record)) });
      return Promise.resolve(
        known === undefined
          ? { kind: 'accepted', record: keep(record) }
          : { kind: 'duplicate', record: keep({ ...known, duplicates: known.duplicates + 1 }) },
      );
    },
    addPart: (record, next) => {
      const result = withPart(findNow(record.key), record, next);
      if (result.kind === 'added') keep(result.record);
      return answer(result);
    },
    countMatch: ({ key, acceptedAt }) => {
      const known = findNow(key);
      if (known?.acceptedAt !== acceptedAt || known.lastSubscriptionId !== undefined) return false;
      keep({ ...known, matched: known.matched + 1 });
      return true;
    },
    find: (key) => answer(findNow(key)),
    keepBody: ({ key, acceptedAt }, body, expiresAt) => {
      const known = findNow(key);
      if (known?.acceptedAt !== acceptedAt) return Promise.resolve('forgotten');
      const livesUntil = Math.max(known.expiresAt, expiresAt);
      const isErased = known.erasedAt !== undefined;
      keep({ ...known, ...(isErased ? {} : { body: known.body ?? body }), expiresAt: livesUntil });
      return Promise.resolve(isErased ? 'erased' : 'kept');
    },
    eraseBody: (key, at) => {
      const known = findNow(key);
      if (known === undefined) return Promise.resolve(undefined);
      const erased = { ...known, erasedAt: known.erasedAt ?? at };
      delete erased.body;
      return Promise.resolve(keep(erased));
    },
  };
};

const identityOf = ({ queue, messageId }: MessageKey): string => `${queue}#${messageId}`;

/** The result of adding a part to the stored record, if the record is still as it was read. */
export const withPart = (
  current: MessageRecord | undefined,
  read: MessageRecord,
  next: NextPart,
): PartResult => {
  if (current?.acceptedAt !== read.acceptedAt) return { kind: 'refused', current: undefined };
  const isAhead = current.parts?.length !== read.parts?.length;
  return isAhead ? { kind: 'refused', current } : { kind: 'added', record: added(current, next) };
};

const added = (
  { lastSubscriptionId: _before, parts = [], unchunked = [], ...record }: MessageRecord,
  { part, lastSubscriptionId, matched, filtered, unchunked: more }: NextPart,
): MessageRecord => ({
  ...record,
  matched: record.matched + matched,
  filtered: record.filtered + filtered,
  ...(unchunked.length + more.length === 0 ? {} : { unchunked: [...unchunked, ...more] }),
  parts: [...parts, part],
  ...(lastSubscriptionId === undefined ? {} : { lastSubscriptionId }),
});

/** Listings of the current message records. */
export const inMemoryMessageListings = ({
  records,
}: Pick<InMemoryMessageRecords, 'records'>): MessageListings => {
  const listed = (direction: Direction, window: MessageWindow, request: PageRequest): Page<ListedMessage> => {
    const listing = nameListing(`messages ${direction}`, window);
    const after = parseStartPlace(listing, request);
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
      return frozen(listed('ascending', window, request));
    },
    newest: async (window, request) => {
      await Promise.resolve();
      return frozen(listed('descending', window, request));
    },
  };
};

const isWithin = ({ since, until }: MessageWindow, acceptedAt: number): boolean =>
  acceptedAt >= since && acceptedAt < until;

const placeOf = ({ key, acceptedAt }: MessageRecord): string =>
  `${sortableTime(acceptedAt)}#${key.messageId}`;

type InMemoryPayloads = Payloads & { readonly stored: ReadonlyMap<string, Message> };

export const inMemoryPayloads = (): InMemoryPayloads => {
  const stored = new Map<string, Message>();
  return {
    stored,
    put: (payloadKey, message) => {
      stored.set(payloadKey, frozen(message));
      return Promise.resolve();
    },
    get: (payloadKey) => answer(stored.get(payloadKey)),
    remove: (payloadKey) => {
      stored.delete(payloadKey);
      return Promise.resolve();
    },
    removeAll: (message) => {
      for (const payloadKey of stored.keys())
        if (payloadKey.startsWith(toPayloadPrefix(message))) stored.delete(payloadKey);
      return Promise.resolve();
    },
  };
};
