import { buildPage, parseMarker } from '../../../shared/adapters/dynamodb/pages.ts';
import type { Recovery } from '../../../shared/domain/recovery/recovery.ts';
import type { Recoveries, RecoveryPage } from '../../../shared/ports/deliveries.ts';
import { answer, frozen } from './frozen.ts';

/** Recovery records in a Map. */
export const inMemoryRecoveries = (
  records = new Map<string, Recovery>(),
  pages = new Map<string, Map<number, RecoveryPage>>(),
): Recoveries => {
  return {
    create: (recovery) => {
      const id = identityOf(recovery.selection.queue, recovery.id);
      if (records.has(id)) return Promise.reject(new Error(`The recovery ${id} exists already.`));
      records.set(id, frozen(recovery));
      return Promise.resolve();
    },
    find: (queue, id) => answer(records.get(identityOf(queue, id))),
    list: async (queue, page) => {
      const listing = `${queue}#recoveries`;
      const last = parseMarker(listing, page);
      const rest = [...records.values()]
        .filter(({ selection, id }) => selection.queue === queue && (last === undefined || id < last))
        .sort((one, other) => (one.id < other.id ? 1 : -1));
      return await answer(buildPage(listing, rest, page.limit, ({ id }) => id));
    },
    save: (recovery) => {
      const id = identityOf(recovery.selection.queue, recovery.id);
      const current = records.get(id);
      if (current?.version !== recovery.version - 1) return answer({ kind: 'refused', current });
      records.set(id, frozen(recovery));
      return answer({ kind: 'saved' });
    },
    keepPage: ({ selection, id, pages: number, batch }) => {
      const name = identityOf(selection.queue, id);
      const kept = pages.get(name) ?? new Map<number, RecoveryPage>();
      pages.set(name, kept);
      if (!kept.has(number)) kept.set(number, frozen({ number, keys: batch }));
      return Promise.resolve();
    },
    keptPages: async (queue, id, page) => {
      const listing = `${queue}#recovery#${id}`;
      const last = Number(parseMarker(listing, page) ?? 0);
      const rest = [...(pages.get(identityOf(queue, id))?.values() ?? [])]
        .filter(({ number }) => number > last)
        .sort((one, other) => one.number - other.number);
      return await answer(buildPage(listing, rest, page.limit, ({ number }) => String(number)));
    },
  };
};

const identityOf = (queue: string, id: string): string => `${queue}#${id}`;
