import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { localFolder, projectRoot } from '../../local/install/paths.mjs';
import { Problem } from '../../local/install/problem.mjs';
import { runGroup, tailOf } from '../../local/install/process-group.mjs';
import { step } from '../../local/install/progress.mjs';
import { findPython } from '../../local/install/python.mjs';
import { plainEnvironment } from '../../local/local-aws.ts';

/** Packages from PyPI that a test needs. */
export type PythonPackages = {
  /** Their folder under `.local/`. */
  folder: string;
  /** What it says while they are installed: names. */
  names: string;
  /** Files of pip: what is asked for, and exactly which version of everything that it needs in turn. */
  requirements: string;
  constraints?: string;
  /** A folder of modules of ours that they import. */
  modules?: string;
};

export type Python = { executable: string; env: NodeJS.ProcessEnv };

/**
 * The Python that has the packages; they are installed under `.local/` if they are not there yet, or are others.
 * @throws Problem with what to do
 */
export const pythonWithPackages = async (packages: PythonPackages, signal: AbortSignal): Promise<Python> => {
  const { executable, version } = findPython();
  const folder = join(localFolder, packages.folder);
  const stamp = join(folder, 'posthaste-installed.txt');
  const wanted = createHash('sha256').update(version);
  for (const list of listsOf(packages)) wanted.update(readFileSync(list));
  const fingerprint = wanted.digest('hex');
  if (!existsSync(stamp) || readFileSync(stamp, 'utf8') !== fingerprint) {
    await step(`Installing ${packages.names}`, () => install(packages, executable, { folder, signal }));
    writeFileSync(stamp, fingerprint);
  }
  const path = packages.modules === undefined ? folder : `${folder}${delimiter}${packages.modules}`;
  return { executable, env: { ...plainEnvironment(), PYTHONPATH: path, PYTHONDONTWRITEBYTECODE: '1' } };
};

const listsOf = ({ requirements, constraints }: PythonPackages): string[] =>
  constraints === undefined ? [requirements] : [requirements, constraints];

/** Beside the folder, and moved into place when it is complete: two test runs may find it missing at once. */
const install = async (
  packages: PythonPackages,
  executable: string,
  { folder, signal }: { folder: string; signal: AbortSignal },
): Promise<void> => {
  const partial = `${folder}.${process.pid}`;
  rmSync(partial, { recursive: true, force: true });
  mkdirSync(localFolder, { recursive: true });
  const log = join(localFolder, `${packages.folder}-pip.log`);
  writeFileSync(log, '');
  const constraints = packages.constraints === undefined ? [] : ['-c', packages.constraints];
  const args = ['-m', 'pip', 'install', '--no-input', '--target', partial, '-r', packages.requirements];
  const env = {
    ...process.env,
    PIP_USER: '0',
    PIP_DISABLE_PIP_VERSION_CHECK: '1',
    PIP_ROOT_USER_ACTION: 'ignore',
  };
  const { code } = await runGroup(executable, [...args, ...constraints], {
    env,
    cwd: projectRoot,
    log,
    signal,
  });
  if (code !== 0) {
    throw new Problem(
      `pip could not install ${packages.names}. Is the package index reachable? The end of its output:\n${tailOf(log)}`,
    );
  }
  rmSync(folder, { recursive: true, force: true });
  renameSync(partial, folder);
};
