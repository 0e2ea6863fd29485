import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { connect, createServer, isIPv6, type Socket } from 'node:net';
import { setTimeout as pause, setImmediate as turn } from 'node:timers/promises';
import { promisify } from 'node:util';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { Worker } from 'node:worker_threads';
import { afterAll, afterEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import * as z from 'zod';
import type { Resolve } from '../../../shared/adapters/http/resolver.ts';
import { requestNotSentError } from '../../../shared/adapters/http/connection-fault.ts';
import type { HttpSenderOptions } from '../../../shared/adapters/http/sender.ts';
import { httpSubscriber } from '../../../shared/adapters/http/subscriber.ts';
import type { Reply } from '../../../shared/domain/retry/outcome.ts';
import type { Subscriber } from '../../../shared/ports/subscriber.ts';
import { startDnsServer } from '../../support/dns-server.ts';
import { turnsUntil } from '../../support/eventually.ts';
import { type Receiver, type ReceiverOptions, startReceiver } from '../../support/receiver.ts';
import { OK, startRawServer, unanswered } from './raw-server.ts';

const DEADLINE_MS = 5_000;
const ADAPTERS = new URL('../../../shared/adapters/http/', import.meta.url);

afterEach(() => {
  vi.useRealTimers();
});

const receiverOf = async (options?: ReceiverOptions): Promise<Receiver & { port: number }> => {
  const receiver = await startReceiver(options);
  onTestFinished(receiver.close);
  return { ...receiver, port: Number(new URL(receiver.url()).port) };
};

/** Every name has these addresses. */
const resolveTo =
  (...addresses: string[]): Resolve =>
  () =>
    Promise.resolve(addresses.map((address) => ({ address, family: isIPv6(address) ? 6 : 4 })));

const errorOf = (code: string): Error => Object.assign(new Error(`connect ${code} 192.0.2.1:443`), { code });

const subscriberWith = (options: Partial<HttpSenderOptions> = {}): Subscriber =>
  httpSubscriber({ allowedAddresses: ['127.0.0.0/8', '::1/128'], ...options });
const postTo = (subscriber: Subscriber, url: string, timeoutMs = DEADLINE_MS): Promise<Reply> =>
  subscriber.post({ url, headers: {}, body: Buffer.from('{}') }, timeoutMs);

/** What a program prints, in a process of few `descriptors`, where `httpSubscriber` and `nameResolver` are functions. */
const printedBy = async (program: string, descriptors = 1_000): Promise<string> => {
  const imports = `
    const { httpSubscriber } = await import('${new URL('subscriber.ts', ADAPTERS).href}');
    const { nameResolver } = await import('${new URL('resolver.ts', ADAPTERS).href}');`;
  const node = [process.execPath, '--input-type=module', '-e', imports + program];
  const limited = ['-c', `ulimit -n ${descriptors} && exec "$0" "$@"`, ...node];
  const { stdout } = await promisify(execFile)('sh', limited);
  return stdout;
};

const ORIGINS = 4_000;
/** Concurrent deliveries of an invocation. */
const AT_ONCE = 10;
/** Connections kept by the pool, plus those in use. */
const MAX_OPEN = 100 + AT_ONCE;

setFlagsFromString('--expose-gc');
const collectGarbage = z.function({ input: [], output: z.void() }).implement(runInNewContext('gc'));

const heapAfterCollection = (): number => {
  collectGarbage();
  return process.memoryUsage().heapUsed;
};

/** Counted for this process, which holds both ends of its connections. */
const resources = (kind: string): number =>
  process.getActiveResourcesInfo().filter((name) => name === kind).length;

/** One in ten connections is dropped, one in ten closes with an announcement, the others are kept alive. */
const answerAs = (connection: number, socket: Socket): void => {
  if (connection % 10 === 0) socket.destroy();
  else if (connection % 10 === 1) socket.end('HTTP/1.1 200 OK\r\nconnection: close\r\n\r\n');
  else socket.write('HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok');
};

/** Counts its connections without keeping them. */
const startServer = async () => {
  const connections = { made: 0, open: 0, mostOpen: 0 };
  const server = createServer((socket) => {
    const number = (connections.made += 1);
    connections.open += 1;
    connections.mostOpen = Math.max(connections.mostOpen, connections.open);
    socket.on('error', () => undefined);
    socket.on('close', () => (connections.open -= 1));
    socket.on('data', () => {
      answerAs(number, socket);
    });
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = z.object({ port: z.number() }).parse(server.address());
  const close = (): Promise<unknown> => once(server.close(), 'close');
  return { port, connections, close };
};

describe(`${ORIGINS} origins`, () => {
  const warnings: Error[] = [];
  const noteWarning = (warning: Error): void => {
    warnings.push(warning);
  };
  process.on('warning', noteWarning);
  afterAll(() => {
    process.off('warning', noteWarning);
  });

  it('leave no sockets, timers, listeners or memory behind', { timeout: 120_000 }, async () => {
    let now = 1_000_000;
    const { port, connections, close } = await startServer();
    const subscriber = subscriberWith({ resolve: resolveTo('127.0.0.1'), now: () => now });
    const timersBefore = resources('Timeout');
    const kinds = new Set<string>();
    const callAll = async (from: number, to: number): Promise<void> => {
      let next = from;
      const caller = async (): Promise<void> => {
        while (next < to) {
          next += 1;
          kinds.add((await postTo(subscriber, `http://origin-${next}.example:${port}/`)).kind);
        }
      };
      await Promise.all(Array.from({ length: AT_ONCE }, caller));
    };

    await callAll(0, ORIGINS / 4);
    const heapEarly = heapAfterCollection();
    await callAll(ORIGINS / 4, ORIGINS);

    expect(kinds).toEqual(new Set(['answered', 'unanswered']));
    expect(connections).toMatchObject({ made: ORIGINS });
    expect(connections.mostOpen).toBeLessThanOrEqual(MAX_OPEN);
    await expect.poll(() => connections.open).toBeLessThanOrEqual(100);
    expect(resources('TCPSocketWrap')).toBeLessThanOrEqual(2 * MAX_OPEN);
    // Another request drops all connections that were idle for too long.
    now += 10_000;
    await callAll(ORIGINS + 1, ORIGINS + 2);
    await expect.poll(() => connections.open).toBeLessThanOrEqual(1);
    await expect.poll(() => resources('Timeout') - timersBefore).toBeLessThanOrEqual(2);
    expect(warnings).toEqual([]);
    // For 3,000 more origins. A leaked connection takes several KB.
    const perOrigin = (heapAfterCollection() - heapEarly) / (ORIGINS * 0.75);
    expect(perOrigin).toBeLessThan(256);
    await close();
  });
});

const results = z.record(z.string(), z.number());

/** The results of 200 concurrent requests in a process with 100 descriptors, each with its count. */
const crowd = async (hostOf: string): Promise<z.output<typeof results>> => {
  const receiver = await receiverOf();
  receiver.script('/', [{ delayMs: 500 }]);
  const dns = await startDnsServer(({ name, type }) =>
    type === 'A' ? [{ name, type, value: '127.0.0.1' }] : [],
  );
  onTestFinished(dns.close);
  const program = `
    const resolve = nameResolver({ servers: ['${dns.address}'] });
    const subscriber = httpSubscriber({ allowedAddresses: ['127.0.0.0/8'], resolve });
    const post = (index) => subscriber.post({ url: 'http://' + (${hostOf}) + ':${receiver.port}/', headers: {}, body: Buffer.from('') }, 10_000);
    const settled = await Promise.allSettled(Array.from({ length: 200 }, (_, index) => post(index)));
    const results = settled.map(({ value, reason }) => reason?.name ?? value.statusCode ?? value.detail);
    const counts = Object.entries(Object.groupBy(results, (one) => one)).map(([one, all]) => [one, all.length]);
    process.stdout.write(JSON.stringify(Object.fromEntries(counts)));`;
  return results.parse(JSON.parse(await printedBy(program, 100)));
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
    const subscriber = subscriberWith({ resolve: () => Promise.reject(errorOf('EMFILE')) });
    await expect(postTo(subscriber, 'http://hooks.example/')).rejects.toMatchObject({
      name: 'RequestNotSentError',
    });
  });
});

