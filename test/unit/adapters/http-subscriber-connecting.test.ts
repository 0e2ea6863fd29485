import { setTimeout as pause } from 'node:timers/promises';

import { afterEach, describe, expect, it } from 'vitest';

import { httpSubscriber } from '../../../shared/adapters/http/subscriber.ts';
import type { Reply } from '../../../shared/domain/delivery/outcome.ts';
import { startBlackHole } from '../../support/black-hole.ts';
import { type Receiver, type ReceiverOptions, startReceiver } from '../../support/receiver.ts';

const OK: Reply = { kind: 'answered', statusCode: 200 };
const BLACK_HOLE = '127.0.0.3';

describe('connecting to a subscriber', () => {
  const closing: (() => Promise<void>)[] = [];
  afterEach(() => Promise.all(closing.splice(0).map((close) => close())));

  const blackHole = async (): Promise<number> => {
    const hole = await startBlackHole(BLACK_HOLE);
    closing.push(hole.close);
    return hole.port;
  };
  const receiverAt = async (options: ReceiverOptions): Promise<Receiver> => {
    const receiver = await startReceiver(options);
    closing.push(receiver.close);
    return receiver;
  };

  /** To a name of these addresses, which is resolved after so long. */
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
    const reply = await subscriber.post({ url, headers: {}, body: '{}' }, timeoutMs);
    return { reply, tookMs: performance.now() - startedAt };
  };

  it('that takes no connection ends at the deadline', async () => {
    const { reply, tookMs } = await postTo([BLACK_HOLE], await blackHole(), { timeoutMs: 400 });
    expect(reply).toEqual({ kind: 'unanswered', error: 'timeout', detail: 'while the connection was made' });
    expect(tookMs).toBeGreaterThan(390);
    expect(tookMs).toBeLessThan(1_500);
  });

  it('gives an address 1.5 s before it goes on to the next of the name', async () => {
    const port = await blackHole();
    const receiver = await receiverAt({ host: '127.0.0.4', port });
    const { reply, tookMs } = await postTo([BLACK_HOLE, '127.0.0.4'], port);
    expect(reply).toEqual(OK);
    expect(tookMs).toBeGreaterThan(1_400);
    expect(tookMs).toBeLessThan(3_000);
    expect(receiver.connections()).toBe(1);
  });

  it('tries eight addresses of a name at most', async () => {
    const { port } = new URL((await receiverAt({ host: '127.0.1.9' })).url());
    const addresses = Array.from({ length: 9 }, (_, index) => `127.0.1.${index + 1}`);
    expect((await postTo(addresses, Number(port))).reply).toMatchObject({ error: 'connection_refused' });
    expect((await postTo(addresses.slice(1), Number(port))).reply).toEqual(OK);
  });

  it('refuses a name for the last of its thousand addresses', async () => {
    const receiver = await receiverAt({});
    const many = Array.from({ length: 1_000 }, () => '127.0.0.1');
    const port = Number(new URL(receiver.url()).port);
    expect((await postTo([...many, '10.0.0.1'], port)).reply).toEqual({ kind: 'forbidden' });
    expect(receiver.connections()).toBe(0);
  });

  it('has one deadline with all that comes before and after', async () => {
    const receiver = await receiverAt({});
    receiver.script('/', [{ delayMs: 400 }]);
    const port = Number(new URL(receiver.url()).port);
    const { reply, tookMs } = await postTo(['127.0.0.1'], port, { timeoutMs: 500, resolvingMs: 300 });
    expect(reply).toEqual({ kind: 'unanswered', error: 'timeout', detail: 'before an answer' });
    expect(tookMs).toBeGreaterThan(490);
    expect(tookMs).toBeLessThan(1_500);
  });
});
