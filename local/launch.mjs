import { spawn } from 'node:child_process';
import { existsSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { takeLock } from './install/lock.mjs';
import { localFolder, projectNode, projectRoot } from './install/paths.mjs';
import { install } from './install/install.mjs';
import { Problem } from './install/problem.mjs';
import { parseCommandLine, usage } from './options.mjs';

/** @type {NodeJS.Signals[]} */
const STOP_SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'];

/** As shells report a program that Ctrl-C ended. */
const INTERRUPTED = 130;

const LOOK_FOR_STARTERS_MS = 1_000;

/** Written by the other side once the system is up. */
const endpoints = join(localFolder, 'endpoints.json');

/**
 * The command `npm start`, with its exit status: installs what is missing and hands over to Node 24.
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

/** @param {import('./options.mjs').StartOptions} options */
const startOnce = async (options) => {
  const lock = takeLock(join(localFolder, 'start.json'));
  if (lock.kind === 'held') {
    console.error(heldBy(lock.by, existsSync(endpoints)));
    return 1;
  }
  // One that was killed could not.
  rmSync(endpoints, { force: true });
  const interruption = interruptible();
  try {
    await install('start', interruption.signal);
    interruption.signal.throwIfAborted();
    return await handOver(options, interruption.signal);
  } catch (error) {
    if (interruption.signal.aborted) return INTERRUPTED;
    if (!(error instanceof Problem)) throw error;
    console.error(error.message);
    return 1;
  } finally {
    // Removed by the other side, unless it was killed.
    rmSync(endpoints, { force: true });
    lock.release();
    interruption.end();
    if (interruption.signal.aborted) console.log('Stopped.');
  }
};

/**
 * What a second start says.
 *
 * @param {import('./install/lock.mjs').Holder} holder of the lock
 * @param {boolean} isUp whether it has said where it listens
 */
export const heldBy = ({ pid, since }, isUp) => {
  const stop = `stop it with Ctrl-C in its terminal or with "kill ${pid}"`;
  return isUp
    ? `Posthaste is already running here (process ${pid}, since ${since}). Use it as it is, .local/endpoints.json says where it listens; or ${stop}.`
    : `Posthaste is starting here (process ${pid}, since ${since}), or just stopping. Wait for it, or ${stop}.`;
};

/**
 * Aborts on Ctrl-C, on a request to end, on a closed terminal, and when the npm that started us is gone without having
 * passed on why.
 */
const interruptible = () => {
  const controller = new AbortController();
  // Said at once, because it may take a few seconds; and once, because npm passes on what the terminal has sent already.
  const abort = () => {
    if (!controller.signal.aborted) console.log('\nStopping…');
    controller.abort();
  };
  for (const signal of STOP_SIGNALS) process.on(signal, abort);
  const starters = ourStarters();
  const watch = setInterval(() => {
    if (process.env['npm_lifecycle_event'] !== undefined && ourStarters() !== starters) abort();
  }, LOOK_FOR_STARTERS_MS).unref();
  return {
    signal: controller.signal,
    end: () => {
      clearInterval(watch);
      for (const signal of STOP_SIGNALS) process.off(signal, abort);
    },
  };
};

/** npm, and the shell that it may have put between: a process whose parent dies is given another. */
const ourStarters = () => `${process.ppid} ${parentOf(process.ppid)}`;

/**
 * Known on Linux; elsewhere a killed npm is noticed only if there is no shell between.
 *
 * @param {number} pid
 */
const parentOf = (pid) => {
  try {
    return /^PPid:\s*(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1];
  } catch {
    return undefined;
  }
};

/**
 * The rest is TypeScript on the project's own Node. It is told to stop through a channel that also closes when we die.
 *
 * @param {import('./options.mjs').StartOptions} options
 * @param {AbortSignal} signal
 * @returns {Promise<number>}
 */
const handOver = (options, signal) =>
  new Promise((resolve, reject) => {
    const startedAt = Date.now() - Math.round(process.uptime() * 1000);
    const request = JSON.stringify({ options, startedAt });
    const child = spawn(projectNode, [join(projectRoot, 'local/start.ts'), request], {
      stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
      cwd: projectRoot,
      detached: true,
    });
    const stop = () => child.connected && child.disconnect();
    signal.addEventListener('abort', stop, { once: true });
    child.once('error', reject);
    child.once('exit', (code) => resolve(code ?? 1));
  });