/** Listens and then blocks its event loop, so that nothing is accepted. */
const LISTENER = `
  const { parentPort, workerData } = require('node:worker_threads');
  const server = require('node:net').createServer().listen({ ...workerData, backlog: 1 }, () => {
    parentPort.postMessage(server.address().port);
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);
  });`;

const MAX_IN_BACKLOG = 64;
/** Milliseconds within which a connection on loopback is made, if at all. */
const SOON_MS = 200;

const BLACK_HOLE = '127.0.0.3';

/**
 * The port of an address at which connections are never accepted, as behind a firewall that drops packets: a server
 * with a full backlog, for which the system drops them.
 */
const blackHole = async (): Promise<number> => {
  const worker = new Worker(LISTENER, { eval: true, workerData: { host: BLACK_HOLE, port: 0 } });
  const filling: Socket[] = [];
  onTestFinished(async () => {
    for (const socket of filling) socket.destroy();
    await worker.terminate();
  });
  const [port] = z.tuple([z.number()]).parse(await once(worker, 'message'));
  let isFull = false;
  while (!isFull && filling.length < MAX_IN_BACKLOG) {
    const socket = connect({ host: BLACK_HOLE, port }).on('error', () => undefined);
    filling.push(socket);
    await Promise.race([once(socket, 'connect'), pause(SOON_MS)]);
    // The timer may have fired first in a loop that was held up; now the connection is known to the loop.
    await turn();
    isFull = socket.connecting;
  }
  return port;
};

