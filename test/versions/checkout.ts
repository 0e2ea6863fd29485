import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { localFolder, projectRoot } from '../../local/install/paths.mjs';
import { Problem } from '../../local/install/problem.mjs';
import { runToSuccess } from '../../local/install/process-group.mjs';
import { step } from '../../local/install/progress.mjs';
import { environmentWithoutAws } from '../../local/local-aws.ts';

/**
 * The folder of a commit's sources with its packages, under `.local/versions/`. A second call finds it there.
 * @throws Problem if this clone does not have the commit, as a shallow one
 */
export async function checkoutOf(commit: string, signal: AbortSignal): Promise<string> {
  const id = fullId(commit);
  const folder = join(localFolder, 'versions', id);
  if (existsSync(folder)) return folder;
  const partial = `${folder}.${process.pid}.partial`;
  rmSync(partial, { recursive: true, force: true });
  mkdirSync(partial, { recursive: true });
  const archive = git('archive', id);
  execFileSync('tar', ['-x', '-C', partial], { input: archive });
  await step(`Installing the packages of ${commit}`, () => installPackages(partial, signal));
  renameSync(partial, folder);
  return folder;
}

function fullId(commit: string): string {
  try {
    return git('rev-parse', '--verify', '--quiet', `${commit}^{commit}`).toString().trim();
  } catch (cause) {
    throw new Problem(`This clone has no commit ${commit}. If it is shallow: git fetch --unshallow`, {
      cause,
    });
  }
}

function git(...args: string[]): Buffer {
  return execFileSync('git', args, { cwd: projectRoot, maxBuffer: 2 ** 28 });
}

/** Links the packages of this checkout if the lock files are equal, otherwise installs those that deploy it. */
async function installPackages(folder: string, signal: AbortSignal): Promise<void> {
  const lockIn = (root: string) => readFileSync(join(root, 'package-lock.json'), 'utf8');
  if (lockIn(folder) === lockIn(projectRoot)) {
    symlinkSync(join(projectRoot, 'node_modules'), join(folder, 'node_modules'));
    return;
  }
  const log = join(localFolder, 'versions', 'npm.log');
  writeFileSync(log, '');
  await runToSuccess('npm', ['ci', '--omit=dev', '--no-audit', '--no-fund'], {
    // npm needs the proxy and the certificates of the user.
    env: environmentWithoutAws(),
    cwd: folder,
    log,
    signal,
    failure: 'npm ci failed.',
  });
}
