import * as z from 'zod';
import { httpSubscriber } from '../../../shared/adapters/http/subscriber.ts';
import type { Reply } from '../../../shared/domain/retry/outcome.ts';
import { turnsUntil } from '../../support/eventually.ts';
import { type Receiver, type ReceiverOptions, startReceiver } from '../../support/receiver.ts';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { setImmediate as turn, setTimeout as pause } from 'node:timers/promises';
import { Worker } from 'node:worker_threads';
import { afterEach, describe, expect, it, onTestFinished, vi } from 'vitest';

/** An address at which connections are never accepted, as behind a firewall that drops packets. */
type BlackHole = { port: number; close: () => Promise<void> };

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

/** A server on loopback with a full backlog: the system drops further connections. */
const startBlackHole = async (host: string): Promise<BlackHole> => {
  const worker = new Worker(LISTENER, { eval: true, workerData: { host, port: 0 } });
  const [port] = z.tuple([z.number()]).parse(await once(worker, 'message'));
  const filling: Socket[] = [];
  let isFull = false;
  while (!isFull && filling.length < MAX_IN_BACKLOG) {
    const socket = connect({ host, port }).on('error', () => undefined);
    filling.push(socket);
    await Promise.race([once(socket, 'connect'), pause(SOON_MS)]);
    // The timer may have fired first in a loop that was held up; now the connection is known to the loop.
    await turn();
    isFull = socket.connecting;
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
/** Longer than the sender takes for a connection. */
const AMPLE_MS = 20_000;
const BLACK_HOLE = '127.0.0.3';

describe('connecting to a subscriber', () => {
  afterEach(() => {
    vi.useRealTimers();
  });
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

  const subscriberAt = (addresses: readonly string[]) => {
    const resolved = vi.fn(() =>
      Promise.resolve(addresses.map((address) => ({ address, family: 4 }) as const)),
    );
    const subscriber = httpSubscriber({ allowedAddresses: ['127.0.0.0/8'], resolve: resolved });
    const post = (port: number, timeoutMs: number): Promise<Reply> =>
      subscriber.post(
        { url: `http://hooks.example:${port}/`, headers: {}, body: Buffer.from('{}') },
        timeoutMs,
      );
    return { post, resolved };
  };
  const postTo = (addresses: readonly string[], port: number) => subscriberAt(addresses).post(port, AMPLE_MS);

  it('ends at the deadline if no connection is accepted', async () => {
    const port = await blackHole();
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    const { post, resolved } = subscriberAt([BLACK_HOLE]);
    const posted = post(port, 400);
    await turnsUntil(() => resolved.mock.settledResults[0]?.type === 'fulfilled');
    await vi.advanceTimersByTimeAsync(400);
    expect(await posted).toEqual({
      kind: 'unanswered',
      error: 'timeout',
      detail: 'while the connection was made',
    });
  });

  it('tries the next address of a name after 1.5 s', async () => {
    const port = await blackHole();
    const receiver = await receiverAt({ host: '127.0.0.4', port });
    const startedAt = performance.now();
    expect(await postTo([BLACK_HOLE, '127.0.0.4'], port)).toEqual(OK);
    expect(performance.now() - startedAt).toBeGreaterThan(1_400);
    expect(receiver.connections()).toBe(1);
  });

  it('tries at most eight addresses of a name', async () => {
    const { port } = new URL((await receiverAt({ host: '127.0.1.9' })).url());
    const addresses = Array.from({ length: 9 }, (_, index) => `127.0.1.${index + 1}`);
    expect(await postTo(addresses, Number(port))).toMatchObject({ error: 'connection_refused' });
    expect(await postTo(addresses.slice(1), Number(port))).toEqual(OK);
  });

  it('is forbidden if the last of a thousand addresses is forbidden', async () => {
    const receiver = await receiverAt({});
    const many = Array.from({ length: 1_000 }, () => '127.0.0.1');
    const port = Number(new URL(receiver.url()).port);
    expect(await postTo([...many, '10.0.0.1'], port)).toEqual({ kind: 'forbidden' });
    expect(receiver.connections()).toBe(0);
  });

  it('shares one deadline with the look-up and the response', async () => {
    const receiver = await receiverAt({});
    receiver.script('/', [{ behaviour: 'hang' }]);
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    const { post, resolved } = subscriberAt(['127.0.0.1']);
    const lookUp = Promise.withResolvers<undefined>();
    const answer = resolved.getMockImplementation();
    resolved.mockImplementation(async () => {
      await lookUp.promise;
      return (await answer?.()) ?? [];
    });
    let reply: Reply | undefined;
    const posted = post(Number(new URL(receiver.url()).port), 500).then((given) => (reply = given));
    await vi.advanceTimersByTimeAsync(300);
    lookUp.resolve(undefined);
    await turnsUntil(() => receiver.received().length === 1);
    await vi.advanceTimersByTimeAsync(199);
    expect(reply).toBeUndefined();
    await vi.advanceTimersByTimeAsync(1);
    expect(await posted).toEqual({ kind: 'unanswered', error: 'timeout', detail: 'before an answer' });
  });
});
