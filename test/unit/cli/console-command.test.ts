import { existsSync, readFileSync, statSync } from 'node:fs';
import { createServer } from 'node:http';
import { networkInterfaces, tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';
import { describe, expect, it, vi, beforeAll } from 'vitest';
import { builtPage } from '../../../cli/commands/console/page-build.ts';
import { readPage } from '../../../shared/adapters/page-files.ts';
import type { PageFiles } from '../../../shared/wire/page.ts';
import { awsEnvironment, plainEnvironment } from '../../../local/local-aws.ts';
import { loopbackPort } from '../../../local/loopback-port.ts';
import { startConsoleCommand } from '../../browser/console-command.ts';
import { listen } from '../../support/listening.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';
import { ANY_KEYS, apiEnvironment, posthaste } from './run-command.ts';
import { json, stubApi } from './stub-api.ts';
import { openBrowser } from '../../../cli/commands/console/console.ts';

// The first test builds the page, if its sources have changed.
vi.setConfig({ testTimeout: 60_000, hookTimeout: 60_000 });

const nowhere = 'http://127.0.0.1:9';
/** Nothing listens there, and the SDK must not retry. */
const unreachable = () => ({
  ...plainEnvironment(),
  ...awsEnvironment(nowhere, ANY_KEYS),
  AWS_MAX_ATTEMPTS: '1',
});

describe('posthaste console', () => {
  /** The running command, and what its page gets from a path. */
  const started = async (env: NodeJS.ProcessEnv, args: string[] = []) => {
    const served = await startConsoleCommand(env, args);
    const { origin, hash } = new URL(served.url);
    const headers = { authorization: `Bearer ${hash.replace('#token=', '')}` };
    const read = async (path: string): Promise<unknown> => (await fetch(origin + path, { headers })).json();
    return { ...served, origin, read };
  };

  it('prints a loopback address that serves the page and the API, and exits with status 0 on Ctrl-C', async () => {
    const api = await stubApi({ 'GET /v2/queues': json({ queues: [], links: [] }) });
    const port = await loopbackPort();
    const { origin, read, stop } = await started(apiEnvironment(api.url), ['--port', String(port)]);
    expect(origin).toBe(`http://127.0.0.1:${port}`);
    expect(await (await fetch(origin)).text()).toContain('<title>');
    expect(await read('/api/v2/queues')).toEqual({ queues: [], links: [] });

    const others = Object.values(networkInterfaces())
      .flatMap((addresses = []) => addresses)
      .filter(({ internal, family }) => !internal && family === 'IPv4');
    for (const { address } of others)
      await expect(fetch(`http://${address}:${port}`)).rejects.toThrow('fetch failed');
    expect(await stop()).toBe(0);
    await expect(fetch(origin)).rejects.toThrow('fetch failed');
  });

  it('starts without a deployment, and says that only the policy designer works', async () => {
    const { read, stop, stderr } = await started(unreachable());
    const problem = { code: 'no_deployment' };
    expect(await read('/api-local/info')).toMatchObject({ deployment: null, problem });
    expect(await stop()).toBe(0);
    expect(stderr()).toContain('only the policy designer works');
  });

  it('fails if the chosen deployment is missing', async () => {
    const named = await posthaste('console --deployment Elsewhere', { env: unreachable() });
    expect(named).toMatchObject({ status: 1, stdout: '' });
    expect(named.stderr).toMatch(/The stack Elsewhere(Pipeline|State) could not be looked up/);
  });

  it('fails if the port is in use', async () => {
    const taker = createServer();
    const port = await listen(taker, '127.0.0.1');
    const taken = await posthaste(`console --port ${port}`, { env: apiEnvironment(nowhere) });
    taker.close();
    expect(taken).toMatchObject({ status: 1, stdout: '' });
    expect(taken.stderr).toContain(`Port ${port} is in use`);
  });
});

const URL_WITH_TOKEN = 'http://127.0.0.1:8900/#token=a-token';

describe('opening the console in the default browser', () => {
  /** A program that stands for a browser. */
  const browser = (script: string) => ({ program: process.execPath, args: ['-e', script] });

  it('passes the address in a private file, because other users can see the arguments of programs', async () => {
    const note = join(temporaryFolder(), 'arguments');
    const writing = `fs.writeFileSync(${JSON.stringify(note)}, process.argv.slice(1).join(' '))`;
    const stopping = new AbortController();
    expect(await openBrowser(URL_WITH_TOKEN, stopping.signal, browser(writing))).toBeUndefined();
    const address = readFileSync(note, 'utf8');
    expect(address).not.toContain('a-token');
    const file = fileURLToPath(address);
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(readFileSync(file, 'utf8')).toContain(`content="0;url=${URL_WITH_TOKEN}"`);
    stopping.abort();
    expect(existsSync(file)).toBe(false);
  });

  it.each([
    ['fails', browser('process.exit(3)'), `${process.execPath} exited with status 3`],
    ['is missing', { program: join(tmpdir(), 'no-such-program'), args: [] }, 'ENOENT'],
  ])('reports the reason if the browser %s', async (_, opener, reason) => {
    const stopping = new AbortController();
    expect(await openBrowser(URL_WITH_TOKEN, stopping.signal, opener)).toContain(reason);
    stopping.abort();
  });
});

let page: PageFiles;
beforeAll(async () => {
  const { signal } = new AbortController();
  page = await readPage(await builtPage({ signal, show: (work) => work() }));
});

const html = (): string => page.get('/')?.bytes.toString() ?? '';

describe('the built console', () => {
  it('is less than 150 KB in total, gzipped', () => {
    const sizes = [...page].map(([path, { bytes }]) => ({ path, size: gzipSync(bytes).length }));
    const sum = sizes.reduce((total, { size }) => total + size, 0);
    expect(sum, JSON.stringify(sizes)).toBeLessThan(150_000);
    expect(sum).toBeGreaterThan(10_000);
  });

  it('links only to existing files, and has no inline script or style that its policy would block', () => {
    const linked = [...html().matchAll(/(?:src|href)="([^"]+)"/g)].map(([, address = '']) => address);
    expect(linked.length).toBeGreaterThan(1);
    for (const address of linked.filter((one) => !one.startsWith('data:'))) {
      expect(page.has(address), address).toBe(true);
    }
    expect(html()).not.toMatch(/<style|\sstyle=|\son\w+=|<script(?![^>]*\ssrc=)/i);
  });

  it('contains its icon, so that browsers do not request a missing favicon', () => {
    expect(html()).toMatch(/<link\s+rel="icon"\s+href="(?:data:image\/svg\+xml,|\/assets\/)/);
  });

  it('loads nothing from other hosts', () => {
    for (const [path, { bytes }] of page) {
      expect(bytes.toString(), path).not.toMatch(/@import\s+(?:url\()?['"]?https?:|url\(['"]?https?:/);
    }
  });

  it('is not built again while its sources are unchanged', async () => {
    const show = vi.fn((work: () => Promise<void>) => work());
    await builtPage({ signal: new AbortController().signal, show });
    expect(show).not.toHaveBeenCalled();
  });
});
