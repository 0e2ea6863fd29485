import { get } from 'node:http';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import {
  addressGuard,
  type AllowedPlaces,
  InvalidAddressRange,
  InvalidPortRange,
  subscriberUrlFault,
} from '../../../shared/adapters/http/address-guard.ts';
import type { HttpSenderOptions } from '../../../shared/adapters/http/sender.ts';
import { httpSubscriber } from '../../../shared/adapters/http/subscriber.ts';
import type { Reply } from '../../../shared/domain/retry/outcome.ts';
import { type Receiver, startReceiver } from '../../support/receiver.ts';
import { OK } from './raw-server.ts';

/** Spellings of forbidden addresses in URLs. Most would lead to a loopback address if they were followed. */
const FORBIDDEN_HOSTS: Record<string, readonly string[]> = {
  loopback: [
    '127.0.0.1',
    '127.0.0.2',
    '127.1.2.3',
    '127.255.255.254',
    '127.1',
    '127.0.1',
    '127.258',
    '127.0.0.1.',
    '2130706433',
    '2130706434',
    '0x7f000001',
    '0x7F000001',
    '0x7f.0.0.1',
    '0x7f.1',
    '0x7f.0x0.0x0.0x1',
    '0x7f.0.1',
    '0177.0.0.1',
    '0177.1',
    '017700000001',
    '0177.0x0.0.1',
    '00000000177.0.0.1',
    '127.0.0.0x1',
    '127.00.000.01',
    '%31%32%37.0.0.1',
    '127%2e0%2e0%2e1',
    '127.0.0.1%2E',
    '%30x7f.1',
    '0x7f.0x000001',
    '0x7f000001.',
    '127.0.65535',
    '127.16777215',
    // Full-width digits, then full-width stops; the same in percent-encoding.
    '\uff11\uff12\uff17.\uff10.\uff10.\uff11',
    '127\uff0e0\uff0e0\uff0e1',
    '%EF%BC%91%EF%BC%92%EF%BC%97.0.0.1',
    '127%E3%80%820%E3%80%820%E3%80%821',
    '127。0。0。1。',
    '\u00b9\u00b2\u2077.\u2070.\u2070.\u00b9',
    '127\u200b.0.0.1',
    '127。0。0。1',
    '127｡0｡0｡1',
    '①②⑦.⓪.⓪.①',
    '𝟏𝟐𝟕.𝟎.𝟎.𝟏',
    '127.0.0.\u00ad1',
  ],
  'this network': ['0', '0.0.0.0', '0x0', '00', '0.0.0.1', '0.255.255.255', '%30'],
  private: [
    '10.0.0.1',
    '10.255.255.255',
    '10.1',
    '0xa.0.0.1',
    '012.0.0.1',
    '167772161',
    '172.16.0.1',
    '172.31.255.255',
    '0xac100001',
    '2886729729',
    '192.168.0.1',
    '192.168.1',
    '0300.0250.0.1',
    '3232235521',
  ],
  'link-local and metadata': [
    '169.254.0.1',
    '169.254.169.254',
    '169.254.170.2',
    '169.254.169.254.',
    '2852039166',
    '0xa9fea9fe',
    '0xa9.0xfe.0xa9.0xfe',
    '0251.0376.0251.0376',
    '0251.254.43518',
    '169。254。169。254',
    '%31%36%39.254.169.254',
    '169.254.170.23',
    '169.254.79.129',
    '[fd00:ec2::23]',
    '[fd00:ec2:0:0:0:0:0:fd]',
    '[fd00:ec2::254]',
    '[::ffff:169.254.169.254]',
    '[64:ff9b::a9fe:a9fe]',
  ],
  'shared, reserved, documentation, benchmarking': [
    '100.64.0.1',
    '100.100.100.200',
    '100.127.255.255',
    '192.0.0.1',
    '192.0.0.192',
    '192.0.2.1',
    '192.88.99.1',
    '198.18.0.1',
    '198.19.255.255',
    '198.51.100.1',
    '203.0.113.1',
    '240.0.0.1',
    '254.1.2.3',
    '255.255.255.255',
    '4294967295',
    '0xffffffff',
  ],
  multicast: ['224.0.0.1', '239.255.255.250', '[ff02::1]', '[ff0e::1]'],
  'IPv6 loopback and unspecified': [
    '[::1]',
    '[0:0:0:0:0:0:0:1]',
    '[0000:0000:0000:0000:0000:0000:0000:0001]',
    '[::0001]',
    '[0::1]',
    '[::0.0.0.1]',
    '[::]',
    '[0:0:0:0:0:0:0:0]',
  ],
  'IPv6 local, discarded, documentation, benchmarking, special': [
    '[fe80::1]',
    '[febf::1]',
    '[fec0::1]',
    '[feff::1]',
    '[fc00::1]',
    '[fdff:ffff::1]',
    '[100::1]',
    '[2001:db8::1]',
    '[3fff::1]',
    '[2001:2::1]',
    '[2001:10::1]',
    '[2001:20::1]',
    '[2001:1ff::1]',
    '[5f00::1]',
  ],
  'outside global unicast': ['[1::1]', '[200::1]', '[1fff:ffff::1]', '[4000::1]', '[e000::1]', '[fe00::1]'],
  'IPv4 mapped': [
    '[::ffff:127.0.0.1]',
    '[::ffff:7f00:1]',
    '[0:0:0:0:0:ffff:127.0.0.1]',
    '[::FFFF:7F00:0001]',
    '[::ffff:8.8.8.8]',
    '[::ffff:127.1.2.3]',
    '[::ffff:0.0.0.0]',
  ],
  'IPv4 compatible': ['[::127.0.0.1]', '[::7f00:1]', '[0:0:0:0:0:0:7f00:1]', '[::8.8.8.8]'],
  SIIT: ['[::ffff:0:127.0.0.1]', '[::ffff:0:7f00:1]', '[::ffff:0:8.8.8.8]'],
  NAT64: [
    '[64:ff9b::127.0.0.1]',
    '[64:ff9b::7f00:1]',
    '[64:ff9b::8.8.8.8]',
    '[64:ff9b:1::127.0.0.1]',
    '[64:ff9b:1:ffff::7f00:1]',
    '[64:ff9b:1:7f00:0:100::]',
    '[64:ff9b:1:a9fe:a9:fe00::]',
  ],
  '6to4': ['[2002:7f00:1::]', '[2002:7f00:0001::1]', '[2002:a9fe:a9fe::]', '[2002:808:808::]'],
  Teredo: ['[2001::1]', '[2001:0:4136:e378:8000:63bf:80ff:fffe]', '[2001:0000:7f00:1::]'],
  ISATAP: [
    '[fe80::5efe:127.0.0.1]',
    '[2606:4700::5efe:127.0.0.1]',
    '[2606:4700::5efe:7f00:1]',
    '[2606:4700::200:5efe:7f00:1]',
    '[2606:4700::300:5efe:10.0.0.1]',
    '[2606:4700::100:5efe:8.8.8.8]',
  ],
};

