import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { failureText } from '../../failure-report.ts';
import { localFolder } from '../../../local/install/paths.mjs';

type Opener = { program: string; args: readonly string[] };

/** Programs are started without a shell. */
const OPENERS: Partial<Record<NodeJS.Platform, Opener>> = {
  darwin: { program: 'open', args: [] },
  win32: { program: 'rundll32', args: ['url.dll,FileProtocolHandler'] },
};
const XDG: Opener = { program: 'xdg-open', args: [] };

export type BrowserLaunch = {
  /** Resolves to the reason for a failure, or to undefined once the browser was opened. */
  failed: Promise<string | undefined>;
  /** Removes the file that was written for the browser. */
  cleanUp: () => void;
};

/**
 * Opens the default browser on a private file that redirects to the address. The address contains the token, and other
 * users of the machine can see the arguments of programs.
 */
export function openBrowser(
  url: string,
  { program, args } = OPENERS[process.platform] ?? XDG,
): BrowserLaunch {
  const file = join(localFolder, 'console-address', `${process.pid}.html`);
  const cleanUp = (): void => {
    rmSync(file, { force: true });
  };
  mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
  cleanUp();
  // The address needs no HTML escaping: it is a loopback URL with a base64url token.
  const page = `<!doctype html><meta charset="utf-8"><meta name="referrer" content="no-referrer"><meta http-equiv="refresh" content="0;url=${url}"><title>Posthaste</title>\n`;
  writeFileSync(file, page, { mode: 0o600, flag: 'wx' });
  return { failed: opened(program, [...args, pathToFileURL(file).href]), cleanUp };
}

async function opened(program: string, args: readonly string[]): Promise<string | undefined> {
  const child = spawn(program, args, { stdio: 'ignore', detached: true });
  child.unref();
  try {
    await once(child, 'spawn');
    await once(child, 'exit');
    return child.exitCode === 0 ? undefined : `${program} exited with status ${String(child.exitCode)}`;
  } catch (error) {
    return failureText(error);
  }
}
