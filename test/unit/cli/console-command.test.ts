import { once } from 'node:events';
import { createServer, connect } from 'node:net';
import { networkInterfaces } from 'node:os';
import { afterAll, describe, expect, it, vi } from 'vitest';
import { loopbackPort } from '../../../local/loopback-port.ts';
import { awsEnvironment, plainEnvironment } from '../../../local/local-aws.ts';
import { startConsoleCommand } from '../../browser/console-command.ts';
import { ANY_KEYS, apiEnvironment, posthaste } from './run-command.ts';
import { closeStubs, json, stubApi } from './stub-api.ts';

afterAll(closeStubs);

// The first test builds the page.
vi.setConfig({ testTimeout: 60_000 });

const nowhere = 'http://127.0.0.1:9';

const isRefusedAt = async (host: string, port: number): Promise<boolean> => {
  const socket = connect(port, host);
  try {
    await once(socket, 'connect');
    return false;
  } catch {
    return true;
  } finally {
    socket.destroy();
  }
};

describe('posthaste console', () => {
  it('prints a loopback address that serves the page and the API, and exits with status 0 on Ctrl-C', async () => {
    const api = await stubApi({ 'GET /v2/queues': () => json({ queues: [], links: [] }) });
    const port = await loopbackPort();
    const served = await startConsoleCommand(apiEnvironment(api.url), ['--port', String(port)]);
    const { origin, hash } = new URL(served.url);
    expect(origin).toBe(`http://127.0.0.1:${port}`);
    expect(await (await fetch(origin)).text()).toContain('<title>');
    const headers = { authorization: `Bearer ${hash.replace('#token=', '')}` };
    const answer = await fetch(`${origin}/api/v2/queues`, { headers });
    expect(await answer.json()).toEqual({ queues: [], links: [] });

    const others = Object.values(networkInterfaces())
      .flatMap((addresses = []) => addresses)
      .filter(({ internal, family }) => !internal && family === 'IPv4');
    for (const { address } of others) expect(await isRefusedAt(address, port)).toBe(true);
    expect(await served.stop()).toBe(0);
    expect(await isRefusedAt('127.0.0.1', port)).toBe(true);
  });

  it('starts without a deployment, and says that only the policy designer works', async () => {
    // Nothing listens there, and the SDK must not retry.
    const env = { ...plainEnvironment(), ...awsEnvironment(nowhere, ANY_KEYS), AWS_MAX_ATTEMPTS: '1' };
    const served = await startConsoleCommand(env);
    const { origin, hash } = new URL(served.url);
    const headers = { authorization: `Bearer ${hash.replace('#token=', '')}` };
    const info = await (await fetch(`${origin}/api-local/info`, { headers })).json();
    expect(info).toMatchObject({ deployment: null, problem: { code: 'no_deployment' } });
    expect(await served.stop()).toBe(0);
    expect(served.stderr()).toContain('only the policy designer works');
  });

  it('fails if the chosen deployment is missing, or the port is in use', async () => {
    const env = { ...plainEnvironment(), ...awsEnvironment(nowhere, ANY_KEYS), AWS_MAX_ATTEMPTS: '1' };
    const named = await posthaste(['console', '--deployment', 'Elsewhere'], { env });
    expect(named).toMatchObject({ status: 1, stdout: '' });
    expect(named.stderr).toMatch(/The stack Elsewhere(Pipeline|State) could not be looked up/);

    const taker = createServer();
    const port = await loopbackPort();
    await new Promise<void>((resolve) => taker.listen(port, '127.0.0.1', resolve));
    const taken = await posthaste(['console', '--port', String(port)], { env: apiEnvironment(nowhere) });
    taker.close();
    expect(taken).toMatchObject({ status: 1, stdout: '' });
    expect(taken.stderr).toContain(`Port ${port} is in use`);
  });
});
