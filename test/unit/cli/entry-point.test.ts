import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync, cpSync, existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { text } from 'node:stream/consumers';
import { promisify } from 'node:util';
import { describe, expect, it, vi } from 'vitest';
import { projectRoot } from '../../../local/install/paths.mjs';
import { DEFAULT_RETRY_POLICY } from '../../../shared/domain/retry/policy.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';
import { apiEnvironment } from './run-command.ts';
import { json, stubApi } from './stub-api.ts';

// Behaviour that needs a separate process. Everything else about the command is tested in process.
vi.setConfig({ testTimeout: 30_000 });

const PROJECT = path.resolve(import.meta.dirname, '../../..');
const COMMAND = 'cli/posthaste.mjs';
const PREVIEW = ['policy', 'preview', '--json'];

const { execPath } = process;
const run = promisify(execFile);
const runHere = (program: string, ...args: string[]) => run(program, args, { cwd: PROJECT });

describe('the command as a process', () => {
  it('runs as an npm script', async () => {
    const { stdout } = await runHere('npm', 'run', '-s', 'posthaste', '--', ...PREVIEW);
    const policy = DEFAULT_RETRY_POLICY;
    expect(JSON.parse(stdout)).toMatchObject({ source: 'defaults', policy, totalSeconds: 280 });
  });

  it('prints the completion of a shell, which asks this program', async () => {
    const { stdout } = await runHere(execPath, COMMAND, 'completion', 'fish');
    expect(stdout).toContain(`${execPath} ${path.join(PROJECT, COMMAND)} complete --`);
    const completed = await runHere(execPath, COMMAND, 'complete', '--', 'complet');
    expect(completed.stdout).toMatch(/^completion\t.*\n:4\n$/);
  });

  it('reads stdin, and exits with status 130 on Ctrl-C', async () => {
    let interrupt = (): void => undefined;
    const api = await stubApi({
      'POST /v2/queues/orders/messages': () => {
        interrupt();
        return json({ ids: ['m1'] }, 201);
      },
    });
    const options = { cwd: PROJECT, env: apiEnvironment(api.url) };
    const child = spawn(execPath, [COMMAND, 'publish', 'orders', '--json'], options);
    interrupt = () => child.kill('SIGINT');
    const printed = text(child.stdout);
    // stdin stays open: more input could follow.
    child.stdin.write('{"id":"m1","data":1}\n');
    expect(await once(child, 'exit')).toEqual([130, null]);
    expect(await printed).toBe('{"line":1,"id":"m1"}\n');
  });

  it('exits with status 0 and prints no error if the reader of stdout has closed it', async () => {
    const child = spawn(execPath, [COMMAND, ...PREVIEW], { cwd: PROJECT });
    child.stdout.destroy();
    const said = text(child.stderr);
    expect(await once(child, 'exit')).toEqual([0, null]);
    expect(await said).toBe('');
  });

  it.runIf(process.platform === 'linux')('reports a full disk of its output in one sentence', async () => {
    const full = openSync('/dev/full', 'w');
    const stdio = ['ignore', full, 'pipe'] as const;
    const child = spawn(execPath, [COMMAND, ...PREVIEW], { cwd: PROJECT, stdio: [...stdio] });
    closeSync(full);
    const said = child.stderr === null ? '' : text(child.stderr);
    expect(await once(child, 'exit')).toEqual([1, null]);
    expect(await said).toMatch(/^posthaste: the output could not be written: ENOSPC.*\n$/);
  });

  // An AWS client or the CDK would take longer to load than all of these.
  it.each([
    ['to print', PREVIEW, 'ansi-regex commander get-east-asian-width string-width strip-ansi zod'],
    ['to complete a command', ['complete', '--', 'que'], '@bomb.sh/tab commander zod'],
    [
      'for the help of accept',
      ['accept', '--help'],
      '@smithy/core @smithy/signature-v4 @smithy/types @stablelib/base64 commander fast-sha256 ipaddr.js leven standardwebhooks zod',
    ],
    ['for the help of worker', ['worker', '--help'], 'commander zod'],
  ])('loads no package but those that it needs %s', async (_, args, packages) => {
    const listing = `import { registerHooks } from 'node:module';
      const loaded = new Set();
      registerHooks({
        load: (url, context, next) => {
          loaded.add(/.*node_modules\\/((?:@[^/]+\\/)?[^/]+)/.exec(url)?.[1] ?? '');
          return next(url, context);
        },
      });
      process.on('exit', () => process.stderr.write([...loaded].sort().join(' ').trim()));`;
    const importing = ['--import', `data:text/javascript,${listing}`];
    const { stderr } = await runHere(execPath, ...importing, COMMAND, ...args);
    expect(stderr).toBe(packages);
  });
});

/** The package as far as its start needs it, in a new folder; the command prints what it was given. */
const installedCommand = () => {
  const folder = temporaryFolder();
  const installed = path.join(folder, 'node_modules/posthaste');
  const cache = path.join(folder, 'cache');
  const app = path.join(folder, 'app');
  for (const file of ['cli/posthaste.mjs', 'local/install/paths.mjs'])
    cpSync(path.join(projectRoot, file), path.join(installed, file));
  writeFileSync(path.join(installed, 'package.json'), '{"type": "module"}');
  writeFileSync(path.join(installed, 'cli/posthaste.js'), PRINT_PATHS);
  for (const made of [path.join(installed, 'assets/functions'), app]) mkdirSync(made, { recursive: true });
  // Without the cache of the test run.
  const env = { ...process.env, NODE_COMPILE_CACHE: undefined, XDG_CACHE_HOME: cache };
  const runInstalled = (...nodeArgs: string[]) =>
    run(execPath, [...nodeArgs, path.join(installed, 'cli/posthaste.mjs'), 'queue', 'list'], {
      cwd: app,
      env,
    });
  return { installed, cache, app, runInstalled };
};

const PRINT_PATHS = `import * as paths from '../local/install/paths.mjs';
console.log(JSON.stringify({ args: process.argv.slice(2), ...paths, start: paths.programFile('cli/commands/start/run.ts') }));`;

describe('the command of the installed package', () => {
  it('runs compiled, on the Node of its user, with its files in the current folder', async () => {
    const { installed, app, runInstalled } = installedCommand();
    const { stdout } = await runInstalled();
    expect(JSON.parse(stdout)).toEqual({
      args: ['queue', 'list'],
      isPackaged: true,
      projectRoot: `${installed}/`,
      projectNode: execPath,
      localFolder: path.join(app, '.posthaste'),
      ministackFolder: path.join(app, '.posthaste/ministack'),
      compileCache: path.join(app, '.posthaste/compile-cache'),
      start: path.join(installed, 'cli/commands/start/run.js'),
    });
  });

  it('leaves no file in the current folder or in its own, and compiled code in the cache of its user', async () => {
    const { installed, cache, app, runInstalled } = installedCommand();
    await runInstalled();
    expect(readdirSync(app)).toEqual([]);
    expect(readdirSync(installed).toSorted()).toEqual(['assets', 'cli', 'local', 'package.json']);
    expect(existsSync(path.join(cache, 'posthaste'))).toBe(true);
  });

  it('says in one sentence which Node it needs', async () => {
    const old = "Object.defineProperty(process, 'versions', { value: { node: '22.9.0' } })";
    await expect(
      installedCommand().runInstalled('--import', `data:text/javascript,${old}`),
    ).rejects.toMatchObject({
      code: 1,
      stderr:
        'posthaste: Node 22.12 or newer is required, and this is 22.9.0. Install a current version from https://nodejs.org.\n',
    });
  });
});
