import { existsSync, readFileSync, rmSync, statSync } from 'node:fs';
import { createRequire } from 'node:module';
import { delimiter, dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { localFolder, programFile, projectNode, projectRoot } from './paths.mjs';
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
  await runNpm('Installing npm packages', args, { cwd: projectRoot, log: 'npm.log', signal });
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
 * @param {string} label of the step
 * @param {string[]} args
 * @param {{ cwd: string, log: string, signal: AbortSignal }} how
 * @throws {Problem} with the end of npm's output
 */
async function runNpm(label, args, { cwd, log, signal }) {
  // Without the project's node_modules: npm must not run on the Node that it is about to replace.
  const path = (process.env['PATH'] ?? '')
    .split(delimiter)
    .filter((folder) => !folder.startsWith(join(projectRoot, 'node_modules')));
  await step(label, () =>
    runToSuccess('npm', [...args, '--no-audit', '--no-fund'], {
      env: { ...process.env, PATH: path.join(delimiter) },
      cwd,
      log: freshLog(log),
      signal,
      failure: `npm ${args[0]} failed. Check that the package registry is reachable.`,
      missing: 'npm is missing. It comes with Node: install it from https://nodejs.org, then start again.',
    }),
  );
}

/** The CDK command that a start installs if the user's folder has none. */
export const CDK_COMMAND = { 'aws-cdk': '^2.1148.1' };

export const CDK_MISSING = `The CDK command is not installed: npm install aws-cdk@${CDK_COMMAND['aws-cdk'].slice(1)}`;

/** What the constructs import. The package leaves them to the user's app, and an empty folder has no app. */
export const CDK_LIBRARY = { 'aws-cdk-lib': '^2.276.0', constructs: '^10.8.1' };

/** Where a start of the installed package installs what is missing. */
const cdkFolder = join(localFolder, 'cdk');

/**
 * The CDK command: of the user's folder, of the repository, or installed by an earlier start.
 *
 * @returns {string | undefined} the path of its program
 */
export function cdkProgram() {
  for (const folder of [process.cwd(), projectRoot, cdkFolder]) {
    const manifest = findManifest('aws-cdk', folder);
    if (manifest !== undefined) return join(dirname(manifest), 'bin/cdk');
  }
  return undefined;
}

/** Options for Node with which the constructs of this package find the CDK's library. */
export function cdkLibraryOptions() {
  if (isCdkLibraryBeside()) return [];
  const hooks = pathToFileURL(programFile('local/install/cdk-library.mjs'));
  hooks.searchParams.set('in', pathToFileURL(join(cdkFolder, 'package.json')).href);
  return ['--import', hooks.href];
}

/** npm installs it there with an app, but not for an empty folder. */
function isCdkLibraryBeside() {
  return findManifest('aws-cdk-lib', projectRoot) !== undefined;
}

/**
 * @param {string} name of a package
 * @param {string} folder
 */
function findManifest(name, folder) {
  try {
    return createRequire(join(folder, 'package.json')).resolve(`${name}/package.json`);
  } catch {
    return undefined;
  }
}

/**
 * Installs what a start of the installed package needs of the CDK and does not find.
 *
 * @param {AbortSignal} signal
 * @throws {import('./problem.mjs').Problem} with the end of npm's output
 */
export async function installCdk(signal) {
  // npm writes its record last, so an interrupted installation has none.
  if (!existsSync(join(cdkFolder, 'node_modules', '.package-lock.json')))
    rmSync(cdkFolder, { recursive: true, force: true });
  const isLibraryFound = isCdkLibraryBeside() || findManifest('aws-cdk-lib', cdkFolder) !== undefined;
  if (cdkProgram() !== undefined && isLibraryFound) return;
  const packages = { ...CDK_COMMAND, ...(isCdkLibraryBeside() ? {} : CDK_LIBRARY) };
  const names = Object.entries(packages).map(([name, range]) => `${name}@${range}`);
  const args = ['install', '--prefix', cdkFolder, ...names];
  await runNpm('Installing the CDK', args, { cwd: localFolder, log: 'cdk-npm.log', signal });
}