/** Spellings of a name that every system resolves to loopback. */
const LOOPBACK_NAMES: readonly string[] = ['localhost', 'LOCALHOST', 'ⓛⓞⓒⓐⓛⓗⓞⓢⓣ', 'local%68ost'];

/** Addresses that stay forbidden even if `0.0.0.0/0` and `::/0` are allowed. */
const NEVER_ALLOWED: readonly string[] = [
  '169.254.169.254',
  '169.254.170.2',
  '169.254.170.23',
  '169.254.79.129',
  '169.254.0.1',
  'fd00:ec2::254',
  'fd00:ec2::23',
  'fe80::1',
  'fe80::1%eth0',
  '0.0.0.0',
  '::',
  '::ffff:127.0.0.1',
  '::ffff:8.8.8.8',
  '::127.0.0.1',
  '::ffff:0:10.0.0.1',
  '64:ff9b::169.254.169.254',
  '64:ff9b::0.0.0.0',
  '64:ff9b:1::8.8.8.8',
  '2002:a9fe:a9fe::',
  '2001::1',
  '2606:4700::5efe:169.254.169.254',
];

/** Answers of a resolver for a harmless-looking name. */
const FORBIDDEN_ANSWERS: readonly string[] = [
  ...NEVER_ALLOWED,
  '127.0.0.1',
  '127.0.0.2',
  '10.0.0.5',
  '100.64.0.1',
  '::1',
  '::ffff:0:127.0.0.1',
  '64:ff9b::127.0.0.1',
  'fe80::1%lo',
  'fe80::1%1',
  '2002:7f00:1::',
  '2606:4700::5efe:127.0.0.1',
  // Not in the form that a resolver returns, so its meaning cannot be trusted.
  '0177.0.0.1',
  '127.1',
  'localhost',
  '',
];

