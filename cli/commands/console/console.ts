import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { localFolder } from '../../../local/install/paths.mjs';
import { Problem } from '../../../local/install/problem.mjs';
import { readPage } from '../../../shared/adapters/page-files.ts';
import type { DeploymentChoice } from '../../deployment.ts';
import { failureText } from '../../failure-report.ts';
import { untilAborted } from '../../interruption.ts';
import { option, PORT } from '../../options/arguments.ts';
import { deployed } from '../../options/deployed.ts';
import type { DeploymentOptions } from '../../options/deployment-options.ts';
import type { Terminal } from '../../terminal.ts';
import { type ConsoleTarget, deploymentTarget, startConsole } from './console-server.ts';
import { builtPage } from './page-build.ts';

type Options = DeploymentOptions & { port?: number; open?: true };

/** `posthaste console` */
export const consoleCommand = deployed<Options>({
  options: [option('--open', 'open the console in the default browser'), PORT],
  json: 'url',
  more: `
Serves the console on 127.0.0.1 until Ctrl-C, and signs its requests with your
credentials. The printed address contains a token that allows requests with your
permissions, so do not share it. Without a deployment, only the policy designer
works.
`,
  examples: ['console --open', 'console --port 8900'],
  run: ({ options, terminal }) =>
    terminal.untilInterrupted((signal) => runConsole(options, signal, terminal)),
});

async function runConsole(
  { port, open, json, ...choice }: Options,
  signal: AbortSignal,
  terminal: Terminal,
): Promise<undefined> {
  const show = async (work: () => Promise<void>): Promise<void> => {
    terminal.printError('Building the console. This takes a few seconds, and only the first time …');
    await work();
  };
  const [target, page] = await Promise.all([findTarget(choice, terminal), builtPage({ signal, show })]);
  const server = await startConsole({ page: await readPage(page), target, port });
  try {
    const { url } = server;
    const of = target.kind === 'deployment' ? ` for ${target.access.name}` : '';
    terminal.printResult({ json }, { url }, () => `Console${of}: ${url}\nPress Ctrl-C to stop.`);
    const failed = open === true && !signal.aborted ? openBrowser(url, signal) : undefined;
    void failed?.then((failure) => {
      if (failure !== undefined)
        terminal.printError(`The browser could not be opened (${failure}). Open the address above yourself.`);
    });
    await untilAborted(signal);
  } finally {
    await server.close();
  }
}

/** Fails if a deployment was chosen and is missing; without a choice, the console still offers the policy designer. */
async function findTarget(choice: DeploymentChoice, terminal: Terminal): Promise<ConsoleTarget> {
  try {
    return await deploymentTarget(choice, terminal);
  } catch (failure) {
    const isNamed = choice.local === true || choice.deployment !== undefined;
    if (isNamed || !(failure instanceof Problem)) throw failure;
    terminal.printError(
      `${failure.message}\nThe console starts without a deployment: only the policy designer works.`,
    );
    return { kind: 'none', reason: failureText(failure) };
  }
}

type Opener = { program: string; args: readonly string[] };

/** Programs are started without a shell. */
const OPENERS: Partial<Record<NodeJS.Platform, Opener>> = {
  darwin: { program: 'open', args: [] },
  win32: { program: 'rundll32', args: ['url.dll,FileProtocolHandler'] },
};
const XDG: Opener = { program: 'xdg-open', args: [] };

/**
 * Opens the default browser on a private file that redirects to the address. The address contains the token, and other
 * users of the machine can see the arguments of programs. The signal removes the file. Returns the reason for a failure.
 */
export function openBrowser(
  url: string,
  signal: AbortSignal,
  { program, args } = OPENERS[process.platform] ?? XDG,
): Promise<string | undefined> {
  const file = join(localFolder, 'console-address', `${process.pid}.html`);
  const cleanUp = (): void => {
    rmSync(file, { force: true });
  };
  mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
  cleanUp();
  signal.addEventListener('abort', cleanUp);
  // The address needs no HTML escaping: it is a loopback URL with a base64url token.
  const page = `<!doctype html><meta charset="utf-8"><meta name="referrer" content="no-referrer"><meta http-equiv="refresh" content="0;url=${url}"><title>Posthaste</title>\n`;
  writeFileSync(file, page, { mode: 0o600, flag: 'wx' });
  return opened(program, [...args, pathToFileURL(file).href]);
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
