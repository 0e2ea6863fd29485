import { existsSync, statSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { projectNode, projectRoot } from './paths.mjs';
import { Problem } from './problem.mjs';
import { runGroup, tailOf } from './process-group.mjs';

/**
 * Whether node_modules was installed from package-lock.json as it is now. npm writes its own record last, so an interrupted
 * installation has none; a lock file that changed since is newer than the record.
 *
 * @param {string} root
 */
export function npmPackagesReady(root) {
  const record = join(root, 'node_modules', '.package-lock.json');
  if (!existsSync(record)) return false;
  return statSync(record).mtimeMs >= statSync(join(root, 'package-lock.json')).mtimeMs;
}

/**
 * @param {{ log: string, signal: AbortSignal }} how
 * @throws {Problem} with the end of npm's output
 */
export async function installNpmPackages(how) {
  const env = { ...process.env, PATH: pathOfTheMachine(process.env['PATH'] ?? '') };
  const { code } = await runGroup('npm', ['ci', '--no-audit', '--no-fund'], {
    ...how,
    env,
    cwd: projectRoot,
  }).catch(withoutNpm);
  if (code !== 0) {
    throw new Problem(
      `npm ci failed. Is the package registry reachable? The end of its output (all of it: ${how.log}):\n${tailOf(how.log)}`,
    );
  }
  if (!existsSync(projectNode)) {
    throw new Problem(
      'npm ci ran, but Node 24 is not among the packages: its install script was not allowed to run. Set "ignore-scripts" to false in your npm settings, delete node_modules and start again.',
    );
  }
}

/**
 * @param {unknown} error
 * @returns {never}
 */
function withoutNpm(error) {
  if (!(error instanceof Error && 'code' in error && error.code === 'ENOENT')) throw error;
  throw new Problem(
    'npm is missing. It comes with Node: install it from https://nodejs.org, then start again.',
  );
}

/**
 * npm must not run on the very Node that it is about to delete and install anew.
 *
 * @param {string} path
 */
function pathOfTheMachine(path) {
  return path
    .split(delimiter)
    .filter((folder) => !folder.startsWith(join(projectRoot, 'node_modules')))
    .join(delimiter);
}
