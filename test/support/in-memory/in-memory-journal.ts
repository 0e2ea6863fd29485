import type { Fact, Journal } from '../../../shared/ports/journal.ts';

export type InMemoryJournal = Journal & { readonly facts: readonly Fact[] };

export const inMemoryJournal = (): InMemoryJournal => {
  const facts: Fact[] = [];
  return { facts, note: (fact) => void facts.push(structuredClone(fact)) };
};
