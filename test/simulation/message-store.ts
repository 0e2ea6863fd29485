import type { Message } from '../../shared/domain/message.ts';
import type { MessageRecord, MessageRecords } from '../../shared/ports/message-records.ts';
import type { Payloads } from '../../shared/ports/payloads.ts';
import type { Actor, History } from './history.ts';
import type { VirtualTime } from './virtual-time.ts';

export type MessageStore = { recordsFor(actor: Actor): MessageRecords; payloads: Payloads };

/** The records of messages, gone as soon as they expire, and the payload bucket. */
export const messageStore = (time: VirtualTime, history: History): MessageStore => {
  const records = new Map<string, MessageRecord>();
  const objects = new Map<string, Message>();

  const find = (messageId: string): MessageRecord | undefined => {
    const record = records.get(messageId);
    return record !== undefined && record.expiresAt > time.now() ? record : undefined;
  };

  const accept = (actor: Actor, record: MessageRecord): Awaited<ReturnType<MessageRecords['accept']>> => {
    const { messageId } = record.key;
    const known = find(messageId);
    const kept = known === undefined ? record : { ...known, duplicates: known.duplicates + 1 };
    records.set(messageId, kept);
    if (known === undefined) history.acceptances.push({ at: time.now(), actor, record });
    return { kind: known === undefined ? 'accepted' : 'duplicate', record: kept };
  };

  return {
    recordsFor: (actor) => ({
      accept: (record) => Promise.resolve(accept(actor, record)),
      find: ({ messageId }) => Promise.resolve(find(messageId)),
      keepBody: ({ messageId }, body, expiresAt) => {
        const known = find(messageId);
        if (known !== undefined)
          records.set(messageId, {
            ...known,
            body: known.body ?? body,
            expiresAt: Math.max(known.expiresAt, expiresAt),
          });
        return Promise.resolve();
      },
    }),
    payloads: {
      put: (payloadKey, message) => {
        objects.set(payloadKey, message);
        return Promise.resolve();
      },
      get: (payloadKey) => Promise.resolve(objects.get(payloadKey)),
    },
  };
};
