import { mkdirSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { localFolder } from '../../local/install/paths.mjs';

export function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

/** The path of a folder for this run of a command. Folders of earlier runs are removed. */
export function runFolder(name: string): string {
  const prefix = `${name}-`;
  mkdirSync(localFolder, { recursive: true });
  for (const found of readdirSync(localFolder)) {
    const run = found.startsWith(prefix) ? found.slice(prefix.length) : '';
    if (/^\d+$/.test(run) && !isRunning(Number(run)))
      rmSync(join(localFolder, found), { recursive: true, force: true });
  }
  return join(localFolder, `${prefix}${process.pid}`);
}
