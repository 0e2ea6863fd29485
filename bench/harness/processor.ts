import type { ChildProcess } from 'node:child_process';
import { mkdir, rmdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';

/** Lambda gives a whole processor at 1,769 MB, and less in proportion (developer guide, "Configure Lambda function memory"). */
const WHOLE_PROCESSOR_MB = 1_769;

/** V8's heap, as the start script of Lambda's Node.js runtime limits it. */
export function heapFlags(megabytes: number): string[] {
  const young = Math.floor(megabytes / 10);
  return [`--max-semi-space-size=${Math.floor(young / 2)}`, `--max-old-space-size=${megabytes - young}`];
}

type Quota = { root: string; files: (part: number) => Readonly<Record<string, string>> };

/** Microseconds after which the share is given anew. Lambda does not document its own period. */
const QUOTA_PERIOD = 20_000;

/**
 * Linux's processor quota, in version 1 and 2 of control groups. The weight is the largest: a share that Lambda gives is not
 * lost to other work.
 */
const quotas: readonly Quota[] = [
  {
    root: '/sys/fs/cgroup/cpu',
    files: (part) => ({
      'cpu.cfs_period_us': String(QUOTA_PERIOD),
      'cpu.cfs_quota_us': String(Math.round(QUOTA_PERIOD * part)),
      'cpu.shares': '262144',
    }),
  },
  {
    root: '/sys/fs/cgroup',
    files: (part) => ({
      'cpu.max': `${Math.round(QUOTA_PERIOD * part)} ${QUOTA_PERIOD}`,
      'cpu.weight': '10000',
    }),
  },
];

/**
 * Gives a process the share of a processor that a function of this size has: by a quota where the groups of Linux can be
 * written (as root, mostly), else by stopping it in turns, which delays short invocations more than Lambda does.
 */
export async function limitProcessor(child: ChildProcess, megabytes: number): Promise<'quota' | 'turns'> {
  const part = megabytes / WHOLE_PROCESSOR_MB;
  for (const quota of quotas) if (await hasQuota(child, part, quota)) return 'quota';
  void stopInTurns(child, megabytes);
  return 'turns';
}

async function hasQuota(child: ChildProcess, part: number, { root, files }: Quota): Promise<boolean> {
  const group = join(root, `posthaste-bench-${child.pid ?? 0}`);
  // Where the root is no control group, there are no such files, and none may be made.
  const write = ([file, text]: [string, string]) => writeFile(join(group, file), text, { flag: 'r+' });
  try {
    await mkdir(group);
    child.once('exit', () => void removeGroup(group));
    for (const entry of Object.entries(files(part))) await write(entry);
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
export async function stopInTurns(child: ChildProcess, megabytes: number): Promise<void> {
  const part = megabytes / WHOLE_PROCESSOR_MB;
  while (child.exitCode === null && child.signalCode === null) {
    child.kill('SIGCONT');
    await setTimeout(TURN_MS * part);
    child.kill('SIGSTOP');
    await setTimeout(TURN_MS * (1 - part));
  }
}
