import { execFile } from 'node:child_process';
import { promisify } from 'node:util';

/** `residentBytes`: of its memory. */
export type Process = { pid: number; parent: number; residentBytes: number; command: string };

/** All processes of this machine. */
export const processes = async (): Promise<Process[]> => {
  const { stdout } = await promisify(execFile)('ps', ['-A', '-ww', '-o', 'pid=,ppid=,rss=,args=']);
  return stdout.split('\n').flatMap((line) => {
    const [, pid, parent, kilobytes, command] = /^\s*(\d+)\s+(\d+)\s+(\d+)\s+(.*)$/.exec(line) ?? [];
    if (command === undefined) return [];
    return [{ pid: Number(pid), parent: Number(parent), residentBytes: Number(kilobytes) * 1024, command }];
  });
};

/** Whether a process is an emulator worker of a run: only those have files in its folder. */
export const isWorkerIn = (folder: string, { command }: Process): boolean =>
  command.includes(`${folder}/tmp/`) && command.endsWith('/_worker.js');

/** Kills the emulator's workers of a run, or those of one function, and returns their number. */
export const killWorkersIn = async (folder: string, functionName = ''): Promise<number> => {
  const workers = (await processes()).filter(
    (one) => isWorkerIn(folder, one) && one.command.includes(functionName),
  );
  return workers.filter(({ pid }) => isKilled(pid)).length;
};

/** Kills a process at once. False: it had already ended. */
export const isKilled = (pid: number): boolean => {
  try {
    return process.kill(pid, 'SIGKILL');
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ESRCH') return false;
    throw error;
  }
};
