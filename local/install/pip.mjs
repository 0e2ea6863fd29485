import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { localFolder, projectRoot } from './paths.mjs';
import { Problem } from './problem.mjs';
import { freshLog, runToSuccess } from './process-group.mjs';
import { step } from './progress.mjs';

const OLDEST_MINOR = 10;

/** Commands to try; the versioned ones help if `python3` is too old. */
const COMMANDS = ['python3', 'python3.14', 'python3.13', 'python3.12', 'python3.11', 'python3.10', 'python'];

/** In the folder of the packages, once all are there. */
const STAMP = 'posthaste-installed.txt';

const INSPECT = `import importlib.util, json, sys
print(json.dumps({"executable": sys.executable, "version": "%d.%d" % sys.version_info[:2], "pip": importlib.util.find_spec("pip") is not None}))`;

/**
 * @typedef {{ executable: string, version: string, pip: boolean }} Python
 *
 * Packages from PyPI. `folder`: target under `.local/`; `names`: shown to the user; `requirements` and `constraints`:
 * files with the packages and the exact versions of their dependencies.
 * @typedef {{ folder: string, names: string, requirements: string, constraints?: string }} PipPackages
 */

/** @type {PipPackages} */
export const localAwsPackages = {
  folder: 'ministack',
  names: 'the local AWS, ministack',
  requirements: join(projectRoot, 'local/requirements.txt'),
};

/**
 * Installs the packages unless they are already installed for this Python and these lists.
 *
 * @param {PipPackages} packages
 * @param {AbortSignal} signal
 * @returns {Promise<Python>} the Python they are installed for
 * @throws {Problem} with advice
 */
export async function pipInstall(packages, signal) {
  const python = findPython();
  const folder = join(localFolder, packages.folder);
  if (!arePipPackagesReady(folder, packages, python)) {
    await step(`Installing ${packages.names}`, () => pipInstallWith(python, packages, folder, signal));
  }
  return python;
}

/**
 * @param {string} folder
 * @param {PipPackages} packages
 * @param {Python} python
 */
export function arePipPackagesReady(folder, packages, python) {
  const stamp = join(folder, STAMP);
  return existsSync(stamp) && readFileSync(stamp, 'utf8') === computeFingerprint(packages, python);
}

/**
 * Identifies lists and Python version: compiled packages work with one version of Python only.
 *
 * @param {PipPackages} packages
 * @param {Python} python
 */
function computeFingerprint({ requirements, constraints }, { version }) {
  const hash = createHash('sha256').update(version);
  for (const list of [requirements, constraints]) if (list !== undefined) hash.update(readFileSync(list));
  return hash.digest('hex');
}

/**
 * Installs into a temporary folder and moves it into place when complete, because two test runs may install at once.
 *
 * @param {Python} python
 * @param {PipPackages} packages
 * @param {string} folder
 * @param {AbortSignal} signal
 */
export async function pipInstallWith(python, packages, folder, signal) {
  const { names, requirements, constraints } = packages;
  const partial = `${folder}.${process.pid}`;
  const lists = ['-r', requirements, ...(constraints === undefined ? [] : ['-c', constraints])];
  const quiet = { PIP_USER: '0', PIP_DISABLE_PIP_VERSION_CHECK: '1', PIP_ROOT_USER_ACTION: 'ignore' };
  const args = ['-m', 'pip', 'install', '--no-input', '--target', partial, ...lists];
  try {
    await runToSuccess(python.executable, args, {
      env: { ...process.env, ...quiet },
      cwd: projectRoot,
      log: freshLog(`${packages.folder}-pip.log`),
      signal,
      failure: `pip could not install ${names}. Check that the package index is reachable.`,
    });
    writeFileSync(join(partial, STAMP), computeFingerprint(packages, python));
    rmSync(folder, { recursive: true, force: true });
    renameSync(partial, folder);
  } finally {
    rmSync(partial, { recursive: true, force: true });
  }
}

/**
 * The first Python that can install and run the local AWS.
 *
 * @returns {Python}
 * @throws {Problem} saying what to install
 */
export function findPython() {
  /** @type {Python[]} */
  const found = [];
  for (const command of COMMANDS) {
    found.push(...inspectPython(command));
    if (found.some(isSuitable)) break;
  }
  return choosePython(found);
}

/**
 * @param {Python[]} found in order of preference
 * @returns {Python}
 * @throws {Problem} saying what to install
 */
export function choosePython(found) {
  const chosen = found.find(isSuitable);
  if (chosen !== undefined) return chosen;
  const recent = found.filter(({ version }) => isRecent(version));
  const [first] = recent.length > 0 ? recent : found;
  const cause =
    first === undefined
      ? 'Python is missing'
      : isRecent(first.version)
        ? `pip is missing (${first.executable} -m ensurepip --user installs it)`
        : `Python ${first.version} is too old`;
  throw new Problem(
    `${cause}: the local AWS needs Python 3.${OLDEST_MINOR} or newer, with pip. Install it ("apt-get install python3 python3-pip" on Debian and Ubuntu, "brew install python" on a Mac, or from https://www.python.org), then start again.`,
  );
}

/** @param {Python} python */
function isSuitable({ version, pip }) {
  return pip && isRecent(version);
}

/** @param {string} version */
function isRecent(version) {
  const [major, minor] = version.split('.').map(Number);
  return major === 3 && minor !== undefined && minor >= OLDEST_MINOR;
}

/**
 * @param {string} command
 * @returns {Python[]} none if the command is missing or is not Python 3
 */
function inspectPython(command) {
  try {
    return [
      JSON.parse(execFileSync(command, ['-c', INSPECT], { stdio: ['ignore', 'pipe', 'ignore'] }).toString()),
    ];
  } catch {
    return [];
  }
}
