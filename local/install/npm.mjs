import { existsSync, readFileSync, statSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { projectNode, projectRoot } from './paths.mjs';
import { Problem } from './problem.mjs';
import { runGroup, tailOf } from './process-group.mjs';

/**
 * `product`: the dependencies of package.json, which run and deploy Posthaste. `all`: also the devDependencies, which
 * are a third of the download.
 *
 * @typedef {'product' | 'all'} NpmPackages
 */

/**
 * Whether node_modules matches the current package-lock.json. npm writes its record last, so an interrupted
 * installation has none; a lock file that changed afterwards is newer than the record.
 *
 * @param {string} root
 * @param {NpmPackages} packages
 */
export function npmPackagesReady(root, packages) {
  const record = recordIn(root);
  if (!existsSync(record)) return false;
  if (statSync(record).mtimeMs < statSync(join(root, 'package-lock.json')).mtimeMs) return false;
  return packages === 'product' || hasDevPackages(root);
}

/** @param {string} root */
function recordIn(root) {
  return join(root, 'node_modules', '.package-lock.json');
}

/** @param {string} root */
function hasDevPackages(root) {
  if (!existsSync(recordIn(root))) return false;
  const { packages = {} } = JSON.parse(readFileSync(recordIn(root), 'utf8'));
  const { devDependencies = {} } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
  return Object.keys(devDependencies).every((name) => `node_modules/${name}` in packages);
}

/**
 * The arguments for npm. Installed packages stay: devDependencies from an earlier installation, and the packages of a
 * running start, which `npm ci` would delete first.
 *
 * @param {string} root
 * @param {NpmPackages} packages
 */
export function npmArguments(root, packages) {
  if (packages === 'product' && !hasDevPackages(root)) return ['ci', '--omit=dev'];
  return npmPackagesReady(root, 'product')
    ? ['install', '--no-save', '--include=dev']
    : ['ci', '--include=dev'];
}

/**
 * @param {NpmPackages} packages
 * @param {{ log: string, signal: AbortSignal }} how
 * @throws {Problem} with the end of npm's output
 */
export async function installNpmPackages(packages, how) {
  await runNpm(npmArguments(projectRoot, packages), { ...how, cwd: projectRoot });
  if (!existsSync(projectNode)) {
    throw new Problem(
      'The npm packages are installed, but Node 24 is missing because its install script was not allowed to run. Set "ignore-scripts" to false in your npm settings, delete node_modules, then start again.',
    );
  }
}

/**
 * @param {string[]} args
 * @param {{ cwd: string, log: string, signal: AbortSignal }} how
 * @throws {Problem} with the end of npm's output
 */
export async function runNpm(args, how) {
  const env = { ...process.env, PATH: pathOfTheMachine(process.env['PATH'] ?? '') };
  const { code } = await runGroup('npm', [...args, '--no-audit', '--no-fund'], { ...how, env }).catch(
    withoutNpm,
  );
  if (code !== 0) {
    throw new Problem(
      `npm ${args[0]} failed. Check that the package registry is reachable. The end of its output (full log: ${how.log}):\n${tailOf(how.log)}`,
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
