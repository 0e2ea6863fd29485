import { execFileSync } from 'node:child_process';
import { Problem } from './problem.mjs';

const OLDEST_MINOR = 10;

/** `python3` is what people have; the others help where it is too old. */
const COMMANDS = ['python3', 'python3.14', 'python3.13', 'python3.12', 'python3.11', 'python3.10', 'python'];

const LOOK = `import importlib.util, json, sys
print(json.dumps({"executable": sys.executable, "version": "%d.%d" % sys.version_info[:2], "pip": importlib.util.find_spec("pip") is not None}))`;

/** @typedef {{ executable: string, version: string, pip: boolean }} Python */

/**
 * The first Python that can install and run the local AWS.
 *
 * @returns {Python}
 */
export const findPython = () => choosePython(COMMANDS.map(look).filter((python) => python !== undefined));

/**
 * @param {Python[]} found in order of preference
 * @returns {Python}
 * @throws {Problem} saying what to install
 */
export const choosePython = (found) => {
  const recent = found.filter(({ version }) => isRecent(version));
  const chosen = recent.find(({ pip }) => pip);
  if (chosen !== undefined) return chosen;
  const [withoutPip] = recent;
  if (withoutPip !== undefined) {
    throw new Problem(
      `Python ${withoutPip.version} is here, but pip is missing. The local AWS is installed with it: run ${withoutPip.executable} -m ensurepip --user, or "apt-get install python3-pip" on Debian and Ubuntu, then start again.`,
    );
  }
  const [old] = found;
  throw new Problem(
    `${old === undefined ? 'Python is missing' : `Python ${old.version} is too old`}: the local AWS needs Python 3.${OLDEST_MINOR} or newer, with pip. Install it ("apt-get install python3 python3-pip" on Debian and Ubuntu, "brew install python" on a Mac, or from https://www.python.org), then start again.`,
  );
};

/** @param {string} version */
const isRecent = (version) => {
  const [major, minor] = version.split('.').map(Number);
  return major === 3 && minor !== undefined && minor >= OLDEST_MINOR;
};

/**
 * @param {string} command
 * @returns {Python | undefined} undefined where the machine has no such command, or it is not Python 3
 */
const look = (command) => {
  try {
    return JSON.parse(
      execFileSync(command, ['-c', LOOK], { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }),
    );
  } catch {
    return undefined;
  }
};
