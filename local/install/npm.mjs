import { existsSync, readFileSync, statSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { projectNode, projectRoot } from './paths.mjs';
import { Problem } from './problem.mjs';
import { freshLog, runToSuccess } from './process-group.mjs';
import { step } from './progress.mjs';

/**
 * `product`: the dependencies of package.json, which run and deploy Posthaste. `all`: also the devDependencies, which
 * are a third of the download.
 *
 * @typedef {'product' | 'all'} NpmPackages
 */

/**
 * Installs the packages of the repository, if some are missing.
 *
 * @param {NpmPackages} packages
 * @param {AbortSignal} signal
 * @throws {Problem} with the end of npm's output
 */
export async function installNpmPackages(packages, signal) {
  const args = npmArguments(projectRoot, packages);
  if (args === undefined) return;
  await step('Installing npm packages', () =>
    runNpm(args, { cwd: projectRoot, log: freshLog('npm.log'), signal }),
  );
  if (!existsSync(projectNode)) {
    throw new Problem(
      'The npm packages are installed, but Node 24 is missing because its install script was not allowed to run. Set "ignore-scripts" to false in your npm settings, delete node_modules, then start again.',
    );
  }
}

/**
 * The arguments for npm; undefined if all packages are there. `npm ci` deletes the installed packages first, so it does
 * not run where only devDependencies are missing: a start may be using the others.
 *
 * @param {string} root
 * @param {NpmPackages} packages
 */
export function npmArguments(root, packages) {
  const { isCurrent, hasDev } = installedIn(root);
  if (isCurrent && (hasDev || packages === 'product')) return undefined;
  if (isCurrent) return ['install', '--no-save', '--include=dev'];
  return ['ci', packages === 'all' || hasDev ? '--include=dev' : '--omit=dev'];
}

/**
 * npm writes its record last, so an interrupted installation has none; a lock file that changed afterwards is newer than
 * the record.
 *
 * @param {string} root
 */
function installedIn(root) {
  const record = join(root, 'node_modules', '.package-lock.json');
  if (!existsSync(record)) return { isCurrent: false, hasDev: false };
  const { packages = {} } = JSON.parse(readFileSync(record, 'utf8'));
  const { devDependencies = {} } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
  return {
    isCurrent: statSync(record).mtimeMs >= statSync(join(root, 'package-lock.json')).mtimeMs,
    hasDev: Object.keys(devDependencies).every((name) => `node_modules/${name}` in packages),
  };
}

/**
 * @param {string[]} args
 * @param {{ cwd: string, log: string, signal: AbortSignal }} how
 * @throws {Problem} with the end of npm's output
 */
export async function runNpm(args, how) {
  const failure = `npm ${args[0]} failed. Check that the package registry is reachable.`;
  const missing = 'npm is missing. It comes with Node: install it from https://nodejs.org, then start again.';
  const env = { ...process.env, PATH: pathOfTheMachine(process.env['PATH'] ?? '') };
  await runToSuccess('npm', [...args, '--no-audit', '--no-fund'], { ...how, env, failure, missing });
}

/**
 * PATH without the project's node_modules: npm must not run on the Node that it is about to replace.
 *
 * @param {string} path
 */
function pathOfTheMachine(path) {
  return path
    .split(delimiter)
    .filter((folder) => !folder.startsWith(join(projectRoot, 'node_modules')))
    .join(delimiter);
}
