import { existsSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { runNpm } from './npm.mjs';
import { localFolder, programFile, projectRoot } from './paths.mjs';
import { freshLog } from './process-group.mjs';
import { step } from './progress.mjs';

/** The CDK command that a start installs if the user's folder has none. */
export const CDK_COMMAND = { 'aws-cdk': '^2.1148.1' };

/** What the constructs import. The package leaves them to the user's app, and an empty folder has no app. */
export const CDK_LIBRARY = { 'aws-cdk-lib': '^2.276.0', constructs: '^10.8.1' };

/** Where a start of the installed package installs what is missing. */
export const cdkFolder = join(localFolder, 'cdk');

/**
 * The CDK command: of the user's folder, of the repository, or installed by an earlier start.
 *
 * @returns {string | undefined} the path of its program
 */
export function cdkProgram() {
  for (const folder of [process.cwd(), projectRoot, cdkFolder]) {
    const manifest = manifestOf('aws-cdk', folder);
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
  return manifestOf('aws-cdk-lib', projectRoot) !== undefined;
}

/**
 * @param {string} name of a package
 * @param {string} folder
 */
function manifestOf(name, folder) {
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
  const isLibraryFound = isCdkLibraryBeside() || manifestOf('aws-cdk-lib', cdkFolder) !== undefined;
  if (cdkProgram() !== undefined && isLibraryFound) return;
  const packages = { ...CDK_COMMAND, ...(isCdkLibraryBeside() ? {} : CDK_LIBRARY) };
  const names = Object.entries(packages).map(([name, range]) => `${name}@${range}`);
  const args = ['install', '--prefix', cdkFolder, ...names];
  await step('Installing the CDK', () =>
    runNpm(args, { cwd: localFolder, log: freshLog('cdk-npm.log'), signal }),
  );
}
