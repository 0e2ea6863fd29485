import { execFile } from 'node:child_process';
import { promisify } from 'node:util';

import { describe, expect, it, onTestFinished } from 'vitest';
import * as z from 'zod';

import { requestNotSentError } from '../../../shared/adapters/http/connection-fault.ts';
import { httpSubscriber } from '../../../shared/adapters/http/subscriber.ts';
import { startDnsServer } from '../../support/dns-server.ts';
import { startReceiver } from '../../support/receiver.ts';

const run = promisify(execFile);
const ADAPTERS = new URL('../../../shared/adapters/http/', import.meta.url);

/** A receiver that responds after a delay, and a name server that returns its address for every name. */
const startBoth = async () => {
  const receiver = await startReceiver();
  receiver.script('/', [{ delayMs: 500 }]);
  const dns = await startDnsServer(({ name, type }) =>
    type === 'A' ? [{ name, type, value: '127.0.0.1' }] : [],
  );
  onTestFinished(receiver.close);
  onTestFinished(dns.close);
  return { port: new URL(receiver.url()).port, servers: [dns.address] };
};

const results = z.record(z.string(), z.number());

/** The results of 200 concurrent requests in a process with 100 descriptors, each with its count. */
const crowd = async (hostOf: string): Promise<z.output<typeof results>> => {
  const { port, servers } = await startBoth();
  const program = `
    const { httpSubscriber } = await import('${new URL('subscriber.ts', ADAPTERS).href}');
    const { nameResolver } = await import('${new URL('resolver.ts', ADAPTERS).href}');
    const resolve = nameResolver({ servers: ${JSON.stringify(servers)} });
    const subscriber = httpSubscriber({ allowedAddresses: ['127.0.0.0/8'], resolve });
    const post = (index) => subscriber.post({ url: 'http://' + (${hostOf}) + ':${port}/', headers: {}, body: Buffer.from('') }, 10_000);
    const settled = await Promise.allSettled(Array.from({ length: 200 }, (_, index) => post(index)));
    const results = settled.map(({ value, reason }) => reason?.name ?? value.statusCode ?? value.detail);
    const counts = Object.entries(Object.groupBy(results, (one) => one)).map(([one, all]) => [one, all.length]);
    process.stdout.write(JSON.stringify(Object.fromEntries(counts)));`;
  const node = [process.execPath, '--input-type=module', '-e', program];
  const { stdout } = await run('sh', ['-c', 'ulimit -n 100 && exec "$0" "$@"', ...node]);
  return results.parse(JSON.parse(stdout));
};

describe('a process that is out of descriptors', () => {
  it.each([
    ['addresses', "'127.0.0.1'"],
    ['names', "'hooks-' + index + '.example'"],
  ])('throws for requests to %s, and reports no failure of a subscriber', async (_what, hostOf) => {
    const { 200: answered = 0, RequestNotSentError: thrown = 0, ...others } = await crowd(hostOf);
    expect(others).toEqual({});
    expect(answered).toBeGreaterThan(10);
    expect(thrown).toBeGreaterThan(10);
  });
});

describe('a local lack of resources', () => {
  const errorOf = (code: string): Error =>
    Object.assign(new Error(`connect ${code} 192.0.2.1:443`), { code });

  it.each(['EMFILE', 'ENFILE', 'ENOBUFS', 'ENOMEM'])(
    'includes %s, and its error contains no address',
    (code) => {
      expect(requestNotSentError(errorOf(code))?.message).toBe(`The request could not be sent: ${code}`);
    },
  );

  it('is recognised among failures of other addresses', () => {
    const tried = [errorOf('ECONNREFUSED'), errorOf('EMFILE')];
    expect(requestNotSentError(new AggregateError(tried))?.message).toContain('EMFILE');
  });

  it('does not include a missing IPv6 route', () => {
    expect(requestNotSentError(errorOf('EADDRNOTAVAIL'))).toBeUndefined();
    expect(requestNotSentError(errorOf('ENETUNREACH'))).toBeUndefined();
  });

  it('during a look-up is not recorded as a DNS failure', async () => {
    const subscriber = httpSubscriber({
      allowedAddresses: [],
      resolve: () => Promise.reject(errorOf('EMFILE')),
    });
    const posted = subscriber.post(
      { url: 'http://hooks.example/', headers: {}, body: Buffer.from('') },
      1_000,
    );
    await expect(posted).rejects.toMatchObject({ name: 'RequestNotSentError' });
  });
});
