import type { MessageKey } from '../../../shared/domain/message.ts';
import type { MessageRecord, MessageRecords } from '../../../shared/ports/message-records.ts';

/** The records of messages in a Map. */
export const inMemoryMessageRecords = (): MessageRecords => {
  const records = new Map<string, MessageRecord>();

  const keep = (record: MessageRecord): MessageRecord => {
    records.set(identityOf(record.key), structuredClone(record));
    return structuredClone(record);
  };

  return {
    accept: (record) => {
      const known = records.get(identityOf(record.key));
      return Promise.resolve(
        known === undefined
          ? { kind: 'accepted', record: keep(record) }
          : { kind: 'duplicate', record: keep({ ...known, duplicates: known.duplicates + 1 }) },
      );
    },
    find: (key) => Promise.resolve(structuredClone(records.get(identityOf(key)))),
    keepBody: (key, body, expiresAt) => {
      const known = records.get(identityOf(key));
      if (known !== undefined) {
        keep({ ...known, body: known.body ?? body, expiresAt: Math.max(known.expiresAt, expiresAt) });
      }
      return Promise.resolve();
    },
  };
};

const identityOf = ({ queue, messageId }: MessageKey): string => `${queue}#${messageId}`;
