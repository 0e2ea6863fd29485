import type { MessageRecords } from '../../shared/ports/messages.ts';
import { inMemoryMessageRecords, inMemoryPayloads } from '../support/in-memory/in-memory-messages.ts';
import { QUEUE } from './scenario.ts';
import type { Actor, History } from './history.ts';
import type { VirtualClock } from '../support/in-memory/virtual-clock.ts';

export type MessageStore = ReturnType<typeof messageStore>;

/** The message records, which disappear when they expire, and the payload bucket. */
export const messageStore = (time: VirtualClock, history: History) => {
  const records = inMemoryMessageRecords(time);
  const payloads = inMemoryPayloads();
  const find = (messageId: string) => records.findNow({ queue: QUEUE, messageId });
  return {
    /** The current record. */
    find,
    /** Counts one more match, unless the message is still being sent. */
    countMatch: records.countMatch,
    /** The objects in the bucket, by key. */
    objects: payloads.stored,
    recordsFor: (actor: Actor): MessageRecords => ({
      ...records,
      accept: async (offered, sentAt) => {
        const result = await records.accept(offered, sentAt);
        if (result.kind === 'accepted')
          history.acceptances.push({ at: time.now(), actor, record: result.record });
        return result;
      },
      eraseBody: (key, at) => {
        const { messageId } = key;
        const known = find(messageId);
        if (known !== undefined && known.erasedAt === undefined)
          history.erasures.push({ at: time.now(), messageId, acceptedAt: known.acceptedAt });
        return records.eraseBody(key, at);
      },
    }),
    payloads,
  };
};
