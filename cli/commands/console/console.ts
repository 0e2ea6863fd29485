import type { Command } from 'commander';
import type { DeploymentChoice } from '../../deployment.ts';
import { failureText } from '../../failure-report.ts';
import { untilAborted } from '../../interruption.ts';
import { Problem } from '../../../local/install/problem.mjs';
import { wholeNumberOf } from '../../options/arguments.ts';
import { onDeployment, type DeploymentOptions } from '../../options/deployment-options.ts';
import type { Terminal } from '../../terminal.ts';
import { deploymentTarget, type ConsoleTarget } from './console-info.ts';
import { startConsole, readPage } from './console-server.ts';
import { openBrowser, type BrowserLaunch } from './open-browser.ts';
import { builtPage } from './page-build.ts';

type Options = DeploymentOptions & { port?: number; open?: true };

const MORE = `
Serves the console on 127.0.0.1 until Ctrl-C, and signs its requests with your
credentials. The printed address contains a token that allows requests with your
permissions, so do not share it. Without a deployment, only the policy designer
works.
`;

/** `posthaste console` */
export function addConsole(command: Command, terminal: Terminal): void {
  command
    .option('--open', 'open the console in the default browser')
    .option('--port <N>', 'port on 127.0.0.1 (default: a free port)', wholeNumberOf(1, 65_535))
    .action((options: Options) =>
      terminal.untilInterrupted((signal) => runConsole(options, signal, terminal)),
    );
  onDeployment(command, { json: 'url', more: MORE, examples: ['console --open', 'console --port 8900'] });
}

async function runConsole(
  { port, open, json, ...choice }: Options,
  signal: AbortSignal,
  terminal: Terminal,
): Promise<void> {
  const show = async (work: () => Promise<void>): Promise<void> => {
    terminal.printError('Building the console. This takes a few seconds, and only the first time …');
    await work();
  };
  const [target, page] = await Promise.all([targetOf(choice, terminal), builtPage({ signal, show })]);
  const server = await startConsole({ page: await readPage(page), target, port });
  let opening: BrowserLaunch | undefined;
  try {
    const { url } = server;
    const of = target.kind === 'deployment' ? ` for ${target.access.name}` : '';
    terminal.printResult({ json }, { url }, () => `Console${of}: ${url}\nPress Ctrl-C to stop.`);
    if (open === true) {
      opening = openBrowser(url);
      void opening.failed.then((failure) => {
        if (failure !== undefined)
          terminal.printError(
            `The browser could not be opened (${failure}). Open the address above yourself.`,
          );
      });
    }
    await untilAborted(signal);
  } finally {
    opening?.cleanUp();
    await server.close();
  }
}

/** Fails if a deployment was chosen and is missing; without a choice, the console still offers the policy designer. */
async function targetOf(choice: DeploymentChoice, terminal: Terminal): Promise<ConsoleTarget> {
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
