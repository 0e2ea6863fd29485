import { payloadPrefixOf } from '../../shared/domain/message/body.ts';
import { replacementFor, isFromEarlierQueue } from '../../shared/domain/delivery/recreated-queue.ts';
import type { Message } from '../../shared/domain/message/message.ts';
import type { AcceptedMessage, MessageRecord, MessageRecords } from '../../shared/ports/messages.ts';
import type { Payloads } from '../../shared/ports/bodies.ts';
import { withPart } from '../support/in-memory/with-part.ts';
import type { Actor, History } from './history.ts';
import type { VirtualClock } from '../support/in-memory/virtual-clock.ts';

export type MessageStore = {
  recordsFor(actor: Actor): MessageRecords;
  payloads: Payloads;
  /** The current record. */
  find(messageId: string): MessageRecord | undefined;
  /** Counts one more match, unless the message is still being sent. */
  countMatch: (message: AcceptedMessage) => boolean;
  /** The objects in the bucket, by key. */
  objects: ReadonlyMap<string, Message>;
};

/** The message records, which disappear when they expire, and the payload bucket. */
export const messageStore = (time: VirtualClock, history: History): MessageStore => {
  const records = new Map<string, MessageRecord>();
  const objects = new Map<string, Message>();

  const find = (messageId: string): MessageRecord | undefined => {
    const record = records.get(messageId);
    return record !== undefined && record.expiresAt > time.now() ? record : undefined;
  };

  const accept = (
    actor: Actor,
    offered: MessageRecord,
    sentAt: number | undefined,
  ): Awaited<ReturnType<MessageRecords['accept']>> => {
    const { messageId } = offered.key;
    const earlier = find(messageId);
    const isAnew = earlier !== undefined && isFromEarlierQueue(earlier, offered, sentAt);
    const known = isAnew ? undefined : earlier;
    const record = isAnew ? replacementFor(earlier, offered) : offered;
    const kept = known === undefined ? record : { ...known, duplicates: known.duplicates + 1 };
    records.set(messageId, kept);
    if (known === undefined) history.acceptances.push({ at: time.now(), actor, record });
    return { kind: known === undefined ? 'accepted' : 'duplicate', record: kept };
  };

  return {
    find,
    countMatch: ({ key: { messageId }, acceptedAt }) => {
      const known = find(messageId);
      if (known?.acceptedAt !== acceptedAt || known.lastSubscriptionId !== undefined) return false;
      records.set(messageId, { ...known, matched: known.matched + 1 });
      return true;
    },
    objects,
    recordsFor: (actor) => ({
      accept: (record, sentAt) => Promise.resolve(accept(actor, record, sentAt)),
      addPart: (record, next) => {
        const result = withPart(find(record.key.messageId), record, next);
        if (result.kind === 'added') records.set(record.key.messageId, result.record);
        return Promise.resolve(result);
      },
      find: ({ messageId }) => Promise.resolve(find(messageId)),
      keepBody: ({ key: { messageId }, acceptedAt }, body, expiresAt) => {
        const known = find(messageId);
        if (known?.acceptedAt !== acceptedAt) return Promise.resolve('forgotten');
        const isErased = known.erasedAt !== undefined;
        records.set(messageId, {
          ...known,
          ...(isErased ? {} : { body: known.body ?? body }),
          expiresAt: Math.max(known.expiresAt, expiresAt),
        });
        return Promise.resolve(isErased ? 'erased' : 'kept');
      },
      eraseBody: ({ messageId }, at) => {
        const known = find(messageId);
        if (known === undefined) return Promise.resolve(undefined);
        const { acceptedAt, erasedAt } = known;
        if (erasedAt === undefined) history.erasures.push({ at: time.now(), messageId, acceptedAt });
        const erased = { ...known, erasedAt: erasedAt ?? at };
        delete erased.body;
        records.set(messageId, erased);
        return Promise.resolve(erased);
      },
    }),
    payloads: {
      put: (payloadKey, message) => {
        objects.set(payloadKey, message);
        return Promise.resolve();
      },
      get: (payloadKey) => Promise.resolve(objects.get(payloadKey)),
      remove: (payloadKey) => {
        objects.delete(payloadKey);
        return Promise.resolve();
      },
      removeAll: (message) => {
        for (const payloadKey of objects.keys())
          if (payloadKey.startsWith(payloadPrefixOf(message))) objects.delete(payloadKey);
        return Promise.resolve();
      },
    },
  };
};
