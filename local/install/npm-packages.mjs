import { existsSync, readFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { projectNode, projectRoot } from './paths.mjs';
import { Problem } from './problem.mjs';
import { runGroup, tailOf } from './process-group.mjs';

const SHOWN_ERRORS = 8;

/**
 * @typedef {{ version?: string, integrity?: string, optional?: boolean, link?: boolean }} LockedPackage
 * @typedef {Record<string, LockedPackage>} LockedPackages
 */

/**
 * Whether what is in node_modules is what the lock file asks for. npm writes its own record of an installation when it
 * is complete, so an interrupted one has none. Optional packages are missing where they are for other machines.
 *
 * @param {LockedPackages} locked of package-lock.json
 * @param {LockedPackages} installed of node_modules/.package-lock.json
 */
export const isInstalled = (locked, installed) =>
  Object.entries(locked).every(([path, wanted]) => {
    if (path === '') return true;
    const found = installed[path];
    if (found === undefined) return wanted.optional === true;
    return found.version === wanted.version && found.integrity === wanted.integrity;
  });

export const npmPackagesReady = () => {
  const record = join(projectRoot, 'node_modules', '.package-lock.json');
  if (!existsSync(record) || !existsSync(projectNode)) return false;
  return isInstalled(packagesOf(join(projectRoot, 'package-lock.json')), packagesOf(record));
};

/**
 * @param {string} lockFile
 * @returns {LockedPackages}
 */
const packagesOf = (lockFile) => JSON.parse(readFileSync(lockFile, 'utf8')).packages ?? {};

/** @param {{ log: string, signal: AbortSignal }} how */
export const installNpmPackages = async ({ log, signal }) => {
  const env = { ...process.env, PATH: pathOfTheMachine(process.env['PATH'] ?? '') };
  const { code } = await runNpm({ log, signal, env });
  if (code !== 0) {
    throw new Problem(
      `npm ci failed. If it does not say why below: is the package registry reachable? All of its output is in ${log}.\n${errorsOf(log)}`,
    );
  }
  if (!existsSync(projectNode)) {
    throw new Problem(
      'npm ci ran, but Node 24 is not among the packages: its install script was not allowed to run. Set "ignore-scripts" to false in your npm settings, delete node_modules and start again.',
    );
  }
};

/**
 * npm says what is wrong first, and then a page of how it is used.
 *
 * @param {string} log
 */
const errorsOf = (log) => {
  const errors = readFileSync(log, 'utf8')
    .split('\n')
    .filter((line) => /^npm (error|ERR!) \S/.test(line));
  return errors.length === 0
    ? tailOf(log)
    : errors
        .slice(0, SHOWN_ERRORS)
        .map((line) => `    ${line}`)
        .join('\n');
};

/** @param {{ log: string, signal: AbortSignal, env: NodeJS.ProcessEnv }} how */
const runNpm = async (how) => {
  try {
    return await runGroup('npm', ['ci', '--no-audit', '--no-fund'], { ...how, cwd: projectRoot });
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') {
      throw new Problem(
        'npm is missing. It comes with Node: install it from https://nodejs.org, then start again.',
      );
    }
    throw error;
  }
};

/**
 * npm must not run on the very Node that it is about to delete and install anew.
 *
 * @param {string} path
 */
const pathOfTheMachine = (path) =>
  path
    .split(delimiter)
    .filter((folder) => !folder.startsWith(join(projectRoot, 'node_modules')))
    .join(delimiter);
