import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import {
  addressGuard,
  InvalidAddressRange,
  subscriberUrlFault,
} from '../../../shared/adapters/address-guard.ts';
import { httpSubscriber } from '../../../shared/adapters/http-subscriber.ts';
import { startReceiver } from '../../support/receiver.ts';
import type { Receiver } from '../../support/receiver.ts';
import { ALLOWED_ADDRESSES, FORBIDDEN_ANSWERS, FORBIDDEN_HOSTS } from './forbidden-addresses.ts';

const spellings = Object.entries(FORBIDDEN_HOSTS).flatMap(([kind, hosts]) =>
  hosts.map((host): [string, string] => [kind, host]),
);
const DEADLINE_MS = 2_000;
const request = (url: string) => ({ url, headers: {}, body: '{}' });

describe('addressGuard', () => {
  const isAllowed = addressGuard([]);

  it.each(ALLOWED_ADDRESSES)('allows the global unicast address %s', (address) => {
    expect(isAllowed(address)).toBe(true);
  });

  it.each(FORBIDDEN_ANSWERS)('forbids "%s"', (address) => {
    expect(isAllowed(address)).toBe(false);
  });

  it('forbids every IPv4 address inside an IPv6 form, public ones too', () => {
    const prefixes = [
      '::ffff:',
      '::',
      '::ffff:0:',
      '64:ff9b::',
      '64:ff9b:1::',
      'fe80::5efe:',
      '2606:4700::200:5efe:',
    ];
    fc.assert(
      fc.property(fc.constantFrom(...prefixes), fc.ipV4(), (prefix, address) => {
        expect(isAllowed(prefix + address)).toBe(false);
      }),
    );
  });

  it('allows what lies within an allowed range, and nothing beside it', () => {
    const guard = addressGuard(['10.1.0.0/16', 'fd00:1::/64', '127.0.0.2/32']);
    expect(['10.1.0.1', '10.1.255.255', 'fd00:1::5', '127.0.0.2', '8.8.8.8'].map(guard)).not.toContain(false);
    expect(
      ['10.0.255.255', '10.2.0.0', 'fd00:1:0:1::5', '127.0.0.1', '::ffff:10.1.0.1'].map(guard),
    ).not.toContain(true);
  });

  it.each([
    '10.0.0.0',
    '10.0.0.0/33',
    '10/8',
    'fd00::/129',
    'localhost/8',
    '10.0.0.0/8/8',
    '',
    '0x0a.0.0.0/8',
  ])('refuses the range "%s" by name', (range) => {
    expect(() => addressGuard([range])).toThrow(InvalidAddressRange);
    expect(() => addressGuard([range])).toThrow(`"${range}"`);
  });
});

describe('subscriberUrlFault', () => {
  it.each(spellings)('refuses a URL early that spells a %s address as %s', (_kind, host) => {
    expect(subscriberUrlFault(`https://${host}/hook`, [])).toBe(
      'must not lead to a private or reserved address',
    );
  });

  it.each(['localhost', 'LOCALHOST', 'localhost.', 'any.localhost'])('takes %s for loopback', (host) => {
    expect(subscriberUrlFault(`http://${host}/`, [])).toBeDefined();
    expect(subscriberUrlFault(`http://${host}/`, ['127.0.0.0/8'])).toBeUndefined();
  });

  it('has nothing against a name, which is checked when it is resolved, nor against a public address', () => {
    expect(subscriberUrlFault('https://hooks.example.com/a?b=c', [])).toBeUndefined();
    expect(subscriberUrlFault('https://localhost.example.com/', [])).toBeUndefined();
    expect(subscriberUrlFault('http://8.8.8.8:8080/', [])).toBeUndefined();
    expect(subscriberUrlFault('http://[2606:4700:4700::1111]/', [])).toBeUndefined();
  });

  it('tells a fault of form before it looks at the address', () => {
    expect(subscriberUrlFault('ftp://127.0.0.1/', [])).toBe('must be an http or https URL');
  });
});

