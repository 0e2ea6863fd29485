import * as z from 'zod';
import { httpSubscriber } from '../../../shared/adapters/http/subscriber.ts';
import type { Reply } from '../../../shared/domain/delivery/outcome.ts';
import { type Receiver, type ReceiverOptions, startReceiver } from '../../support/receiver.ts';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import { Worker } from 'node:worker_threads';
import { describe, expect, it, onTestFinished } from 'vitest';

/** An address at which connections are never accepted, as behind a firewall that drops packets. */
type BlackHole = { port: number; close: () => Promise<void> };

/** Listens and then blocks its event loop, so that nothing is accepted. */
const LISTENER = `
  const { parentPort, workerData } = require('node:worker_threads');
  const server = require('node:net').createServer().listen({ ...workerData, backlog: 1 }, () => {
    parentPort.postMessage(server.address().port);
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);
  });`;

const MOST_IN_BACKLOG = 64;
/** Milliseconds within which a connection on loopback is made, if at all. */
const SOON_MS = 200;

/** A server on loopback with a full backlog: the system drops further connections. */
const startBlackHole = async (host: string): Promise<BlackHole> => {
  const worker = new Worker(LISTENER, { eval: true, workerData: { host, port: 0 } });
  const [port] = z.tuple([z.number()]).parse(await once(worker, 'message'));
  const filling: Socket[] = [];
  let isFull = false;
  while (!isFull && filling.length < MOST_IN_BACKLOG) {
    const socket = connect({ host, port }).on('error', () => undefined);
    filling.push(socket);
    isFull = (await Promise.race([once(socket, 'connect'), pause(SOON_MS)])) === undefined;
  }
  return {
    port,
    close: async () => {
      for (const socket of filling) socket.destroy();
      await worker.terminate();
    },
  };
};

const OK: Reply = { kind: 'answered', statusCode: 200 };
const BLACK_HOLE = '127.0.0.3';

describe('connecting to a subscriber', () => {
  const blackHole = async (): Promise<number> => {
    const hole = await startBlackHole(BLACK_HOLE);
    onTestFinished(hole.close);
    return hole.port;
  };
  const receiverAt = async (options: ReceiverOptions): Promise<Receiver> => {
    const receiver = await startReceiver(options);
    onTestFinished(receiver.close);
    return receiver;
  };

  /** Posts to a name with these addresses, which is resolved after `resolvingMs`. */
  const postTo = async (
    addresses: readonly string[],
    port: number,
    { timeoutMs = 4_000, resolvingMs = 0 } = {},
  ): Promise<{ reply: Reply; tookMs: number }> => {
    const subscriber = httpSubscriber({
      allowedAddresses: ['127.0.0.0/8'],
      resolve: async () => {
        await pause(resolvingMs);
        return addresses.map((address) => ({ address, family: 4 }));
      },
    });
    const startedAt = performance.now();
    const url = `http://hooks.example:${port}/`;
    const reply = await subscriber.post({ url, headers: {}, body: Buffer.from('{}') }, timeoutMs);
    return { reply, tookMs: performance.now() - startedAt };
  };

  it('ends at the deadline if no connection is accepted', async () => {
    const { reply, tookMs } = await postTo([BLACK_HOLE], await blackHole(), { timeoutMs: 400 });
    expect(reply).toEqual({ kind: 'unanswered', error: 'timeout', detail: 'while the connection was made' });
    expect(tookMs).toBeGreaterThan(390);
    expect(tookMs).toBeLessThan(1_500);
  });

  it('tries the next address of a name after 1.5 s', async () => {
    const port = await blackHole();
    const receiver = await receiverAt({ host: '127.0.0.4', port });
    const { reply, tookMs } = await postTo([BLACK_HOLE, '127.0.0.4'], port);
    expect(reply).toEqual(OK);
    expect(tookMs).toBeGreaterThan(1_400);
    expect(tookMs).toBeLessThan(3_000);
    expect(receiver.connections()).toBe(1);
  });

  it('tries at most eight addresses of a name', async () => {
    const { port } = new URL((await receiverAt({ host: '127.0.1.9' })).url());
    const addresses = Array.from({ length: 9 }, (_, index) => `127.0.1.${index + 1}`);
    expect((await postTo(addresses, Number(port))).reply).toMatchObject({ error: 'connection_refused' });
    expect((await postTo(addresses.slice(1), Number(port))).reply).toEqual(OK);
  });

  it('is forbidden if the last of a thousand addresses is forbidden', async () => {
    const receiver = await receiverAt({});
    const many = Array.from({ length: 1_000 }, () => '127.0.0.1');
    const port = Number(new URL(receiver.url()).port);
    expect((await postTo([...many, '10.0.0.1'], port)).reply).toEqual({ kind: 'forbidden' });
    expect(receiver.connections()).toBe(0);
  });

  it('shares one deadline with the look-up and the response', async () => {
    const receiver = await receiverAt({});
    receiver.script('/', [{ delayMs: 400 }]);
    const port = Number(new URL(receiver.url()).port);
    const { reply, tookMs } = await postTo(['127.0.0.1'], port, { timeoutMs: 500, resolvingMs: 300 });
    expect(reply).toEqual({ kind: 'unanswered', error: 'timeout', detail: 'before an answer' });
    expect(tookMs).toBeGreaterThan(490);
    expect(tookMs).toBeLessThan(1_500);
  });
});
