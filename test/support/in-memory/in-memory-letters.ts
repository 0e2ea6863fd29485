import type { UndeliverableNotice } from '../../../shared/domain/delivery/dead-letter.ts';
import type { DeadLetters, Undeliverables } from '../../../shared/ports/queues.ts';

export type SentLetter = { body: string; id: string; attributes?: Record<string, string>; reason: string };
export type InMemoryDeadLetters = DeadLetters & { readonly sent: readonly SentLetter[] };
export type InMemoryUndeliverables = Undeliverables & { readonly sent: readonly UndeliverableNotice[] };

export const inMemoryDeadLetters = (): InMemoryDeadLetters => {
  const sent: SentLetter[] = [];
  return {
    sent,
    send: (original, reason) => {
      sent.push({ ...original, reason });
      return Promise.resolve();
    },
  };
};

export const inMemoryUndeliverables = (): InMemoryUndeliverables => {
  const sent: UndeliverableNotice[] = [];
  return {
    sent,
    send: (notice) => {
      sent.push(structuredClone(notice));
      return Promise.resolve();
    },
  };
};