const ALLOWED_ADDRESSES: readonly string[] = [
  '1.1.1.1',
  '8.8.8.8',
  '9.255.255.255',
  '11.0.0.0',
  '100.63.255.255',
  '100.128.0.0',
  '126.255.255.255',
  '128.0.0.1',
  '169.253.255.255',
  '172.15.255.255',
  '172.32.0.0',
  '192.167.255.255',
  '192.169.0.0',
  '198.17.255.255',
  '198.20.0.0',
  '223.255.255.255',
  '2606:4700:4700::1111',
  '2a00:1450:4001:81b::200e',
  '2600:1f18::1',
  '2001:4860:4860::8888',
  '2001:200::1',
  '2606:4700::5eff:1:1',
  '2606:4700::400:5efe:1:1',
  '2003::1',
];

const spellings = Object.entries(FORBIDDEN_HOSTS).flatMap(([kind, hosts]) =>
  hosts.map((host): [string, string] => [kind, host]),
);
const PORT = 443;
const EVERYWHERE = ['0.0.0.0/0', '::/0'];

const isAllowedBy = (places: Partial<AllowedPlaces>): ((address: string) => boolean) => {
  const guard = addressGuard({ allowedAddresses: [], ...places });
  return (address) => guard.allows(address, PORT);
};

describe('addressGuard', () => {
  const isAllowed = isAllowedBy({});

  it('allows global unicast addresses, and no others', () => {
    expect([...ALLOWED_ADDRESSES, ...FORBIDDEN_ANSWERS].filter(isAllowed)).toEqual(ALLOWED_ADDRESSES);
  });

  it('forbids every IPv4 address embedded in an IPv6 form, including public ones', () => {
    const mapped = ['::ffff:', '::', '::ffff:0:', '64:ff9b::', '64:ff9b:1::'];
    const prefixes = [...mapped, 'fe80::5efe:', '2606:4700::200:5efe:'];
    fc.assert(
      fc.property(fc.constantFrom(...prefixes), fc.ipV4(), (prefix, address) => {
        expect(isAllowed(prefix + address)).toBe(false);
      }),
    );
  });

  it('allows addresses within an allowed range, and no others', () => {
    const allows = isAllowedBy({ allowedAddresses: ['10.1.0.0/16', 'fd00:1::/64', '127.0.0.2/32'] });
    const inside = ['10.1.0.1', '10.1.255.255', 'fd00:1::5', '127.0.0.2', '8.8.8.8'];
    const outside = ['10.0.255.255', '10.2.0.0', 'fd00:1:0:1::5', '127.0.0.1', '::ffff:10.1.0.1'];
    expect([...inside, ...outside].filter(allows)).toEqual(inside);
  });

  it.each(NEVER_ALLOWED)('forbids %s even if all addresses are allowed', (address) => {
    expect(isAllowedBy({ allowedAddresses: EVERYWHERE })(address)).toBe(false);
    expect(isAllowedBy({ allowedAddresses: ['169.254.0.0/16', 'fd00:ec2::/32'] })(address)).toBe(false);
  });

  it('allows through a NAT64 gateway only addresses that are allowed directly', () => {
    const allows = isAllowedBy({ allowedAddresses: ['64:ff9b::/96', '10.1.0.0/16'] });
    const inside = ['64:ff9b::8.8.8.8', '64:ff9b::10.1.2.3'];
    const outside = ['10.2.0.1', '127.0.0.1', '169.254.169.254'].map((address) => `64:ff9b::${address}`);
    expect([...inside, ...outside, '64:ff9b:1::8.8.8.8'].filter(allows)).toEqual(inside);
  });

  const odd = [
    '10.0.0.0',
    '10.0.0.0/33',
    '10/8',
    'fd00::/129',
    'localhost/8',
    '10.0.0.0/8/8',
    '',
    '0x0a.0.0.0/8',
  ];
  it.each(odd)('rejects the range "%s" with an error that names it', (range) => {
    const guard = () => addressGuard({ allowedAddresses: [range] });
    expect(guard).toThrow(InvalidAddressRange);
    expect(guard).toThrow(`"${range}"`);
  });
});

