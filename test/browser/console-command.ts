import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import * as z from 'zod';
import { projectNode, projectRoot } from '../../local/install/paths.mjs';

const printed = z.object({ url: z.string() });

/** Runs the `console` command, which builds the page if needed and serves it. */
export const startConsoleCommand = async (env: NodeJS.ProcessEnv, args: readonly string[] = []) => {
  const child = spawn(projectNode, ['cli/posthaste.mjs', 'console', '--json', ...args], {
    cwd: projectRoot,
    env,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const errors: string[] = [];
  child.stderr.on('data', (data: Buffer) => errors.push(data.toString()));
  const ended = once(child, 'exit');
  const line = await createInterface(child.stdout)[Symbol.asyncIterator]().next();
  if (line.done === true) throw new Error(`the console command has exited: ${errors.join('')}`);
  return {
    /** The link with the session token, as the command prints it. */
    url: printed.parse(JSON.parse(line.value)).url,
    /** The output on stderr so far. */
    stderr: () => errors.join(''),
    /** Stops it with SIGINT and returns the exit status. */
    stop: async () => {
      child.kill('SIGINT');
      await ended;
      return child.exitCode;
    },
  };
};

export type RunningConsole = Awaited<ReturnType<typeof startConsoleCommand>>;
