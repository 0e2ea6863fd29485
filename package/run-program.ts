import { execFile } from 'node:child_process';
import { projectRoot } from '../local/install/paths.mjs';

type Where = { cwd?: string; env?: NodeJS.ProcessEnv };

/**
 * Runs a program, in the project folder by default, and returns what it prints.
 * @throws Error with all that it printed when it fails
 */
export function runProgram(program: string, args: readonly string[], where: Where = {}): Promise<string> {
  return new Promise((resolve, reject) => {
    const options = { cwd: projectRoot, maxBuffer: Infinity, ...where };
    execFile(program, args, options, (cause, stdout, stderr) => {
      if (cause === null) resolve(stdout);
      else reject(new Error(`${program} ${args[0] ?? ''} failed:\n${stdout}${stderr}`, { cause }));
    });
  });
}
