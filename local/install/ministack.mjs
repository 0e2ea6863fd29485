import { existsSync, mkdirSync, readFileSync, readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { projectRoot } from './paths.mjs';
import { Problem } from './problem.mjs';
import { runGroup, tailOf } from './process-group.mjs';

/** The launcher beside this folder replaces parts of exactly this version. */
export const ministackVersion = '1.5.33';

const STAMP = 'posthaste-installed.json';

/**
 * @typedef {{ ministack: string, python: string, executable: string }} Stamp
 * @typedef {{ kind: 'ready' } | { kind: 'missing' } | { kind: 'other', what: string }} MinistackState
 */

/**
 * What is installed in the folder, against what is wanted. Compiled parts belong to one Python version.
 *
 * @param {string} folder
 * @param {{ version: string }} python
 * @returns {MinistackState}
 */
export const ministackIn = (folder, python) => {
  const stamp = stampIn(folder);
  if (stamp === undefined) {
    const version = versionFound(folder);
    return version === undefined ? { kind: 'missing' } : { kind: 'other', what: `ministack ${version}` };
  }
  if (stamp.ministack !== ministackVersion) return { kind: 'other', what: `ministack ${stamp.ministack}` };
  return stamp.python === python.version
    ? { kind: 'ready' }
    : { kind: 'other', what: `ministack for Python ${stamp.python}` };
};

/**
 * @param {string} folder
 * @returns {Stamp | undefined}
 */
export const stampIn = (folder) => {
  const file = join(folder, STAMP);
  return existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')) : undefined;
};

/**
 * The version of an installation made by hand, or interrupted.
 *
 * @param {string} folder
 */
const versionFound = (folder) => {
  if (!existsSync(folder)) return undefined;
  const [, version] =
    readdirSync(folder)
      .join('\n')
      .match(/^ministack-(.+)\.dist-info$/m) ?? [];
  return version;
};

/**
 * Installs beside the folder and moves it into place when it is complete.
 *
 * @param {string} folder
 * @param {import('./python.mjs').Python} python
 * @param {{ log: string, signal: AbortSignal }} how
 */
export const installMinistack = async (folder, python, { log, signal }) => {
  const partial = `${folder}.partial`;
  const temporary = `${folder}.tmp`;
  const clear = () => {
    for (const left of [partial, temporary]) rmSync(left, { recursive: true, force: true });
  };
  clear();
  mkdirSync(temporary, { recursive: true });
  try {
    const args = [
      '-m',
      'pip',
      'install',
      '--no-input',
      '--target',
      partial,
      `ministack==${ministackVersion}`,
    ];
    const env = {
      ...process.env,
      // pip leaves what it unpacks behind when it is stopped.
      TMPDIR: temporary,
      PIP_USER: '0',
      PIP_DISABLE_PIP_VERSION_CHECK: '1',
      PIP_ROOT_USER_ACTION: 'ignore',
    };
    const { code } = await runGroup(python.executable, args, { env, cwd: projectRoot, log, signal });
    if (code !== 0) {
      throw new Problem(
        `pip could not install ministack ${ministackVersion}, the local AWS. Is the package index reachable? The end of its output (all of it: ${log}):\n${tailOf(log)}`,
      );
    }
    /** @type {Stamp} */
    const stamp = { ministack: ministackVersion, python: python.version, executable: python.executable };
    writeFileSync(join(partial, STAMP), JSON.stringify(stamp));
    rmSync(folder, { recursive: true, force: true });
    renameSync(partial, folder);
  } finally {
    clear();
  }
};
