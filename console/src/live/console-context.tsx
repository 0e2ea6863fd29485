import { createContext } from 'preact';
import { useContext } from 'preact/hooks';
import type { ConsoleInfo } from '../../../shared/wire/views/console.ts';
import type { PageClient } from '../api/page-client.ts';

/** What every page can use. */
export type ConsoleContext = {
  api: PageClient;
  /** Undefined until it has loaded. */
  info: ConsoleInfo | undefined;
  /** How current each polled value on the page is, by its poller. */
  freshness: Map<object, Freshness>;
};

const Context = createContext<ConsoleContext | undefined>(undefined);

export const ConsoleProvider = Context.Provider;

export function useConsole(): ConsoleContext {
  const found = useContext(Context);
  if (found === undefined) throw new Error('useConsole outside of ConsoleProvider');
  return found;
}

/** How current one polled value is. Times in milliseconds since the epoch. */
export type Freshness = {
  /** When the shown value was read; undefined until there is one. */
  readAt: number | undefined;
  failed: boolean;
  /** When the next poll is or was due; undefined after a failure that no retry mends. */
  dueAt: number | undefined;
};

type Staleness = { readAt: number; dueAt: number | undefined };

/** A poll may take this long before its page counts as stale. */
const PATIENCE_MS = 10_000;

/** The oldest value on the page whose polling fails or is behind, and the next poll; undefined for a current page. */
export function findStaleness(all: Iterable<Freshness>, now: number): Staleness | undefined {
  const stale = [...all].flatMap(({ readAt, failed, dueAt }) =>
    readAt !== undefined && (failed || (dueAt !== undefined && now - dueAt > PATIENCE_MS))
      ? [{ readAt, dueAt }]
      : [],
  );
  if (stale.length === 0) return undefined;
  const due = stale.flatMap(({ dueAt }) => dueAt ?? []);
  return {
    readAt: Math.min(...stale.map(({ readAt }) => readAt)),
    dueAt: due.length === 0 ? undefined : Math.min(...due),
  };
}
