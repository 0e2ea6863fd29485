import { execFileSync } from 'node:child_process';
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';

/**
 * @typedef {{ pid: number, since: string }} Holder
 * @typedef {{ kind: 'taken', release: () => void } | { kind: 'held', by: Holder }} LockResult
 */

/**
 * Takes a lock: a file that names the process holding it. If that process has ended, the lock is taken over.
 *
 * @param {string} file
 * @param {(holder: Holder) => boolean} [isAlive]
 * @returns {LockResult}
 */
export function takeLock(file, isAlive = isPosthasteProcess) {
  mkdirSync(dirname(file), { recursive: true });
  if (!createLockFile(file)) {
    const holder = holderIn(file);
    if (holder !== undefined && isAlive(holder)) return { kind: 'held', by: holder };
    rmSync(file, { force: true });
    if (!createLockFile(file)) return { kind: 'held', by: holderIn(file) ?? { pid: 0, since: 'just now' } };
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
}

/** @param {string} file */
function createLockFile(file) {
  const holder = { pid: process.pid, since: new Date().toISOString() };
  try {
    writeFileSync(file, JSON.stringify(holder), { flag: 'wx' });
    return true;
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'EEXIST') return false;
    throw error;
  }
}

/**
 * The holder that the file names; undefined if a crash left the file incomplete.
 *
 * @param {string} file
 * @returns {Holder | undefined}
 */
function holderIn(file) {
  try {
    const { pid, since } = JSON.parse(readFileSync(file, 'utf8'));
    return Number.isInteger(pid) && typeof since === 'string' ? { pid, since } : undefined;
  } catch {
    return undefined;
  }
}

/**
 * Whether the process is running and is a start or an installation: process ids are reused after a crash or a reboot.
 *
 * @param {Holder} holder
 */
function isPosthasteProcess({ pid }) {
  return /(start|prepare)\.mjs|posthaste(\.mjs|\.ts)? start/.test(readCommand(pid) ?? '');
}

/**
 * @param {number} pid
 * @returns {string | undefined} undefined when there is no such process
 */
function readCommand(pid) {
  try {
    return process.platform === 'linux'
      ? readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ')
      : execFileSync('ps', ['-o', 'command=', '-p', String(pid)], { encoding: 'utf8' });
  } catch {
    return undefined;
  }
}
