import { createContext } from 'preact';
import { useContext } from 'preact/hooks';
import type { ConsoleInfo } from '../../../shared/wire/views/console.ts';
import type { ConsoleClient } from '../api/console-client.ts';

/** What the pages of the console use beside the context of each page. */
export type ConsoleContext = {
  api: ConsoleClient;
  /** Undefined until it has loaded. */
  info: ConsoleInfo | undefined;
};

const Context = createContext<ConsoleContext | undefined>(undefined);

export const ConsoleProvider = Context.Provider;

export function useConsole(): ConsoleContext {
  const found = useContext(Context);
  if (found === undefined) throw new Error('useConsole outside of ConsoleProvider');
  return found;
}