/** Longer than the sender takes for a connection. */
const AMPLE_MS = 20_000;

describe('connecting to a subscriber', () => {
  const subscriberAt = (addresses: readonly string[]) => {
    const resolved = vi.fn(resolveTo(...addresses));
    const subscriber = subscriberWith({ resolve: resolved });
    const post = (port: number, timeoutMs = AMPLE_MS): Promise<Reply> =>
      postTo(subscriber, `http://hooks.example:${port}/`, timeoutMs);
    return { post, resolved };
  };

  it('ends at the deadline if no connection is accepted', async () => {
    const port = await blackHole();
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    const { post, resolved } = subscriberAt([BLACK_HOLE]);
    const posted = post(port, 400);
    await turnsUntil(() => resolved.mock.settledResults[0]?.type === 'fulfilled');
    await vi.advanceTimersByTimeAsync(400);
    expect(await posted).toEqual(unanswered('timeout', 'while the connection was made'));
  });

  it('tries the next address of a name after 1.5 s', async () => {
    const port = await blackHole();
    const receiver = await receiverOf({ host: '127.0.0.4', port });
    const startedAt = performance.now();
    expect(await subscriberAt([BLACK_HOLE, '127.0.0.4']).post(port)).toEqual(OK);
    expect(performance.now() - startedAt).toBeGreaterThan(1_400);
    expect(receiver.connections()).toBe(1);
  });

  it('tries at most eight addresses of a name', async () => {
    const { port } = await receiverOf({ host: '127.0.1.9' });
    const addresses = Array.from({ length: 9 }, (_, index) => `127.0.1.${index + 1}`);
    expect(await subscriberAt(addresses).post(port)).toEqual(unanswered('connection_refused', 'refused'));
    expect(await subscriberAt(addresses.slice(1)).post(port)).toEqual(OK);
  });

  it('is forbidden if the last of a thousand addresses is forbidden', async () => {
    const receiver = await receiverOf();
    const many = Array.from({ length: 1_000 }, () => '127.0.0.1');
    expect(await subscriberAt([...many, '10.0.0.1']).post(receiver.port)).toEqual({ kind: 'forbidden' });
    expect(receiver.connections()).toBe(0);
  });

  it('shares one deadline with the look-up and the response', async () => {
    const receiver = await receiverOf();
    receiver.script('/', [{ behaviour: 'hang' }]);
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    const { post, resolved } = subscriberAt(['127.0.0.1']);
    const lookUp = Promise.withResolvers<undefined>();
    resolved.mockImplementation(async () => {
      await lookUp.promise;
      return [{ address: '127.0.0.1', family: 4 }];
    });
    let reply: Reply | undefined;
    const posted = post(receiver.port, 500).then((given) => (reply = given));
    await vi.advanceTimersByTimeAsync(300);
    lookUp.resolve(undefined);
    await turnsUntil(() => receiver.received().length === 1);
    await vi.advanceTimersByTimeAsync(199);
    expect(reply).toBeUndefined();
    await vi.advanceTimersByTimeAsync(1);
    expect(await posted).toEqual(unanswered('timeout', 'before an answer'));
  });
});

const withoutAnswer: HttpSenderOptions['resolve'] = (_name, signal) => pause(60_000, [], { signal });

/** Ends the server's side; the client may not have read the FIN or RST that its system received. */
const endWith = async (how: 'destroy' | 'resetAndDestroy', socket: Socket | undefined): Promise<void> => {
  if (socket !== undefined) await once(socket[how](), 'close');
};

