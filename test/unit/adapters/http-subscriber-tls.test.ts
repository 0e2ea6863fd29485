import { generateKeyPairSync } from 'node:crypto';
import { createServer } from 'node:https';
import tls from 'node:tls';
import { afterEach, describe, expect, it, vi } from 'vitest';

import { httpSubscriber } from '../../../shared/adapters/http/subscriber.ts';
import type { Reply } from '../../../shared/domain/retry/outcome.ts';
import { certificateAuthority } from '../../support/certificates.ts';
import { closeServer, listen } from '../../support/listening.ts';
import { type Receiver, type ReceiverOptions, startReceiver } from '../../support/receiver.ts';
import { type RawServer, startRawServer } from './raw-server.ts';

const DEADLINE_MS = 10_000;
const trusted = certificateAuthority('Trusted test authority');
const unknown = certificateAuthority('Unknown test authority');
const names = ['hooks.example', '127.0.0.1'];

/** Fatal, handshake_failure (RFC 5246 §7.2). */
const ALERT = Buffer.of(0x15, 3, 3, 0, 2, 2, 40);

/** Other failures are among the kinds of test/hostile. */
describe('subscribers over TLS', () => {
  let receiver: Receiver | undefined;
  let server: RawServer | undefined;
  const subscriber = httpSubscriber({
    allowedAddresses: ['127.0.0.0/8'],
    trustedCertificates: [trusted.cert],
    resolve: () => Promise.resolve([{ address: '127.0.0.1', family: 4 }]),
  });

  const post = (host: string, port: string): Promise<Reply> =>
    subscriber.post({ url: `https://${host}:${port}/`, headers: {}, body: Buffer.from('{}') }, DEADLINE_MS);
  const postWith = async (
    secure: NonNullable<ReceiverOptions['tls']>,
    host = 'hooks.example',
  ): Promise<Reply> => {
    receiver = await startReceiver({ tls: secure });
    return post(host, new URL(receiver.url()).port);
  };

  afterEach(async () => {
    vi.unstubAllEnvs();
    vi.restoreAllMocks();
    await receiver?.close();
    await server?.close();
    receiver = server = undefined;
  });

  it.each([
    ['hooks.example', 'hooks.example'],
    ['hooks.example.', 'hooks.example'],
    ['127.0.0.1', undefined],
  ])('are reached as %s, with the server name %s', async (host, servername) => {
    expect(await postWith(trusted.issue({ names }), host)).toEqual({ kind: 'answered', statusCode: 200 });
    expect(receiver?.received().map((request) => request.servername)).toEqual([servername]);
  });

  it('reuse one connection for several requests', async () => {
    await postWith(trusted.issue({ names }));
    await post('hooks.example', new URL(receiver?.url() ?? '').port);
    expect(receiver?.connections()).toBe(1);
  });

  it('fail with an unknown issuer even if the environment turns verification off', async () => {
    vi.stubEnv('NODE_TLS_REJECT_UNAUTHORIZED', '0');
    // Node emits a warning.
    vi.spyOn(process, 'emitWarning').mockReturnValue();
    expect(await postWith(unknown.issue({ names }))).toMatchObject({ error: 'tls_failed' });
    expect(receiver?.received()).toEqual([]);
  });

  it('work with TLS 1.2', async () => {
    expect(await postWith({ ...trusted.issue({ names }), maxVersion: 'TLSv1.2' })).toMatchObject({
      statusCode: 200,
    });
  });

  it('cannot name a group for the key exchange (DHE): at 10,000 bits each handshake computes for a second', async () => {
    const { publicKey, privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
    const key = privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();
    const { cert } = trusted.certify({ names, publicKey });
    const ciphers = 'DHE-RSA-AES128-GCM-SHA256';
    const reply = await postWith({ key, cert, ciphers, dhparam: 'auto', maxVersion: 'TLSv1.2' });
    expect(reply).toMatchObject({ error: 'tls_failed' });
    expect(receiver?.received()).toEqual([]);
  });

  it('fail at once if they negotiate without end, which raises no event', async () => {
    const { CLIENT_RENEG_LIMIT } = tls;
    // Node's own server would take the client for the attacker.
    Object.assign(tls, { CLIENT_RENEG_LIMIT: Infinity });
    const flooding = createServer({ ...trusted.issue({ names }), maxVersion: 'TLSv1.2' });
    flooding.on('secureConnection', (socket) => {
      const again = (): void => void socket.renegotiate({}, again);
      again();
    });
    try {
      const reply = await post('hooks.example', String(await listen(flooding, '127.0.0.1')));
      expect(reply).toEqual({ kind: 'unanswered', error: 'tls_failed', detail: 'no end of TLS messages' });
    } finally {
      Object.assign(tls, { CLIENT_RENEG_LIMIT });
      await closeServer(flooding);
    }
  });

  it('fail if the handshake is refused by an alert', async () => {
    server = await startRawServer((socket) => {
      socket.once('data', () => socket.write(ALERT));
    });
    expect(await post('hooks.example', String(server.port))).toEqual({
      kind: 'unanswered',
      error: 'tls_failed',
      detail: 'ERR_SSL_SSL/TLS_ALERT_HANDSHAKE_FAILURE',
    });
    await expect.poll(server.open).toBe(0);
  });
});
