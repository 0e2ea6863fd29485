import { payloadPrefixOf } from '../../../shared/domain/message/body.ts';
import type { Message } from '../../../shared/domain/message/message.ts';
import type { Payloads } from '../../../shared/ports/bodies.ts';

export type InMemoryPayloads = Payloads & { readonly stored: ReadonlyMap<string, Message> };

export const inMemoryPayloads = (): InMemoryPayloads => {
  const stored = new Map<string, Message>();
  return {
    stored,
    put: (payloadKey, message) => {
      stored.set(payloadKey, structuredClone(message));
      return Promise.resolve();
    },
    get: (payloadKey) => Promise.resolve(structuredClone(stored.get(payloadKey))),
    remove: (payloadKey) => {
      stored.delete(payloadKey);
      return Promise.resolve();
    },
    removeAll: (message) => {
      for (const payloadKey of stored.keys())
        if (payloadKey.startsWith(payloadPrefixOf(message))) stored.delete(payloadKey);
      return Promise.resolve();
    },
  };
};