describe('connections to subscribers', () => {
  const connected = async (options?: Partial<HttpSenderOptions>) => {
    const receiver = await receiverOf();
    const subscriber = subscriberWith(options);
    return { receiver, post: (url = receiver.url()): Promise<Reply> => postTo(subscriber, url) };
  };

  it('are not reused after 2 s idle by the clock, even if no timer has run, or if the clock has gone back', async () => {
    let now = 1_000_000;
    const { receiver, post } = await connected({ now: () => now });
    for (const [passed, connections] of [
      [0, 1],
      [1_999, 1],
      [2_000, 2],
      [-1, 3],
    ] as const) {
      now += passed;
      await post();
      expect(receiver.connections()).toBe(connections);
    }
  });

  it('carry one request at a time, so that requests do not wait for one that hangs', async () => {
    const { receiver, post } = await connected();
    receiver.script('/hang', [{ behaviour: 'hang' }]);
    const hanging = post(receiver.url('/hang'));
    await receiver.waitFor('/hang', 1, DEADLINE_MS);
    const replies = await Promise.all(Array.from({ length: 20 }, () => post()));
    expect(replies).toEqual(replies.map(() => OK));
    await receiver.close();
    expect(await hanging).toMatchObject({ error: 'connection_reset' });
  });

  it.each(['stall', 'drip', 'endless', 'hang', 'slow_headers'] as const)(
    'are closed after a response that misbehaves (%s)',
    async (behaviour) => {
      const { receiver, post } = await connected();
      receiver.script('/', [{ behaviour }, {}]);
      vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
      const misbehaved = post();
      await turnsUntil(() => receiver.received().length === 1);
      await vi.advanceTimersByTimeAsync(DEADLINE_MS);
      await misbehaved;
      vi.useRealTimers();
      expect(await post()).toEqual(OK);
      expect(receiver.connections()).toBe(2);
      await turnsUntil(() => receiver.received()[0]?.connection.closedAt !== undefined);
    },
  );

  it('that were closed are dropped: the next request makes one look-up and fails once', async () => {
    const resolve = vi.fn(resolveTo('127.0.0.1'));
    const { receiver, post } = await connected({ resolve });
    receiver.script('/', [{ headers: { connection: 'close' } }]);
    const url = `http://once.example:${receiver.port}/`;
    expect(await post(url)).toEqual(OK);
    await receiver.close();
    expect(await post(url)).toMatchObject({ error: 'connection_refused' });
    expect(resolve).toHaveBeenCalledTimes(2);
  });

  it('that a server closes or resets while idle cause no failure', async () => {
    const server = await startRawServer((socket) => {
      socket.on('data', () => socket.write('HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n'));
    });
    const { connections, url } = server;
    const subscriber = subscriberWith();
    for (const how of ['destroy', 'resetAndDestroy'] as const) {
      expect(await postTo(subscriber, url)).toEqual(OK);
      await endWith(how, connections.at(-1));
    }
    expect(await postTo(subscriber, url)).toEqual(OK);
    expect(connections).toHaveLength(3);
  });

  it('respect a keep-alive shorter than the sender\'s, and "connection: close"', async () => {
    const { receiver, post } = await connected();
    receiver.script('/', [
      { headers: { 'keep-alive': 'timeout=1' } },
      { headers: { connection: 'close' } },
      {},
    ]);
    for (let count = 0; count < 3; count += 1) expect(await post()).toEqual(OK);
    expect(receiver.connections()).toBe(3);
  });

  it.each([
    ['until the deadline', 200, 200],
    ['for at most 5 s, even if the deadline is later', 15_000, 5_000],
  ])('are awaited %s if DNS does not answer', async (_, timeoutMs, endsAfterMs) => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    const subscriber = subscriberWith({ resolve: withoutAnswer });
    const replies: Reply[] = [];
    const posted = postTo(subscriber, 'http://mute.example/', timeoutMs).then((reply) => replies.push(reply));
    await vi.advanceTimersByTimeAsync(endsAfterMs - 1);
    expect(replies).toEqual([]);
    await vi.advanceTimersByTimeAsync(1);
    await posted;
    expect(replies).toEqual([unanswered('timeout', 'while the name was resolved')]);
    expect(vi.getTimerCount()).toBe(0);
  });

  it('do not keep the process running', async () => {
    const receiver = await receiverOf();
    const program = `
      const subscriber = httpSubscriber({ allowedAddresses: ['127.0.0.0/8'] });
      const reply = await subscriber.post({ url: '${receiver.url()}', headers: {}, body: Buffer.from('') }, 10_000);
      process.stdout.write(JSON.stringify(reply));
      setTimeout(() => process.stdout.write('kept alive'), 1_000).unref();`;
    const printed = await printedBy(program);
    expect(printed).toContain('"statusCode":200');
    expect(printed).not.toContain('kept alive');
  });

  it.each([
    ['refuses the name', () => Promise.reject(errorOf('ENOTFOUND')), 'ENOTFOUND'],
    ['has no address', resolveTo(), 'unknown'],
  ])('fail with dns_failed if DNS %s', async (_what, resolve, detail) => {
    const reply = await postTo(subscriberWith({ resolve }), 'http://nowhere.example/');
    expect(reply).toEqual(unanswered('dns_failed', detail));
  });

  it('go to a receiver on localhost only if loopback is allowed', async () => {
    const receiver = await receiverOf();
    const url = receiver.url().replace('127.0.0.1', 'localhost');
    expect(await postTo(subscriberWith(), url)).toEqual(OK);
    expect(await postTo(httpSubscriber({ allowedAddresses: [] }), url)).toEqual({ kind: 'forbidden' });
  });
});
