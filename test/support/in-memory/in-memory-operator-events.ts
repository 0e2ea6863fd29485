import type { OperatorEvent } from '../../../shared/domain/delivery/operator-event.ts';
import type { OperatorEvents } from '../../../shared/ports/journal.ts';

export type InMemoryOperatorEvents = OperatorEvents & { readonly published: readonly OperatorEvent[] };

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