describe('the sender at a forbidden address', () => {
  const canaries: Receiver[] = [];
  let port = '';

  const connections = (): number => canaries.reduce((total, canary) => total + canary.connections(), 0);

  beforeAll(async () => {
    const first = await startReceiver();
    port = new URL(first.url()).port;
    const others = ['127.0.0.2', '127.1.2.3', '::1'].map((host) =>
      startReceiver({ host, port: Number(port) }),
    );
    canaries.push(first, ...(await Promise.all(others)));
  });

  afterAll(async () => {
    await Promise.all(canaries.map((canary) => canary.close()));
  });

  it('knows at least 100 spellings', () => {
    expect(new Set(spellings.map(([, host]) => host)).size).toBeGreaterThanOrEqual(100);
    expect(spellings.filter(([, host]) => !URL.canParse(`http://${host}/`))).toEqual([]);
  });

  it.each(spellings)('makes no connection to a %s address spelled %s', async (_kind, host) => {
    const before = connections();
    const reply = await httpSubscriber({ allowedAddresses: [] }).post(
      request(`http://${host}:${port}/`),
      DEADLINE_MS,
    );
    expect(reply).toEqual({ kind: 'forbidden' });
    expect(connections()).toBe(before);
  });

  it.each(FORBIDDEN_ANSWERS)('makes no connection for a name that resolves to "%s"', async (address) => {
    const before = connections();
    const subscriber = httpSubscriber({
      allowedAddresses: [],
      resolve: () => Promise.resolve([{ address, family: address.includes(':') ? 6 : 4 }]),
    });
    for (const scheme of ['http', 'https']) {
      const reply = await subscriber.post(request(`${scheme}://hooks.example:${port}/`), DEADLINE_MS);
      expect(reply).toEqual({ kind: 'forbidden' });
    }
    expect(connections()).toBe(before);
  });

  it('makes no connection at all for a name with one forbidden address among allowed ones', async () => {
    const before = connections();
    const subscriber = httpSubscriber({
      allowedAddresses: ['127.0.0.1/32'],
      resolve: () =>
        Promise.resolve([
          { address: '127.0.0.1', family: 4 },
          { address: '127.0.0.2', family: 4 },
        ]),
    });
    expect(await subscriber.post(request(`http://mixed.example:${port}/`), DEADLINE_MS)).toEqual({
      kind: 'forbidden',
    });
    expect(connections()).toBe(before);
  });

  it('asks DNS once per connection, so that a second, other answer is never used', async () => {
    const before = connections();
    const answers = ['127.0.0.2', '127.0.0.1'];
    const asked: string[] = [];
    const subscriber = httpSubscriber({
      allowedAddresses: ['127.0.0.2/32'],
      resolve: (name) => {
        asked.push(name);
        return Promise.resolve([{ address: answers.shift() ?? '127.0.0.1', family: 4 }]);
      },
    });
    const url = `http://rebinding.example:${port}/`;
    expect(await subscriber.post(request(url), DEADLINE_MS)).toMatchObject({
      kind: 'answered',
      statusCode: 200,
    });
    expect(asked).toEqual(['rebinding.example']);
    expect(canaries.map((canary) => canary.received('/').length)).toEqual([0, 1, 0, 0]);
    expect(connections()).toBe(before + 1);
  });

  it.each([
    'http://user:secret@127.0.0.1',
    'http://user@127.0.0.1',
    'ftp://127.0.0.1',
    'file:///etc/passwd',
    'nonsense',
    'http://[fe80::1%25lo]',
  ])('takes the URL %s for forbidden even where the address is allowed', async (url) => {
    const before = connections();
    const subscriber = httpSubscriber({ allowedAddresses: ['0.0.0.0/0', '::/0'] });
    expect(
      await subscriber.post(request(url.replace('127.0.0.1', `127.0.0.1:${port}`)), DEADLINE_MS),
    ).toEqual({
      kind: 'forbidden',
    });
    expect(connections()).toBe(before);
  });

  it('reaches each of the canaries once its address is allowed', async () => {
    const before = connections();
    const subscriber = httpSubscriber({ allowedAddresses: ['127.0.0.0/8', '::1/128'] });
    for (const host of ['127.0.0.1', '127.0.0.2', '127.1.2.3', '[::1]']) {
      const reply = await subscriber.post(request(`http://${host}:${port}/`), DEADLINE_MS);
      expect(reply).toEqual({ kind: 'answered', statusCode: 200 });
    }
    expect(connections()).toBe(before + 4);
  });
});
