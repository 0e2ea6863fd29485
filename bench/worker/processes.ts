import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { projectRoot } from '../../local/install/paths.mjs';
import { limitProcessor, type Share } from '../harness/processor.ts';

/** Processes as Linux counts them, in /proc. */

/**
 * Starts `posthaste worker` with the options of Node.js that its image has. It ends with the stack.
 * @param share of the processors, in its whole life; without it all
 */
export async function startWorker(stack: AsyncDisposableStack, env: NodeJS.ProcessEnv, share?: Share) {
  const command = join(projectRoot, 'cli/posthaste.mjs');
  const child = spawn(process.execPath, [command, 'worker', '--ceiling', '1', '--shutdown-seconds', '3'], {
    env: { ...env, NODE_OPTIONS: nodeOptionsOfImage() },
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  const exited = once(child, 'exit');
  stack.defer(async () => {
    child.kill('SIGTERM');
    await exited;
  });
  const limitedBy = share === undefined ? 'nothing' : await limitProcessor(child, share);
  return { pid: Number(child.pid), limitedBy };
}

/** @throws Error when the Containerfile sets none */
export function nodeOptionsOfImage(): string {
  const text = readFileSync(join(projectRoot, 'examples/worker/Containerfile'), 'utf8');
  const [, options] = /^ENV NODE_OPTIONS="(.+)"$/m.exec(text) ?? [];
  if (options === undefined) throw new Error('The Containerfile has no NODE_OPTIONS.');
  return options;
}

/** Linux counts processor time in hundredths of a second, on every architecture. */
const TICK_MS = 10;

/** Milliseconds of processor time since its start. */
export function cpuMsOf(pid: number): number {
  const { user, system } = statOf(pid);
  return (user + system) * TICK_MS;
}

/** Of all processes of the group that still run, without the leader. */
export function cpuMsOfMembers(leader: number): number {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name) && Number(name) !== leader)
    .map((name) => statOrGone(Number(name)))
    .filter((stat) => stat?.group === leader)
    .reduce((total, stat) => total + ((stat?.user ?? 0) + (stat?.system ?? 0)) * TICK_MS, 0);
}

/** Resident memory now, and the most since the start. */
export function megabytesOf(pid: number): { now: number; most: number } {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8');
  const megabytes = (name: string): number =>
    Number(new RegExp(String.raw`^${name}:\s+(\d+) kB$`, 'm').exec(status)?.[1]) / 1024;
  return { now: megabytes('VmRSS'), most: megabytes('VmHWM') };
}

type Stat = { group: number; user: number; system: number };

/** The fields after the name, which can contain anything (proc_pid_stat(5): pgrp is 5, utime 14, stime 15). */
function statOf(pid: number): Stat {
  const text = readFileSync(`/proc/${pid}/stat`, 'utf8');
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
  return { group: Number(fields[2]), user: Number(fields[11]), system: Number(fields[12]) };
}

/** Undefined: it has ended since. */
function statOrGone(pid: number): Stat | undefined {
  try {
    return statOf(pid);
  } catch {
    return undefined;
  }
}
