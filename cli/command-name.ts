import { basename } from 'node:path';

/** How a user in a checkout runs the command without `npm link`. */
const IN_CHECKOUT = 'npm run -s posthaste --';

/** How this user runs the command, so that advice can be pasted. `program`: the path that was run. */
export function commandName(program: string | undefined): string {
  return program !== undefined && basename(program) === 'posthaste' ? 'posthaste' : IN_CHECKOUT;
}

const COMMAND = commandName(process.argv[1]);

/** A command to paste, such as `npm run -s posthaste -- redrive ingress`. */
export function commandText(args: string): string {
  return `${COMMAND} ${args}`;
}

/** The text as one word of a shell command: producers choose message ids, and advice is pasted. */
export function shellWord(text: string): string {
  return /^[\w.:@%+,/=-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;
}
