import { createContext } from 'preact';
import { useContext } from 'preact/hooks';
import type { ConsoleInfo } from '../../../shared/wire/views/console.ts';
import type { PageClient } from '../api/page-client.ts';

/** What every page can use. `info` is undefined until it has loaded. */
export type ConsoleContext = { api: PageClient; info: ConsoleInfo | undefined };

const Context = createContext<ConsoleContext | undefined>(undefined);

export const ConsoleProvider = Context.Provider;

export function useConsole(): ConsoleContext {
  const found = useContext(Context);
  if (found === undefined) throw new Error('useConsole outside of ConsoleProvider');
  return found;
}
