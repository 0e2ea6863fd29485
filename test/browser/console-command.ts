import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import * as z from 'zod';
import { projectNode, projectRoot } from '../../local/install/paths.mjs';

const printed = z.object({ url: z.string() });

export type RunningConsole = {
  /** With the token, as an operator opens it. */
  url: string;
  /** What it has said on stderr so far. */
  stderr: () => string;
  /** Ends it as Ctrl-C does, and gives its exit status. */
  stop: () => Promise<number | null>;
};

/** The command as an operator runs it: it builds the page if it has to, and serves it. */
export const startConsoleCommand = async (
  env: NodeJS.ProcessEnv,
  args: readonly string[] = [],
): Promise<RunningConsole> => {
  const child = spawn(projectNode, ['cli/posthaste.mjs', 'console', '--json', ...args], {
    cwd: projectRoot,
    env,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const said: string[] = [];
  child.stderr.on('data', (data: Buffer) => said.push(data.toString()));
  const ended = once(child, 'exit');
  const line = await createInterface(child.stdout)[Symbol.asyncIterator]().next();
  if (line.done === true) throw new Error(`the console has ended: ${said.join('')}`);
  return {
    url: printed.parse(JSON.parse(line.value)).url,
    stderr: () => said.join(''),
    stop: async () => {
      child.kill('SIGINT');
      await ended;
      return child.exitCode;
    },
  };
};
