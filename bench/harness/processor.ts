import type { ChildProcess } from 'node:child_process';
import { mkdir, rmdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { WHOLE_PROCESSOR_MEGABYTES } from '../../shared/config/rules.ts';

/** `part` of a processor, 1 for a whole one. The quota is given anew after `microseconds`. */
export type Share = { part: number; microseconds: number };

/** Of a function with so much memory. Lambda does not document its period. */
export function shareOnLambda(megabytes: number): Share {
  return { part: megabytes / WHOLE_PROCESSOR_MEGABYTES, microseconds: 20_000 };
}

/** A processor has 1,024 units. The period is the default of the ECS agent (`ECS_CGROUP_CPU_PERIOD`). */
export function shareOnFargate(units: number): Share {
  return { part: units / 1_024, microseconds: 100_000 };
}

/** V8's heap, as the start script of Lambda's Node.js runtime limits it. */
export function heapFlags(megabytes: number): string[] {
  const young = Math.floor(megabytes / 10);
  return [`--max-semi-space-size=${Math.floor(young / 2)}`, `--max-old-space-size=${megabytes - young}`];
}

type Quota = { root: string; files: (quota: number, period: number) => Readonly<Record<string, string>> };

/**
 * Linux's processor quota, in version 1 and 2 of control groups. The weight is the largest: a share that AWS gives is not
 * lost to other work.
 */
const quotas: readonly Quota[] = [
  {
    root: '/sys/fs/cgroup/cpu',
    files: (quota, period) => ({
      'cpu.cfs_period_us': String(period),
      'cpu.cfs_quota_us': String(quota),
      'cpu.shares': '262144',
    }),
  },
  {
    root: '/sys/fs/cgroup',
    files: (quota, period) => ({
      'cpu.max': `${quota} ${period}`,
      'cpu.weight': '10000',
    }),
  },
];

/**
 * Gives a process a share of the processors: by a quota where the groups of Linux can be written (as root, mostly), else
 * by stopping it in turns, which delays short work more than AWS does.
 */
export async function limitProcessor(child: ChildProcess, share: Share): Promise<'quota' | 'turns'> {
  for (const quota of quotas) if (await hasQuota(child, share, quota)) return 'quota';
  if (share.part < 1) void stopInTurns(child, share);
  return 'turns';
}

async function hasQuota(
  child: ChildProcess,
  { part, microseconds }: Share,
  { root, files }: Quota,
): Promise<boolean> {
  const group = join(root, `posthaste-bench-${child.pid ?? 0}`);
  // Where the root is no control group, there are no such files, and none may be made.
  const write = ([file, text]: [string, string]) => writeFile(join(group, file), text, { flag: 'r+' });
  try {
    await mkdir(group);
    child.once('exit', () => void removeGroup(group));
    const written = files(Math.round(microseconds * part), microseconds);
    for (const entry of Object.entries(written)) await write(entry);
    await write(['cgroup.procs', String(child.pid)]);
    return true;
  } catch {
    return false;
  }
}

/** Linux keeps a group until its last thread is gone, shortly after the exit. */
async function removeGroup(group: string): Promise<void> {
  for (let attempts = 0; attempts < 50; attempts += 1)
    try {
      await rmdir(group);
      return;
    } catch {
      await setTimeout(10);
    }
}

const TURN_MS = 50;

/** Lets the process run for its part of each turn, and stops it for the rest, also while it waits. */
export async function stopInTurns(child: ChildProcess, { part }: Share): Promise<void> {
  while (child.exitCode === null && child.signalCode === null) {
    child.kill('SIGCONT');
    await setTimeout(TURN_MS * part);
    child.kill('SIGSTOP');
    await setTimeout(TURN_MS * (1 - part));
  }
}
