import { replacementFor, isFromEarlierLife } from '../../../shared/domain/delivery/life.ts';
import type { MessageKey } from '../../../shared/domain/message/message.ts';
import type { AcceptedMessage, MessageRecord, MessageRecords } from '../../../shared/ports/messages.ts';
import { answer, frozen } from './frozen.ts';
import { withPart } from './with-part.ts';

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
    records.set(identityOf(record.key), frozen(record));
    return record;
  };

  return {
    records,
    accept: (record, sentAt) => {
      const known = records.get(identityOf(record.key));
      if (known !== undefined && isFromEarlierLife(known, record, sentAt))
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
      return answer(result);
    },
    countMatch: ({ key, acceptedAt }) => {
      const known = records.get(identityOf(key));
      if (known?.acceptedAt !== acceptedAt || known.until !== undefined) return false;
      keep({ ...known, matched: known.matched + 1 });
      return true;
    },
    find: (key) => answer(records.get(identityOf(key))),
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
