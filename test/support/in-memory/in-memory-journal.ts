import type { OperatorEvent } from '../../../shared/domain/delivery/operator-event.ts';
import type { Fact, Journal, OperatorEvents } from '../../../shared/ports/journal.ts';
import { frozen } from './frozen.ts';

type InMemoryJournal = Journal & { readonly facts: readonly Fact[] };

export const inMemoryJournal = (): InMemoryJournal => {
  const facts: Fact[] = [];
  return { facts, note: (fact) => void facts.push(frozen(fact)) };
};

type InMemoryOperatorEvents = OperatorEvents & { readonly published: readonly OperatorEvent[] };

export const inMemoryOperatorEvents = (): InMemoryOperatorEvents => {
  const published: OperatorEvent[] = [];
  return {
    published,
    publish: (event) => {
      published.push(structuredClone(event));
      return Promise.resolve();
    },
  };
};
