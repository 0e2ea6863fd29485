import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { localFolder, projectRoot } from '../../cli/local/install/paths.mjs';
import { Problem } from '../../cli/local/install/problem.mjs';
import { runGroup, tailOf } from '../../cli/local/install/process-group.mjs';
import { step } from '../../cli/local/install/progress.mjs';
import { findPython } from '../../cli/local/install/python.mjs';
import { plainEnvironment } from '../../cli/local/local-aws.ts';

const here = fileURLToPath(new URL('.', import.meta.url));
const folder = join(localFolder, 'api-check');
const stamp = join(folder, 'installed.txt');

/** What is asked for, and which version of everything that it needs in turn. */
const lists = ['requirements.txt', 'constraints.txt'].map((name) => join(here, name));

export type Python = { executable: string; env: NodeJS.ProcessEnv };

/**
 * The Python that has the checks' packages; they are installed under `.local/` if they are not there yet, or are others.
 * @throws Problem with what to do
 */
export const pythonWithPackages = async (signal: AbortSignal): Promise<Python> => {
  const { executable, version } = findPython();
  const wanted = createHash('sha256').update(version);
  for (const list of lists) wanted.update(readFileSync(list));
  const fingerprint = wanted.digest('hex');
  if (!existsSync(stamp) || readFileSync(stamp, 'utf8') !== fingerprint) {
    await step('Installing schemathesis and python-zaqarclient', () => install(executable, signal));
    writeFileSync(stamp, fingerprint);
  }
  return {
    executable,
    env: { ...plainEnvironment(), PYTHONPATH: `${folder}:${here}`, PYTHONDONTWRITEBYTECODE: '1' },
  };
};

const install = async (executable: string, signal: AbortSignal): Promise<void> => {
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(localFolder, { recursive: true });
  const log = join(localFolder, 'api-check-pip.log');
  writeFileSync(log, '');
  const [requirements = '', constraints = ''] = lists;
  const args = [
    '-m',
    'pip',
    'install',
    '--no-input',
    '--target',
    folder,
    '-r',
    requirements,
    '-c',
    constraints,
  ];
  const env = {
    ...process.env,
    PIP_USER: '0',
    PIP_DISABLE_PIP_VERSION_CHECK: '1',
    PIP_ROOT_USER_ACTION: 'ignore',
  };
  const { code } = await runGroup(executable, args, { env, cwd: projectRoot, log, signal });
  if (code !== 0) {
    throw new Problem(
      `pip could not install what the check needs. Is the package index reachable? The end of its output:\n${tailOf(log)}`,
    );
  }
};
