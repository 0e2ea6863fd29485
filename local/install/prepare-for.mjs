import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { takeLock } from './lock.mjs';
import { installMinistack, ministackIn, ministackVersion } from './ministack.mjs';
import { installNpmPackages, npmPackagesReady } from './npm-packages.mjs';
import { localFolder, ministackFolder } from './paths.mjs';
import { Problem } from './problem.mjs';
import { step } from './progress.mjs';
import { findPython } from './python.mjs';

const LOOK_AGAIN_MS = 500;

/**
 * Installs what is missing.
 *
 * @param {'packages' | 'all'} what the npm packages alone, or the local AWS as well
 * @param {AbortSignal} signal
 */
export const install = async (what, signal) => {
  const release = await whenNobodyInstalls(signal);
  try {
    const results = await Promise.allSettled([
      npmPackages(signal),
      what === 'all' ? ministack(signal) : undefined,
    ]);
    for (const result of results) if (result.status === 'rejected') throw result.reason;
  } finally {
    release();
  }
};

/**
 * The command `prepare.mjs`, with its exit status.
 *
 * @param {string | undefined} purpose
 */
export const prepareFor = async (purpose) => {
  if (purpose !== undefined && purpose !== 'test') {
    console.error(`Usage: node local/prepare.mjs [test]`);
    return 2;
  }
  try {
    await install(purpose === 'test' ? 'all' : 'packages', new AbortController().signal);
    return 0;
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
    console.error(error.message);
    return 1;
  }
};

/** @param {AbortSignal} signal */
const npmPackages = async (signal) => {
  if (npmPackagesReady()) return;
  await step('Installing npm packages', () => installNpmPackages({ log: freshLog('npm.log'), signal }));
};

/** @param {AbortSignal} signal */
const ministack = async (signal) => {
  const python = findPython();
  const state = ministackIn(ministackFolder, python);
  if (state.kind === 'ready') return;
  if (state.kind === 'other') {
    console.log(
      `  In .local/ministack is ${state.what}; it is replaced by ministack ${ministackVersion} for Python ${python.version}.`,
    );
  }
  await step(`Installing the local AWS, ministack ${ministackVersion}`, () =>
    installMinistack(ministackFolder, python, { log: freshLog('pip.log'), signal }),
  );
};

/**
 * A test run and a start may find packages missing at the same time.
 *
 * @param {AbortSignal} signal
 */
const whenNobodyInstalls = async (signal) => {
  const lockFile = join(localFolder, 'install.json');
  let lock = takeLock(lockFile);
  if (lock.kind === 'held')
    console.log(`  Process ${lock.by.pid} is installing packages here; waiting for it.`);
  while (lock.kind === 'held') {
    await pause(LOOK_AGAIN_MS, undefined, { signal });
    lock = takeLock(lockFile);
  }
  return lock.release;
};

/** @param {string} name */
const freshLog = (name) => {
  mkdirSync(localFolder, { recursive: true });
  const log = join(localFolder, name);
  writeFileSync(log, '');
  return log;
};
