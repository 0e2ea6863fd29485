import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { failureText } from '../../failure-text.ts';
import { localFolder } from '../../../local/install/paths.mjs';

type Opener = { program: string; args: readonly string[] };

/** None goes through a shell. */
const OPENERS: Partial<Record<NodeJS.Platform, Opener>> = {
  darwin: { program: 'open', args: [] },
  win32: { program: 'rundll32', args: ['url.dll,FileProtocolHandler'] },
};
const XDG: Opener = { program: 'xdg-open', args: [] };

export type Opening = {
  /** Why no browser was opened; undefined: one was. */
  failed: Promise<string | undefined>;
  /** Takes back what was left for the browser. */
  forget: () => void;
};

/**
 * Opens the default browser by a file that leads it on: arguments of programs can be seen by other users of the machine, and
 * the address holds the token.
 */
export function openBrowser(url: string, { program, args } = OPENERS[process.platform] ?? XDG): Opening {
  const file = join(localFolder, 'console-address', `${process.pid}.html`);
  const forget = (): void => {
    rmSync(file, { force: true });
  };
  mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
  forget();
  writeFileSync(file, leadingTo(url), { mode: 0o600 });
  return { failed: opened(program, [...args, pathToFileURL(file).href]), forget };
}

/** The address is our own: nothing in it means anything in HTML. */
function leadingTo(url: string): string {
  return `<!doctype html><meta charset="utf-8"><meta name="referrer" content="no-referrer"><meta http-equiv="refresh" content="0;url=${url}"><title>Posthaste</title>\n`;
}

async function opened(program: string, args: readonly string[]): Promise<string | undefined> {
  const child = spawn(program, args, { stdio: 'ignore', detached: true });
  child.unref();
  try {
    await once(child, 'spawn');
    await once(child, 'exit');
    return child.exitCode === 0 ? undefined : `${program} ended with ${String(child.exitCode)}`;
  } catch (error) {
    return failureText(error);
  }
}
