import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { takeLock } from './lock.mjs';
import { installNpmPackages, npmPackagesReady } from './npm.mjs';
import { localFolder, projectRoot } from './paths.mjs';
import { localAwsPackages, pipInstall } from './pip.mjs';
import { freshLog } from './process-group.mjs';
import { step } from './progress.mjs';

const LOOK_AGAIN_MS = 500;

/**
 * Installs what is missing: for `start` the local AWS and what runs and deploys Posthaste, for `check` all npm packages, for
 * `test` both.
 *
 * @param {'start' | 'check' | 'test'} purpose
 * @param {AbortSignal} signal
 * @throws {import('./problem.mjs').Problem} with what to do
 */
export async function install(purpose, signal) {
  const release = await whenNobodyInstalls(signal);
  try {
    const results = await Promise.allSettled([
      npmPackages(purpose === 'start' ? 'product' : 'all', signal),
      purpose === 'check' ? undefined : pipInstall(localAwsPackages, signal),
    ]);
    for (const result of results) if (result.status === 'rejected') throw result.reason;
  } finally {
    release();
  }
}

/**
 * @param {import('./npm.mjs').NpmPackages} packages
 * @param {AbortSignal} signal
 */
async function npmPackages(packages, signal) {
  if (npmPackagesReady(projectRoot, packages)) return;
  await step('Installing npm packages', () =>
    installNpmPackages(packages, { log: freshLog('npm.log'), signal }),
  );
}

/**
 * A test run and a start may find packages missing at the same time.
 *
 * @param {AbortSignal} signal
 */
async function whenNobodyInstalls(signal) {
  const lockFile = join(localFolder, 'install.json');
  let lock = takeLock(lockFile);
  if (lock.kind === 'held')
    console.log(`  Process ${lock.by.pid} is installing packages here; waiting for it.`);
  while (lock.kind === 'held') {
    await pause(LOOK_AGAIN_MS, undefined, { signal });
    lock = takeLock(lockFile);
  }
  return lock.release;
}
