import type { Command } from 'commander';
import { once } from 'node:events';
import { findApi } from '../../api/api-access.ts';
import type { DeploymentChoice } from '../../deployment.ts';
import { failureText } from '../../failure-text.ts';
import { Problem } from '../../../local/install/problem.mjs';
import { wholeNumberOf } from '../../options/arguments.ts';
import { onDeployment, type DeploymentOptions } from '../../options/deployment-options.ts';
import type { Terminal } from '../../terminal.ts';
import type { Surroundings } from './console-info.ts';
import { startConsole } from './console-server.ts';
import { openBrowser, type Opening } from './open-browser.ts';
import { builtPage } from './page-build.ts';
import { readPage } from './page-files.ts';

type Options = DeploymentOptions & { port?: number; open?: true };

const MORE = `
A page in your browser, served on 127.0.0.1 for as long as the command runs. What it asks of the deployment is signed with your
credentials. Whoever has the address it prints can do as much, so keep it to yourself. Where there is no deployment, the
policy designer works all the same. Ctrl-C ends it.
`;

/** `posthaste console` */
export function addConsole(command: Command, terminal: Terminal): void {
  command
    .option('--open', 'open it in the default browser')
    .option('--port <N>', 'on this port of 127.0.0.1 (default: a free one)', wholeNumberOf(1, 65_535))
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
    terminal.printError('Building the console, which takes a few seconds once …');
    await work();
  };
  const [surroundings, page] = await Promise.all([
    surroundingsOf(choice, terminal),
    builtPage({ signal, show }),
  ]);
  const server = await startConsole({
    page: await readPage(page),
    surroundings,
    ...(port === undefined ? {} : { port }),
  });
  let opening: Opening | undefined;
  try {
    terminal.print(json === true ? JSON.stringify({ url: server.url }) : told(server.url, surroundings));
    if (open === true) {
      opening = openBrowser(server.url);
      void opening.failed.then((failure) => {
        if (failure !== undefined)
          terminal.printError(`No browser could be opened (${failure}). Open the address above in one.`);
      });
    }
    if (!signal.aborted) await once(signal, 'abort');
  } finally {
    opening?.forget();
    await server.close();
  }
}

/** A deployment that is named has to be there; without one, there is still the policy designer. */
async function surroundingsOf(choice: DeploymentChoice, terminal: Terminal): Promise<Surroundings> {
  try {
    return { kind: 'deployment', access: await findApi(choice, terminal.env) };
  } catch (failure) {
    const isNamed = choice.local === true || choice.deployment !== undefined;
    if (isNamed || !(failure instanceof Problem)) throw failure;
    terminal.printError(`${failure.message}\nOnly what needs no deployment works: the policy designer.`);
    return { kind: 'none', reason: failureText(failure) };
  }
}

function told(url: string, surroundings: Surroundings): string {
  return surroundings.kind === 'deployment'
    ? `The console of ${surroundings.access.name}: ${url}\nCtrl-C ends it.`
    : `The console: ${url}\nCtrl-C ends it.`;
}
