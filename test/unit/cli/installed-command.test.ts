import { execFile } from 'node:child_process';
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { projectRoot } from '../../../local/install/paths.mjs';

const folder = realpathSync(mkdtempSync(path.join(tmpdir(), 'installed-')));
const installed = path.join(folder, 'node_modules/posthaste');
const cache = path.join(folder, 'cache');
const app = path.join(folder, 'app');

/** The package as far as its start needs it; the command prints what it was given. */
beforeAll(() => {
  for (const file of ['cli/posthaste.mjs', 'local/install/paths.mjs'])
    cpSync(path.join(projectRoot, file), path.join(installed, file));
  writeFileSync(path.join(installed, 'package.json'), '{"type": "module"}');
  writeFileSync(path.join(installed, 'cli/posthaste.js'), PRINT_PATHS);
  for (const made of [path.join(installed, 'assets/functions'), app]) mkdirSync(made, { recursive: true });
});
afterAll(() => {
  rmSync(folder, { recursive: true });
});

const PRINT_PATHS = `import * as paths from '../local/install/paths.mjs';
console.log(JSON.stringify({ args: process.argv.slice(2), ...paths, start: paths.programFile('cli/commands/start/run.ts') }));`;

function run(...nodeArgs: string[]) {
  return promisify(execFile)(
    process.execPath,
    [...nodeArgs, path.join(installed, 'cli/posthaste.mjs'), 'queue', 'list'],
    {
      cwd: app,
      env: { ...process.env, XDG_CACHE_HOME: cache },
    },
  );
}

describe('the command of the installed package', () => {
  it('runs compiled, on the Node of its user, with its files in the current folder', async () => {
    const { stdout } = await run();
    expect(JSON.parse(stdout)).toEqual({
      args: ['queue', 'list'],
      isPackaged: true,
      projectRoot: `${installed}/`,
      projectNode: process.execPath,
      localFolder: path.join(app, '.posthaste'),
      ministackFolder: path.join(app, '.posthaste/ministack'),
      start: path.join(installed, 'cli/commands/start/run.js'),
    });
  });

  it('leaves no file in the current folder or in its own, and compiled code in the cache of its user', async () => {
    await run();
    expect(readdirSync(app)).toEqual([]);
    expect(readdirSync(installed).toSorted()).toEqual(['assets', 'cli', 'local', 'package.json']);
    expect(existsSync(path.join(cache, 'posthaste'))).toBe(true);
  });

  it('says in one sentence which Node it needs', async () => {
    const old = "Object.defineProperty(process, 'versions', { value: { node: '22.9.0' } })";
    await expect(run('--import', `data:text/javascript,${old}`)).rejects.toMatchObject({
      code: 1,
      stderr:
        'posthaste: Node 22.12 or newer is required, and this is 22.9.0. Install a current version from https://nodejs.org.\n',
    });
  });
});
