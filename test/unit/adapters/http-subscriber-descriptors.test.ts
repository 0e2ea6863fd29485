import { execFile } from 'node:child_process';
import { promisify } from 'node:util';

import { afterEach, describe, expect, it } from 'vitest';
import * as z from 'zod';

import { notSentFor } from '../../../shared/adapters/http/connection-fault.ts';
import { httpSubscriber } from '../../../shared/adapters/http/subscriber.ts';
import { startReceiver } from '../../support/receiver.ts';

const run = promisify(execFile);
const ADAPTERS = new URL('../../../shared/adapters/http/', import.meta.url);

const closing: (() => Promise<void>)[] = [];
afterEach(() => Promise.all(closing.splice(0).map((close) => close())));

const results = z.record(z.string(), z.number());

/** What becomes of 200 requests at once in a process with 100 descriptors, each result with its number. */
const crowd = async (): Promise<z.output<typeof results>> => {
  const receiver = await startReceiver();
  closing.push(receiver.close);
  receiver.script('/', [{ delayMs: 500 }]);
  const program = `
    const { httpSubscriber } = await import('${new URL('subscriber.ts', ADAPTERS).href}');
    const subscriber = httpSubscriber({ allowedAddresses: ['127.0.0.0/8'] });
    const post = () => subscriber.post({ url: '${receiver.url()}', headers: {}, body: '' }, 10_000);
    const settled = await Promise.allSettled(Array.from({ length: 200 }, post));
    const results = settled.map(({ value, reason }) => reason?.name ?? value.statusCode ?? value.detail);
    const counts = Object.entries(Object.groupBy(results, (one) => one)).map(([one, all]) => [one, all.length]);
    process.stdout.write(JSON.stringify(Object.fromEntries(counts)));`;
  const node = [process.execPath, '--input-type=module', '-e', program];
  const { stdout } = await run('sh', ['-c', 'ulimit -n 100 && exec "$0" "$@"', ...node]);
  return results.parse(JSON.parse(stdout));
};

describe('a process that is out of descriptors', () => {
  it('throws for requests, and blames no subscriber', async () => {
    const { 200: answered = 0, RequestNotSentError: thrown = 0, ...others } = await crowd();
    expect(others).toEqual({});
    expect(answered).toBeGreaterThan(10);
    expect(thrown).toBeGreaterThan(10);
  });
});

describe('a lack of ours', () => {
  const errorOf = (code: string): Error =>
    Object.assign(new Error(`connect ${code} 192.0.2.1:443`), { code });

  it.each(['EMFILE', 'ENFILE', 'ENOBUFS', 'ENOMEM'])('is %s, told without the address', (code) => {
    expect(notSentFor(errorOf(code))?.message).toBe(`The request could not be sent: ${code}`);
  });

  it('counts though other addresses of the name were tried as well', () => {
    const tried = [errorOf('ECONNREFUSED'), errorOf('EMFILE')];
    expect(notSentFor(new AggregateError(tried))?.message).toContain('EMFILE');
  });

  it('is not what a function without IPv6 meets at a subscriber that has nothing else', () => {
    expect(notSentFor(errorOf('EADDRNOTAVAIL'))).toBeUndefined();
    expect(notSentFor(errorOf('ENETUNREACH'))).toBeUndefined();
  });

  it('while a name is looked up is not recorded as a name that cannot be resolved', async () => {
    const subscriber = httpSubscriber({
      allowedAddresses: [],
      resolve: () => Promise.reject(errorOf('EMFILE')),
    });
    const posted = subscriber.post({ url: 'http://hooks.example/', headers: {}, body: '' }, 1_000);
    await expect(posted).rejects.toMatchObject({ name: 'RequestNotSentError' });
  });
});
