import type { ConsoleInfo } from '../../../shared/wire/views/console.ts';
import type { ConsoleClient } from '../api/console-client.ts';
import { requiredContext } from './context.ts';

/** What the pages of the console use beside the context of each page. */
export type ConsoleContext = {
  api: ConsoleClient;
  /** Undefined until it has loaded. */
  info: ConsoleInfo | undefined;
};

export const [ConsoleProvider, useConsole] = requiredContext<ConsoleContext>('useConsole');
