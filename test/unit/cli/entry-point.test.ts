import { execFile, spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync } from 'node:fs';
import path from 'node:path';
import { text } from 'node:stream/consumers';
import { afterAll, describe, expect, it, vi } from 'vitest';
import { DEFAULT_RETRY_POLICY } from '../../../shared/domain/retry/policy.ts';
import { apiEnvironment } from './run-command.ts';
import { closeStubs, json, stubApi } from './stub-api.ts';

afterAll(closeStubs);

// Behaviour that needs a separate process. Everything else about the command is tested in process.
vi.setConfig({ testTimeout: 30_000 });

const PROJECT = path.resolve(import.meta.dirname, '../../..');
const COMMAND = 'cli/posthaste.mjs';
const PREVIEW = ['policy', 'preview', '--json'];

const run = (program: string, args: readonly string[]) =>
  new Promise<{ status: ChildProcess['exitCode'] | string | undefined; stdout: string; stderr: string }>(
    (resolve) => {
      execFile(program, args, { cwd: PROJECT }, (error, stdout, stderr) => {
        resolve({ status: error === null ? 0 : error.code, stdout, stderr });
      });
    },
  );

describe('the command as a process', () => {
  it('runs as an npm script', async () => {
    const { status, stdout } = await run('npm', ['run', '-s', 'posthaste', '--', ...PREVIEW]);
    expect(status).toBe(0);
    expect(JSON.parse(stdout)).toMatchObject({
      source: 'defaults',
      policy: DEFAULT_RETRY_POLICY,
      totalSeconds: 280,
    });
  });

  it('completes commands and options, as the scripts for the shells ask', async () => {
    const complete = async (...words: string[]) => {
      const { stdout } = await run(process.execPath, [COMMAND, 'complete', '--', ...words]);
      return stdout.split('\n').flatMap((line) => line.split('\t')[0] ?? []);
    };
    expect(await complete('queue', 'de')).toEqual(['delete', ':4', '']);
    expect(await complete('queue', 'delete', '--y')).toEqual(['--yes', ':4', '']);
    expect(await complete('complet')).toEqual(['completion', ':4', '']);
    const { stdout } = await run(process.execPath, [COMMAND, 'completion', 'fish']);
    expect(stdout).toContain(`${process.execPath} ${path.join(PROJECT, COMMAND)} complete --`);
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
    const child = spawn(process.execPath, [COMMAND, 'publish', 'orders', '--json'], options);
    interrupt = () => child.kill('SIGINT');
    const printed = text(child.stdout);
    // stdin stays open: more input could follow.
    child.stdin.write('{"id":"m1","data":1}\n');
    expect(await once(child, 'exit')).toEqual([130, null]);
    expect(await printed).toBe('{"line":1,"id":"m1"}\n');
  });

  it('exits with status 0 and prints no error if the reader of stdout has closed it', async () => {
    const child = spawn(process.execPath, [COMMAND, ...PREVIEW], { cwd: PROJECT });
    child.stdout.destroy();
    const said = text(child.stderr);
    expect(await once(child, 'exit')).toEqual([0, null]);
    expect(await said).toBe('');
  });

  it.runIf(process.platform === 'linux')('reports a full disk of its output in one sentence', async () => {
    const full = openSync('/dev/full', 'w');
    const child = spawn(process.execPath, [COMMAND, ...PREVIEW], {
      cwd: PROJECT,
      stdio: ['ignore', full, 'pipe'],
    });
    closeSync(full);
    const said = child.stderr === null ? '' : text(child.stderr);
    expect(await once(child, 'exit')).toEqual([1, null]);
    expect(await said).toMatch(/^posthaste: the output could not be written: ENOSPC.*\n$/);
  });

  // An AWS client or the CDK would take longer to load than all of these.
  it('loads no package at its start but those for its arguments and its output', async () => {
    const listing = `import { registerHooks } from 'node:module';
      const loaded = new Set();
      registerHooks({
        load: (url, context, next) => {
          loaded.add(/.*node_modules\\/((?:@[^/]+\\/)?[^/]+)/.exec(url)?.[1] ?? '');
          return next(url, context);
        },
      });
      process.on('exit', () => process.stderr.write([...loaded].sort().join(' ').trim()));`;
    const { stderr } = await run(process.execPath, [
      '--import',
      `data:text/javascript,${listing}`,
      COMMAND,
      ...PREVIEW,
    ]);
    expect(stderr).toBe('ansi-regex commander get-east-asian-width string-width strip-ansi zod');
  });
});
