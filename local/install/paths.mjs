import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** The folder of the code, independent of the current directory: the repository, or the installed package. */
export const projectRoot = fileURLToPath(new URL('../../', import.meta.url));

/** Whether the code is the installed package: compiled, with the bundles of the functions. */
export const isPackaged = existsSync(join(projectRoot, 'assets/functions'));

/** The folder for all files that a start creates, except `node_modules`. */
export const localFolder = isPackaged ? join(process.cwd(), '.posthaste') : join(projectRoot, '.local');

export const ministackFolder = join(localFolder, 'ministack');

/** Compiled modules, kept between processes: of commands in the repository, of the CDK, and of tests. */
export const compileCache = join(localFolder, 'compile-cache');

/** Node 24, installed with the packages of the repository. The installed package runs on the user's Node. */
export const projectNode = isPackaged ? process.execPath : join(projectRoot, 'node_modules', '.bin', 'node');

/**
 * The path of a module to run as a program.
 *
 * @param {string} source its path in the repository, such as `cli/commands/start/run.ts`
 */
export function programFile(source) {
  return join(projectRoot, isPackaged ? source.replace(/\.ts$/, '.js') : source);
}
