import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { installCdk, installNpmPackages } from './npm.mjs';
import { takeLock } from './lock.mjs';
import { isPackaged, localFolder } from './paths.mjs';
import { localAwsPackages, pipInstall } from './pip.mjs';

const CHECK_LOCK_MS = 500;

/**
 * Installs missing packages: for `start` the local AWS and the npm packages that run and deploy Posthaste, for `check`
 * all npm packages, for `test` all npm packages and the local AWS. Of the installed package only the CDK can be missing.
 *
 * @param {'start' | 'check' | 'test'} purpose
 * @param {AbortSignal} signal
 * @throws {import('./problem.mjs').Problem} with advice
 */
export async function install(purpose, signal) {
  const release = await takeInstallLock(signal);
  try {
    const results = await Promise.allSettled([
      isPackaged ? installCdk(signal) : installNpmPackages(purpose === 'start' ? 'product' : 'all', signal),
      purpose === 'check' ? undefined : pipInstall(localAwsPackages, signal),
    ]);
    for (const result of results) if (result.status === 'rejected') throw result.reason;
  } finally {
    release();
  }
}

/**
 * Waits until no other process installs packages: a test run and a start may find them missing at the same time.
 *
 * @param {AbortSignal} signal
 */
async function takeInstallLock(signal) {
  for (let isSaid = false; ; isSaid = true) {
    const lock = takeLock(join(localFolder, 'install.json'));
    if (lock.kind === 'taken') return lock.release;
    if (!isSaid)
      console.log(`  Waiting for process ${lock.by.pid}, which is installing packages in this folder.`);
    await pause(CHECK_LOCK_MS, undefined, { signal });
  }
}
