import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, lstatSync, mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { takeLock } from './install/lock.mjs';
import { localFolder, programFile, projectNode } from './install/paths.mjs';
import { install } from './install/install.mjs';
import { Problem } from './install/problem.mjs';
import { parseCommandLine, usage } from './options.mjs';

/** @type {NodeJS.Signals[]} */
const STOP_SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'];

/** The exit status that shells use for a program ended by Ctrl-C. */
const INTERRUPTED = 130;

const CHECK_PARENTS_MS = 1_000;

/** Written by cli/commands/start/run.ts once the system is running. */
const endpoints = join(localFolder, 'endpoints.json');

/**
 * Runs `npm start` and returns its exit status: installs missing packages, then starts cli/commands/start/run.ts on Node 24.
 *
 * @param {string[]} args
 */
export const launch = async (args) => {
  const command = parseCommandLine(args);
  if (command.kind === 'help') {
    console.log(usage);
    return 0;
  }
  if (command.kind === 'wrong') {
    console.error(`${command.message}\n\n${usage}`);
    return 2;
  }
  return await startOnce(command.options);
};

/**
 * Starts unless a start of this folder is running, and returns the exit status.
 *
 * @param {import('./options.mjs').StartOptions} options
 */
export const startOnce = async (options) => {
  const refusal = prepareFolder();
  if (refusal !== undefined) {
    console.error(refusal);
    return 1;
  }
  const lock = takeLock(join(localFolder, 'start.json'));
  if (lock.kind === 'held') {
    console.error(alreadyRunningText(lock.by, existsSync(endpoints)));
    return 1;
  }
  // A start that was killed leaves its endpoints file behind.
  rmSync(endpoints, { force: true });
  const interruption = interruptible();
  try {
    await install('start', interruption.signal);
    interruption.signal.throwIfAborted();
    return await runOnProjectNode(options, interruption.signal);
  } catch (error) {
    if (interruption.signal.aborted) return INTERRUPTED;
    if (!(error instanceof Problem)) throw error;
    console.error(error.message);
    return 1;
  } finally {
    // cli/commands/start/run.ts removes it, unless it was killed.
    rmSync(endpoints, { force: true });
    lock.release();
    interruption.end();
    if (interruption.signal.aborted) console.log('Stopped.');
  }
};

/** The folder has keys of the local AWS, so other users cannot open it. */
const prepareFolder = () => {
  mkdirSync(localFolder, { recursive: true, mode: 0o700 });
  const [owner, parent] = [lstatSync(localFolder).uid, statSync(dirname(localFolder)).uid];
  const refusal = foreignFolderText({ owner, parent, user: process.getuid?.() });
  if (refusal === undefined) writeFileSync(join(localFolder, '.gitignore'), '*\n');
  return refusal;
};

/**
 * Why a start must not use its folder, if so: a user who made it first, as in /tmp, could put code into it. Owners are
 * user ids.
 *
 * @param {{ owner: number, parent: number, user: number | undefined }} ids
 */
export const foreignFolderText = ({ owner, parent, user }) =>
  user === undefined || [user, parent, 0].includes(owner)
    ? undefined
    : `${localFolder} belongs to another user (${owner}). Start in another folder, or remove it.`;

/**
 * The message of a second start.
 *
 * @param {import('./install/lock.mjs').Holder} holder of the lock
 * @param {boolean} isUp whether the first start has written its endpoints
 */
export const alreadyRunningText = ({ pid, since }, isUp) => {
  const stop = `stop it with Ctrl-C in its terminal or with "kill ${pid}"`;
  return isUp
    ? `Posthaste is already running in this folder (process ${pid}, since ${since}). Use it (see ${relative(process.cwd(), endpoints)} for its addresses), or ${stop}.`
    : `Posthaste is starting or stopping in this folder (process ${pid}, since ${since}). Wait for it, or ${stop}.`;
};

/**
 * A signal that aborts on Ctrl-C, on SIGTERM, on a closed terminal, and when the parent npm process has ended without
 * forwarding a signal.
 */
const interruptible = () => {
  const controller = new AbortController();
  // Printed at once, because stopping may take seconds; and only once, because npm forwards the terminal's signal
  // again.
  const abort = () => {
    if (!controller.signal.aborted) console.log('\nStopping…');
    controller.abort();
  };
  for (const signal of STOP_SIGNALS) process.on(signal, abort);
  const parents = parentProcesses();
  const watch = setInterval(() => {
    if (process.env['npm_lifecycle_event'] !== undefined && parentProcesses() !== parents) abort();
  }, CHECK_PARENTS_MS).unref();
  return {
    signal: controller.signal,
    end: () => {
      clearInterval(watch);
      for (const signal of STOP_SIGNALS) process.off(signal, abort);
    },
  };
};

/**
 * The parent and grandparent (npm, perhaps with a shell between): an orphaned process gets another parent. On Linux only;
 * elsewhere a killed npm is noticed only without a shell between.
 */
const parentProcesses = () => {
  const { ppid } = process;
  try {
    return `${ppid} ${/^PPid:\s*(\d+)/m.exec(readFileSync(`/proc/${ppid}/status`, 'utf8'))?.[1]}`;
  } catch {
    return String(ppid);
  }
};

/**
 * Runs cli/commands/start/run.ts on the project's Node, in the current folder. Closing the IPC channel stops it, also when this process is killed.
 *
 * @param {import('./options.mjs').StartOptions} options
 * @param {AbortSignal} signal
 * @returns {Promise<number>}
 */
const runOnProjectNode = async (options, signal) => {
  const startedAt = Date.now() - Math.round(process.uptime() * 1000);
  const request = JSON.stringify({ options, startedAt });
  const child = spawn(projectNode, [programFile('cli/commands/start/run.ts'), request], {
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
    detached: true,
  });
  const stop = () => child.connected && child.disconnect();
  signal.addEventListener('abort', stop, { once: true });
  await once(child, 'exit');
  return child.exitCode ?? 1;
};
