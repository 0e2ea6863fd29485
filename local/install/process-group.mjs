import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, mkdirSync, openSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { stripVTControlCharacters } from 'node:util';
import { localFolder } from './paths.mjs';
import { Problem } from './problem.mjs';

const TAIL_LINES = 25;

/** Time for a process to stop after SIGTERM, before it is killed. */
const GRACE_MS = 4_000;

/**
 * `log` receives its output.
 *
 * @typedef {{ env: NodeJS.ProcessEnv, cwd: string, log: string }} ProcessOptions
 */

/**
 * Starts a program in a separate process group, so that it can be stopped together with its children, and Ctrl-C in the
 * terminal reaches only this process. Its standard input stays open while this process runs.
 *
 * @param {string} program
 * @param {string[]} args
 * @param {ProcessOptions} options
 */
export async function startGroup(program, args, { env, cwd, log }) {
  const output = openSync(log, 'a');
  const child = spawn(program, args, { env, cwd, detached: true, stdio: ['pipe', output, output] });
  closeSync(output);
  await once(child, 'spawn');
  const pid = Number(child.pid);
  const killNow = () => signalGroup(pid, 'SIGKILL');
  process.once('exit', killNow);
  const ended = once(child, 'exit').then(() => ({ code: child.exitCode }));
  const stop = async () => {
    signalGroup(pid, 'SIGTERM');
    const deadline = setTimeout(killNow, GRACE_MS);
    await ended;
    clearTimeout(deadline);
    killNow();
    process.removeListener('exit', killNow);
  };
  return { pid, ended, stop };
}

/**
 * Runs a program to its end. If the signal aborts, its whole process group is stopped.
 *
 * @param {string} program
 * @param {string[]} args
 * @param {ProcessOptions & { signal: AbortSignal }} options
 */
export async function runGroup(program, args, { signal, ...options }) {
  signal.throwIfAborted();
  const group = await startGroup(program, args, options);
  const stop = () => void group.stop();
  signal.addEventListener('abort', stop, { once: true });
  const ending = await group.ended;
  signal.removeEventListener('abort', stop);
  await group.stop();
  signal.throwIfAborted();
  return ending;
}

/**
 * Runs a program that must succeed. The reason to show is `failure`, or `missing` if there is no such program.
 *
 * @param {string} program
 * @param {string[]} args
 * @param {ProcessOptions & { signal: AbortSignal, failure: string, missing?: string }} options
 * @throws {Problem} with the end of its output
 */
export async function runToSuccess(program, args, { failure, missing = failure, ...options }) {
  const { code } = await runGroup(program, args, options).catch((/** @type {unknown} */ cause) => {
    throw isCode(cause, 'ENOENT') ? new Problem(missing, { cause }) : cause;
  });
  if (code !== 0)
    throw new Problem(
      `${failure} The end of its output (full log: ${options.log}):\n${readTail(options.log)}`,
    );
}

/**
 * @param {number} pid the group's leader
 * @param {NodeJS.Signals} signal
 */
function signalGroup(pid, signal) {
  try {
    process.kill(-pid, signal);
  } catch (error) {
    if (!isCode(error, 'ESRCH')) throw error;
  }
}

/**
 * @param {unknown} error
 * @param {string} code of the system
 */
function isCode(error, code) {
  return error instanceof Error && 'code' in error && error.code === code;
}

/**
 * The last lines of a log, indented, to be shown below an error message.
 *
 * @param {string} log
 */
export function readTail(log) {
  const lines = stripVTControlCharacters(readFileSync(log, 'utf8')).trimEnd().split('\n');
  return lines
    .slice(-TAIL_LINES)
    .map((line) => `    ${line}`)
    .join('\n');
}

/**
 * The path of a new, empty log under `.local/`.
 *
 * @param {string} name
 */
export function freshLog(name) {
  mkdirSync(localFolder, { recursive: true });
  const log = join(localFolder, name);
  writeFileSync(log, '');
  return log;
}
