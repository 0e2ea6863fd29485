import { once } from 'node:events';
import { createServer, type Socket } from 'node:net';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

import { afterAll, describe, expect, it } from 'vitest';
import * as z from 'zod';

import { httpSubscriber } from '../../../shared/adapters/http/subscriber.ts';

const ORIGINS = 4_000;
/** Concurrent deliveries of an invocation. */
const AT_ONCE = 10;
const DEADLINE_MS = 5_000;
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
    const subscriber = httpSubscriber({
      allowedAddresses: ['127.0.0.0/8'],
      resolve: () => Promise.resolve([{ address: '127.0.0.1', family: 4 }]),
      now: () => now,
    });
    const timersBefore = resources('Timeout');
    const kinds = new Set<string>();
    const callAll = async (from: number, to: number): Promise<void> => {
      let next = from;
      const caller = async (): Promise<void> => {
        while (next < to) {
          next += 1;
          const url = `http://origin-${next}.example:${port}/`;
          kinds.add((await subscriber.post({ url, headers: {}, body: Buffer.from('{}') }, DEADLINE_MS)).kind);
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
