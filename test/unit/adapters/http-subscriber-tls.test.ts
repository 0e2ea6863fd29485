import { createServer } from 'node:net';
import type { Server } from 'node:net';
import { promisify } from 'node:util';

import { afterAll, afterEach, describe, expect, it } from 'vitest';

import { httpSubscriber } from '../../../shared/adapters/http-subscriber.ts';
import type { Reply } from '../../../shared/domain/outcome.ts';
import { certificateAuthority } from '../../support/certificates.ts';
import { startReceiver } from '../../support/receiver.ts';
import type { Receiver, ReceiverOptions } from '../../support/receiver.ts';

const DEADLINE_MS = 1_000;
const HOUR_MS = 3_600_000;
const trusted = certificateAuthority('Trusted test authority');
const unknown = certificateAuthority('Unknown test authority');
const names = ['hooks.example', '127.0.0.1'];

describe('subscribers over TLS', () => {
  let receiver: Receiver | undefined;
  const servers: Server[] = [];
  const subscriber = httpSubscriber({
    allowedAddresses: ['127.0.0.0/8'],
    trustedCertificates: [trusted.cert],
    resolve: () => Promise.resolve([{ address: '127.0.0.1', family: 4 }]),
  });

  const post = (host: string, port: string): Promise<Reply> =>
    subscriber.post({ url: `https://${host}:${port}/`, headers: {}, body: '{}' }, DEADLINE_MS);
  const postWith = async (tls: ReceiverOptions['tls'], host = 'hooks.example'): Promise<Reply> => {
    receiver = await startReceiver(tls === undefined ? {} : { tls });
    return post(host, new URL(receiver.url()).port);
  };

  afterEach(async () => {
    await receiver?.close();
    receiver = undefined;
  });
  afterAll(async () => {
    await Promise.all(servers.map((server) => new Promise((resolve) => server.close(resolve))));
  });

  it.each([
    ['hooks.example', 'hooks.example'],
    ['hooks.example.', 'hooks.example'],
    ['127.0.0.1', undefined],
  ])('are reached as %s, with the server name %s', async (host, servername) => {
    expect(await postWith(trusted.issue({ names }), host)).toEqual({ kind: 'answered', statusCode: 200 });
    expect(receiver?.received().map((request) => request.servername)).toEqual([servername]);
  });

  it('are reached over one connection again and again', async () => {
    await postWith(trusted.issue({ names }));
    await post('hooks.example', new URL(receiver?.url() ?? '').port);
    expect(receiver?.connections()).toBe(1);
  });

  it.each([
    ['expired', 'certificate expired', trusted.issue({ names, notAfter: new Date(Date.now() - HOUR_MS) })],
    [
      'not yet valid',
      'certificate not yet valid',
      trusted.issue({ names, notBefore: new Date(Date.now() + HOUR_MS) }),
    ],
    ['of an unknown issuer', 'certificate issuer unknown', unknown.issue({ names })],
    ['for another name', 'certificate is for another name', trusted.issue({ names: ['other.example'] })],
  ])('fail with a certificate %s, and no request is made', async (_what, detail, tls) => {
    expect(await postWith(tls)).toEqual({ kind: 'unanswered', error: 'tls_failed', detail });
    expect(receiver?.received()).toEqual([]);
  });

  it('fail below TLS 1.2', async () => {
    const reply = await postWith({ ...trusted.issue({ names }), maxVersion: 'TLSv1.1' });
    expect(reply).toMatchObject({ kind: 'unanswered', error: 'tls_failed' });
    expect(receiver?.received()).toEqual([]);
  });

  it('work with TLS 1.2', async () => {
    expect(await postWith({ ...trusted.issue({ names }), maxVersion: 'TLSv1.2' })).toMatchObject({
      statusCode: 200,
    });
  });

  it('fail where plain HTTP is spoken', async () => {
    expect(await postWith(undefined)).toMatchObject({ kind: 'unanswered', error: 'tls_failed' });
  });

  it.each([
    ['says nothing', () => undefined, 'timeout', 'during the TLS handshake'],
    [
      'hangs up',
      (end: () => void) => {
        end();
      },
      'connection_reset',
      'reset during the TLS handshake',
    ],
  ] as const)('fail where the handshake %s', async (_what, behave, error, detail) => {
    const server = createServer((socket) => {
      socket.on('error', () => undefined);
      socket.once('data', () => {
        behave(() => socket.destroy());
      });
    });
    servers.push(server);
    const port = await new Promise<string>((resolve) => {
      server.listen(0, '127.0.0.1', () => {
        const address = server.address();
        resolve(String(typeof address === 'object' ? address?.port : ''));
      });
    });
    expect(await post('hooks.example', port)).toEqual({ kind: 'unanswered', error, detail });
    await expect.poll(() => promisify(server.getConnections.bind(server))()).toBe(0);
  });
});
