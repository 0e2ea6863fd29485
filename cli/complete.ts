import tab from '@bomb.sh/tab/commander';
import { wholeProgram } from './program.ts';
import type { Terminal } from './terminal.ts';

/** Prints what can follow the words, for the scripts of `posthaste completion`. The last word may be incomplete. */
export async function complete(words: readonly string[], terminal: Terminal): Promise<void> {
  // The library adds its own command of that name.
  const program = await wholeProgram(terminal, 'completion');
  tab(program, { completionCommandName: 'completion' }).parse([...words]);
}
