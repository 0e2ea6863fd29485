import { basename } from 'node:path';
import { isPackaged } from './install/paths.mjs';

/** How this user runs the command, so that advice can be pasted. `program`: the path that was run. */
export function commandName(program: string | undefined, packaged: boolean): string {
  const isOnPath =
    program !== undefined && basename(program) === 'posthaste' && !program.includes('node_modules');
  if (isOnPath) return 'posthaste';
  return packaged ? 'npx posthaste' : 'npm run -s posthaste --';
}

export const COMMAND = commandName(process.argv[1], isPackaged);

/** The command that starts a local deployment. */
export const START = isPackaged ? `${COMMAND} start` : 'npm start';

/** A command to paste, such as `npm run -s posthaste -- redrive ingress`. */
export function commandText(args: string): string {
  return `${COMMAND} ${args}`;
}

/** The text as one word of a shell command: producers choose message ids, and advice is pasted. */
export function shellWord(text: string): string {
  return /^[\w.:@%+,/=-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;
}
