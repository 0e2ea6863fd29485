import { createContext } from 'preact';
import { useContext } from 'preact/hooks';
import type { ConsoleInfo } from '../../../shared/wire/views/console.ts';
import type { PageClient } from '../api/page-client.ts';
import type { Freshness } from './freshness.ts';

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
