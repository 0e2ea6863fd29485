import { execFileSync } from 'node:child_process';
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';

/**
 * @typedef {{ pid: number, since: string }} Holder
 * @typedef {{ kind: 'taken', release: () => void } | { kind: 'held', by: Holder }} LockResult
 */

/**
 * Takes a lock that is a file naming the process that holds it. A lock whose holder is gone is taken over.
 *
 * @param {string} file
 * @param {(holder: Holder) => boolean} [lives]
 * @returns {LockResult}
 */
export const takeLock = (file, lives = isOneOfOurs) => {
  mkdirSync(dirname(file), { recursive: true });
  if (!written(file)) {
    const holder = holderIn(file);
    if (holder !== undefined && lives(holder)) return { kind: 'held', by: holder };
    rmSync(file, { force: true });
    if (!written(file)) return { kind: 'held', by: holderIn(file) ?? { pid: 0, since: 'just now' } };
  }
  const releaseAtExit = () => rmSync(file, { force: true });
  process.once('exit', releaseAtExit);
  return {
    kind: 'taken',
    release: () => {
      process.removeListener('exit', releaseAtExit);
      releaseAtExit();
    },
  };
};

/** @param {string} file */
const written = (file) => {
  const holder = { pid: process.pid, since: new Date().toISOString() };
  try {
    writeFileSync(file, JSON.stringify(holder), { flag: 'wx' });
    return true;
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'EEXIST') return false;
    throw error;
  }
};

/**
 * Undefined for a file that names nobody: one that a crash left half-written.
 *
 * @param {string} file
 * @returns {Holder | undefined}
 */
const holderIn = (file) => {
  try {
    const { pid, since } = JSON.parse(readFileSync(file, 'utf8'));
    return Number.isInteger(pid) && typeof since === 'string' ? { pid, since } : undefined;
  } catch {
    return undefined;
  }
};

/**
 * Whether the process lives and is a start of this project: numbers are given again after a crash or a restart.
 *
 * @param {Holder} holder
 */
const isOneOfOurs = ({ pid }) => /(start|prepare)\.mjs/.test(commandOf(pid) ?? '');

/** @param {number} pid */
export const isRunning = (pid) => commandOf(pid) !== undefined;

/**
 * @param {number} pid
 * @returns {string | undefined} undefined when there is no such process
 */
const commandOf = (pid) => {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8');
  } catch {
    if (process.platform === 'linux') return undefined;
  }
  try {
    return execFileSync('ps', ['-o', 'command=', '-p', String(pid)], { encoding: 'utf8' });
  } catch {
    return undefined;
  }
};
