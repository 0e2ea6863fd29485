import { createContext } from 'preact';
import { useContext } from 'preact/hooks';
import type { ConsoleInfo } from '../../../shared/wire/views/console.ts';
import type { PageClient } from '../api/page-client.ts';

/** What every page has at hand. `info` is undefined until the command has said where it is. */
export type ConsoleContext = { api: PageClient; info: ConsoleInfo | undefined };

const Context = createContext<ConsoleContext | undefined>(undefined);

export const ConsoleProvider = Context.Provider;

export function useConsole(): ConsoleContext {
  const found = useContext(Context);
  if (found === undefined) throw new Error('a page outside of the console');
  return found;
}