describe('allowed ports', () => {
  const portsWith = (...allowedPorts: string[]) => addressGuard({ allowedAddresses: [], allowedPorts });

  it('include all ports if none are configured', () => {
    expect([1, 22, 443, 65_535].map(portsWith().allowsPort)).not.toContain(false);
  });

  it('include single ports and ranges, at allowed addresses only', () => {
    const guard = portsWith('443', '8000-9000');
    expect([443, 8000, 8500, 9000].map(guard.allowsPort)).not.toContain(false);
    expect([1, 80, 442, 444, 7999, 9001].map(guard.allowsPort)).not.toContain(true);
    expect(guard.allows('8.8.8.8', 443)).toBe(true);
    expect(guard.allows('8.8.8.8', 80)).toBe(false);
    expect(guard.allows('10.0.0.1', 443)).toBe(false);
  });

  it.each(['0', '65536', '9000-8000', '-1', '1-', '80,443', ' 80', '8e1', '0x50', ''])(
    'do not accept "%s", and the error names it',
    (range) => {
      expect(() => portsWith(range)).toThrow(InvalidPortRange);
      expect(() => portsWith(range)).toThrow(`"${range}"`);
    },
  );
});

describe('the runtime API', () => {
  const guardBeside = (runtimeApi: string) =>
    addressGuard({ allowedAddresses: ['127.0.0.0/8', '::1/128', '10.0.0.0/8'], runtimeApi });

  it.each(['127.0.0.1:9001', 'localhost:9001', '[::1]:9001'])(
    'at %s is forbidden at every loopback address, but other ports are allowed',
    (runtimeApi) => {
      const guard = guardBeside(runtimeApi);
      const addresses = ['127.0.0.1', '127.0.0.2', '::1', '10.0.0.1', '8.8.8.8'];
      expect(addresses.filter((address) => guard.allows(address, 9001))).toEqual(['10.0.0.1', '8.8.8.8']);
      expect(addresses.filter((address) => guard.allows(address, 9002))).toEqual(addresses);
    },
  );

  it('at another address is forbidden there', () => {
    const guard = guardBeside('10.0.0.1:9001');
    expect(guard.allows('10.0.0.1', 9001)).toBe(false);
    expect(guard.allows('10.0.0.1', 9002)).toBe(true);
    expect(guard.allows('127.0.0.1', 9001)).toBe(true);
  });

  it('without a port uses port 80', () => {
    expect(guardBeside('127.0.0.1').allows('127.0.0.1', 80)).toBe(false);
  });

  it('given by name is forbidden at every address that is not public', () => {
    const guard = guardBeside('runtime.internal:9001');
    const addresses = ['127.0.0.1', '10.0.0.1', '8.8.8.8'];
    expect(addresses.filter((address) => guard.allows(address, 9001))).toEqual(['8.8.8.8']);
  });
});

describe('subscriberUrlFault', () => {
  const faultOf = (url: string, places: Partial<AllowedPlaces> = {}): string | undefined =>
    subscriberUrlFault(url, { allowedAddresses: [], ...places });

  it.each(spellings)('rejects a URL that spells a %s address as %s', (_kind, host) => {
    expect(faultOf(`https://${host}/hook`)).toBe('must not lead to a private or reserved address');
  });

  it.each(['localhost', 'LOCALHOST', 'localhost.', 'any.localhost'])('treats %s as loopback', (host) => {
    expect(faultOf(`http://${host}/`)).toBeDefined();
    expect(faultOf(`http://${host}/`, { allowedAddresses: ['127.0.0.0/8'] })).toBeUndefined();
  });

  it('accepts host names, which are checked when resolved, and public addresses', () => {
    const names = ['https://hooks.example.com/a?b=c', 'https://localhost.example.com/'];
    for (const url of [...names, 'http://8.8.8.8:8080/', 'http://[2606:4700:4700::1111]/'])
      expect(faultOf(url)).toBeUndefined();
  });

  it('reports a malformed URL before it checks the address', () => {
    expect(faultOf('ftp://127.0.0.1/')).toBe('must be an http or https URL');
  });

  it('rejects a port that is not allowed, explicit or default, and lists the allowed ones', () => {
    const places = { allowedPorts: ['443', '8000-9000'] };
    expect(faultOf('https://hooks.example.com/', places)).toBeUndefined();
    expect(faultOf('http://hooks.example.com:8080/', places)).toBeUndefined();
    expect(faultOf('http://hooks.example.com/', places)).toBe(
      'must not lead to port 80; allowed are 443, 8000-9000',
    );
    expect(faultOf('https://hooks.example.com:22/', places)).toMatch(/^must not lead to port 22;/);
  });

  it('rejects the runtime API', () => {
    const places = { allowedAddresses: ['127.0.0.0/8'], runtimeApi: '127.0.0.1:9001' };
    const urls = ['http://127.0.0.1:9001/2018-06-01/runtime/invocation/next', 'http://localhost:9001/'];
    for (const url of urls) expect(faultOf(url, places)).toBeDefined();
    expect(faultOf('http://127.0.0.1:9002/', places)).toBeUndefined();
  });
});

