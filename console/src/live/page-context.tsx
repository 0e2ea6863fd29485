import type { ApiClient } from '../../../api-client/api-client.ts';
import type { FailureWords } from '../api/failure-words.ts';
import { requiredContext } from './context.ts';

/** What the parts use in the console and in the portal. */
export type PageContext = {
  api: ApiClient;
  /** The name of the site, for the title of the window. */
  site: string;
  /** Seconds between polls. */
  polling: { floor: number; ceiling: number };
  /** Undefined: the failure is shown in another place. */
  explain: (failure: unknown) => FailureWords | undefined;
  /** How current each polled value on the page is, by its poller. */
  freshness: Map<object, Freshness>;
};

export const [PageProvider, usePage] = requiredContext<PageContext>('usePage');

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
