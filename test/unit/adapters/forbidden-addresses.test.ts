import { get } from 'node:http';

import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import type { HttpSenderOptions } from '../../../shared/adapters/http/sender.ts';
import { httpSubscriber } from '../../../shared/adapters/http/subscriber.ts';
import type { Reply } from '../../../shared/domain/retry/outcome.ts';
import { type Receiver, startReceiver } from '../../support/receiver.ts';
import { FORBIDDEN_ANSWERS, FORBIDDEN_HOSTS, LOOPBACK_NAMES } from './forbidden-addresses.ts';

const spellings = Object.entries(FORBIDDEN_HOSTS).flatMap(([kind, hosts]) =>
  hosts.map((host): [string, string] => [kind, host]),
);
const DEADLINE_MS = 2_000;
const CANARIES = ['127.0.0.1', '127.0.0.2', '127.1.2.3', '::1'];
const FORBIDDEN: Reply = { kind: 'forbidden' };

/** Hosts, as normalised by the URL parser, at which the system reaches a canary. */
const LEADING_TO_CANARIES: ReadonlySet<string> = new Set([
  '127.0.0.1',
  '127.0.0.2',
  '127.1.2.3',
  '0.0.0.0',
  '[::1]',
  '[::]',
  '[::ffff:7f00:1]',
  '[::ffff:7f01:203]',
  'localhost',
]);

describe('the sender at a forbidden address', () => {
  const canaries: Receiver[] = [];
  let port = '';

  const connections = (): number => canaries.reduce((total, canary) => total + canary.connections(), 0);

  const post = (url: string, options: Partial<HttpSenderOptions> = {}): Promise<Reply> =>
    httpSubscriber({ allowedAddresses: [], ...options }).post(
      { url, headers: {}, body: Buffer.from('{}') },
      DEADLINE_MS,
    );

  /** A request by a sender without a guard. */
  const statusWithoutGuard = (host: string): Promise<number | undefined> =>
    new Promise((resolve, reject) => {
      get(new URL(`http://${host}:${port}/`), { agent: false }, (response) => {
        response.resume();
        resolve(response.statusCode);
      }).once('error', reject);
    });

  beforeAll(async () => {
    const [first, ...others] = CANARIES;
    const canary = await startReceiver({ host: first ?? '' });
    port = new URL(canary.url()).port;
    canaries.push(canary);
    for (const host of others) canaries.push(await startReceiver({ host, port: Number(port) }));
  });

  afterAll(async () => {
    await Promise.all(canaries.map((canary) => canary.close()));
  });

  it.each(spellings)('makes no connection to a %s address spelled %s', async (_kind, host) => {
    const before = connections();
    expect(await post(`http://${host}:${port}/`)).toEqual(FORBIDDEN);
    expect(connections()).toBe(before);
  });

  it.each(LOOPBACK_NAMES)('makes no connection to the name %s', async (host) => {
    const before = connections();
    expect(await post(`http://${host}:${port}/`)).toEqual(FORBIDDEN);
    expect(connections()).toBe(before);
  });

  it('would have reached a canary with at least 50 of these without the guard', async () => {
    const leading = [...spellings.map(([, host]) => host), ...LOOPBACK_NAMES].filter((host) =>
      LEADING_TO_CANARIES.has(new URL(`http://${host}/`).hostname),
    );
    expect(new Set(leading).size).toBeGreaterThanOrEqual(50);
    const before = connections();
    const statuses = await Promise.all(leading.map(statusWithoutGuard));
    expect(statuses).toEqual(leading.map(() => 200));
    expect(connections()).toBe(before + leading.length);
  });

  it('reaches each canary once its address is allowed', async () => {
    const before = connections();
    for (const canary of canaries) {
      const reply = await post(canary.url(), { allowedAddresses: ['127.0.0.0/8', '::1/128'] });
      expect(reply).toEqual({ kind: 'answered', statusCode: 200 });
    }
    expect(connections()).toBe(before + CANARIES.length);
  });

  it.each(FORBIDDEN_ANSWERS)('makes no connection for a name that resolves to "%s"', async (address) => {
    const before = connections();
    const resolve = () => Promise.resolve([{ address, family: address.includes(':') ? 6 : 4 }]);
    for (const scheme of ['http', 'https']) {
      expect(await post(`${scheme}://hooks.example:${port}/`, { resolve })).toEqual(FORBIDDEN);
    }
    expect(connections()).toBe(before);
  });

  it.each([
    'http://user:secret@127.0.0.1',
    'http://user@127.0.0.1',
    'ftp://127.0.0.1',
    'file:///etc/passwd',
    'nonsense',
    'http://[fe80::1%25lo]',
    'http:\\\\127.0.0.1',
    'http:127.0.0.1',
  ])('treats the URL %s as forbidden even if the address is allowed', async (url) => {
    const before = connections();
    const allowedAddresses = ['0.0.0.0/0', '::/0'];
    const reply = await post(url.replace('127.0.0.1', `127.0.0.1:${port}`), { allowedAddresses });
    expect(reply).toEqual(FORBIDDEN);
    expect(connections()).toBe(before);
  });

  describe('or at a forbidden port of an allowed address', () => {
    const local = { allowedAddresses: ['127.0.0.0/8', '::1/128'] };

    it('makes no connection and no DNS request', async () => {
      const before = connections();
      const asked: string[] = [];
      const resolve = (name: string) => {
        asked.push(name);
        return Promise.resolve([{ address: '127.0.0.1', family: 4 }]);
      };
      for (const host of ['127.0.0.1', '[::1]', 'hooks.example']) {
        const allowedPorts = ['443', `1-${Number(port) - 1}`];
        expect(await post(`http://${host}:${port}/`, { ...local, allowedPorts, resolve })).toEqual(FORBIDDEN);
      }
      expect(asked).toEqual([]);
      expect(connections()).toBe(before);
    });

    it.each(['80', '443'])('uses the default port of the scheme: %s', async (allowed) => {
      for (const [scheme, implied] of [
        ['http', '80'],
        ['https', '443'],
      ]) {
        // No server listens on 127.9.9.9, so an allowed request is refused by the system.
        const reply = await post(`${scheme}://127.9.9.9/`, { ...local, allowedPorts: [allowed] });
        expect(reply).toMatchObject(implied === allowed ? { error: 'connection_refused' } : FORBIDDEN);
      }
    });

    it('connects if the port is allowed', async () => {
      const reply = await post(`http://127.0.0.1:${port}/`, { ...local, allowedPorts: [port] });
      expect(reply).toMatchObject({ statusCode: 200 });
    });

    it('makes no connection to the runtime API by any address or name', async () => {
      const before = connections();
      const resolve = () => Promise.resolve([{ address: '127.0.0.1', family: 4 }]);
      const places = { ...local, resolve, runtimeApi: `127.0.0.1:${port}` };
      for (const host of ['127.0.0.1', '127.1', '127.0.0.2', '[::1]', '0.0.0.0', 'runtime.example']) {
        expect(await post(`http://${host}:${port}/`, places)).toEqual(FORBIDDEN);
      }
      expect(connections()).toBe(before);
    });
  });
});