const DEADLINE_MS = 2_000;
const CANARIES = ['127.0.0.1', '127.0.0.2', '127.1.2.3', '::1'];
const LOCAL = { allowedAddresses: ['127.0.0.0/8', '::1/128'] };

/** Hosts, as normalised by the URL parser, at which the system reaches a canary. */
const LEADING_TO_CANARIES: ReadonlySet<string> = new Set([
  ...['127.0.0.1', '127.0.0.2', '127.1.2.3', '0.0.0.0', 'localhost'],
  ...['[::1]', '[::]', '[::ffff:7f00:1]', '[::ffff:7f01:203]'],
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

  /** The sender refuses to post, without a connection. */
  const expectForbidden = async (url: string, options?: Partial<HttpSenderOptions>): Promise<void> => {
    const before = connections();
    expect(await post(url, options)).toEqual({ kind: 'forbidden' });
    expect(connections()).toBe(before);
  };

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

  const names = LOOPBACK_NAMES.map((name): [string, string] => ['named', name]);
  it.each([...spellings, ...names])('makes no connection to a %s address spelled %s', (_kind, host) =>
    expectForbidden(`http://${host}:${port}/`),
  );

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
      expect(await post(canary.url(), LOCAL)).toEqual(OK);
    }
    expect(connections()).toBe(before + CANARIES.length);
  });

  it.each(FORBIDDEN_ANSWERS)('makes no connection for a name that resolves to "%s"', async (address) => {
    const resolve = () => Promise.resolve([{ address, family: address.includes(':') ? 6 : 4 }]);
    for (const scheme of ['http', 'https'])
      await expectForbidden(`${scheme}://hooks.example:${port}/`, { resolve });
  });

  const odd = [
    'file:///etc/passwd',
    'nonsense',
    'http://[fe80::1%25lo]',
    'http:\\\\127.0.0.1',
    'http:127.0.0.1',
  ];
  it.each(['http://user:secret@127.0.0.1', 'http://user@127.0.0.1', 'ftp://127.0.0.1', ...odd])(
    'treats the URL %s as forbidden even if the address is allowed',
    (url) => expectForbidden(url.replace('127.0.0.1', `127.0.0.1:${port}`), { allowedAddresses: EVERYWHERE }),
  );

  describe('or at a forbidden port of an allowed address', () => {
    it('makes no connection and no DNS request', async () => {
      const resolve = vi.fn(() => Promise.resolve([]));
      const allowedPorts = ['443', `1-${Number(port) - 1}`];
      for (const host of ['127.0.0.1', '[::1]', 'hooks.example'])
        await expectForbidden(`http://${host}:${port}/`, { ...LOCAL, allowedPorts, resolve });
      expect(resolve).not.toHaveBeenCalled();
    });

    it.each(['80', '443'])('uses the default port of the scheme: %s', async (allowed) => {
      for (const [scheme, implied] of [
        ['http', '80'],
        ['https', '443'],
      ]) {
        // No server listens on 127.9.9.9, so an allowed request is refused by the system.
        const reply = await post(`${scheme}://127.9.9.9/`, { ...LOCAL, allowedPorts: [allowed] });
        expect(reply).toMatchObject(
          implied === allowed ? { error: 'connection_refused' } : { kind: 'forbidden' },
        );
      }
    });

    it('makes no connection to the runtime API by any address or name', async () => {
      const resolve = () => Promise.resolve([{ address: '127.0.0.1', family: 4 }]);
      const places = { ...LOCAL, resolve, runtimeApi: `127.0.0.1:${port}` };
      for (const host of ['127.0.0.1', '127.1', '127.0.0.2', '[::1]', '0.0.0.0', 'runtime.example'])
        await expectForbidden(`http://${host}:${port}/`, places);
    });
  });
});
