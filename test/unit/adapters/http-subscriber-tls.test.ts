import { generateKeyPairSync } from 'node:crypto';
import { createServer } from 'node:https';
import tls from 'node:tls';
import { afterAll, afterEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import { httpSubscriber } from '../../../shared/adapters/http/subscriber.ts';
import { oauthAccessTokens } from '../../../shared/adapters/oauth/access-tokens.ts';
import type { Reply } from '../../../shared/domain/retry/outcome.ts';
import type { ClientTls, TokenResult } from '../../../shared/ports/subscriber.ts';
import { certificateAuthority } from '../../support/certificates.ts';
import { closeServer, listen } from '../../support/listening.ts';
import { type Answer, type Receiver, type ReceiverOptions, startReceiver } from '../../support/receiver.ts';
import { OK, type RawServer, startRawServer, unanswered } from './raw-server.ts';
import { clientCertificates } from '../../../shared/adapters/http/connection.ts';

const DEADLINE_MS = 10_000;
const trusted = certificateAuthority('Trusted test authority');
const unknown = certificateAuthority('Unknown test authority');
const names = ['hooks.example', '127.0.0.1'];

/** Shared, because trusting an authority takes 30 ms. */
const subscriber = httpSubscriber({
  allowedAddresses: ['127.0.0.0/8'],
  trustedCertificates: [trusted.cert],
  resolve: () => Promise.resolve([{ address: '127.0.0.1', family: 4 }]),
});
const postTo = (url: string, clientTls?: ClientTls): Promise<Reply> =>
  subscriber.post(
    { url, headers: {}, body: Buffer.from('{}') },
    DEADLINE_MS,
    clientTls === undefined ? {} : { tls: clientTls },
  );

/** Answers by a fatal alert (RFC 8446 §6), and does not close the connection. */
const serverThatAlerts = (alert: number): Promise<RawServer> =>
  startRawServer((socket) => {
    socket.once('data', () => socket.write(Buffer.of(0x15, 3, 3, 0, 2, 2, alert)));
  });

afterEach(() => {
  vi.unstubAllEnvs();
  vi.restoreAllMocks();
});

/** Other failures are among the kinds of test/hostile. */
describe('subscribers over TLS', () => {
  const post = (host: string, port: number | string): Promise<Reply> => postTo(`https://${host}:${port}/`);
  const postWith = async (secure: NonNullable<ReceiverOptions['tls']>, host = 'hooks.example') => {
    const receiver = await startReceiver({ tls: secure });
    onTestFinished(receiver.close);
    const again = (): Promise<Reply> => post(host, new URL(receiver.url()).port);
    return { reply: await again(), receiver, again };
  };

  it.each([
    ['hooks.example', 'hooks.example'],
    ['hooks.example.', 'hooks.example'],
    ['127.0.0.1', undefined],
  ])('are reached as %s, with the server name %s', async (host, servername) => {
    const { reply, receiver } = await postWith(trusted.issue({ names }), host);
    expect(reply).toEqual(OK);
    expect(receiver.received().map((request) => request.servername)).toEqual([servername]);
  });

  it('reuse one connection for several requests', async () => {
    const { receiver, again } = await postWith(trusted.issue({ names }));
    await again();
    expect(receiver.connections()).toBe(1);
  });

  it('fail with an unknown issuer even if the environment turns verification off', async () => {
    vi.stubEnv('NODE_TLS_REJECT_UNAUTHORIZED', '0');
    // Node emits a warning.
    vi.spyOn(process, 'emitWarning').mockReturnValue();
    const { reply, receiver } = await postWith(unknown.issue({ names }));
    expect(reply).toMatchObject({ error: 'tls_failed' });
    expect(receiver.received()).toEqual([]);
  });

  it('work with TLS 1.2', async () => {
    const { reply } = await postWith({ ...trusted.issue({ names }), maxVersion: 'TLSv1.2' });
    expect(reply).toEqual(OK);
  });

  it('cannot name a group for the key exchange (DHE): at 10,000 bits each handshake computes for a second', async () => {
    const { publicKey, privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
    const key = privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();
    const { cert } = trusted.certify({ names, publicKey });
    const ciphers = 'DHE-RSA-AES128-GCM-SHA256';
    const dhe = { key, cert, ciphers, dhparam: 'auto', maxVersion: 'TLSv1.2' } as const;
    const { reply, receiver } = await postWith(dhe);
    expect(reply).toMatchObject({ error: 'tls_failed' });
    expect(receiver.received()).toEqual([]);
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
      const reply = await post('hooks.example', await listen(flooding, '127.0.0.1'));
      expect(reply).toEqual(unanswered('tls_failed', 'no end of TLS messages'));
    } finally {
      Object.assign(tls, { CLIENT_RENEG_LIMIT });
      await closeServer(flooding);
    }
  });

  it('fail if the handshake is refused by an alert', async () => {
    // Handshake failure.
    const server = await serverThatAlerts(40);
    expect(await post('hooks.example', server.port)).toEqual(
      unanswered('tls_failed', 'ERR_SSL_SSL/TLS_ALERT_HANDSHAKE_FAILURE'),
    );
    await expect.poll(server.open).toBe(0);
  });
});

/** Of a receiver, for itself and its senders. */
const privateOne = certificateAuthority('Private');

const clientOf = ({ issue }: typeof privateOne, name: string) => {
  const { cert, key } = issue({ names: [name] });
  return { identity: { certificate: cert, privateKey: key } };
};
const [one, other] = [clientOf(privateOne, 'one'), clientOf(privateOne, 'other')];
const publicServer = trusted.issue({ names: ['127.0.0.1'] });
const privateServer = privateOne.issue({ names: ['127.0.0.1'] });

describe('subscribers that ask for a client certificate', () => {
  const receiverWith = async (tls: { cert: string; key: string }, isRequired: boolean): Promise<Receiver> => {
    const receiver = await startReceiver({
      tls: { ...tls, ca: privateOne.cert, requestCert: true, rejectUnauthorized: isRequired },
    });
    onTestFinished(receiver.close);
    return receiver;
  };

  it('get the certificate of the subscription', async () => {
    const receiver = await receiverWith(publicServer, true);
    expect(await postTo(receiver.url(), one)).toEqual(OK);
    expect(receiver.received()).toMatchObject([{ client: 'one' }]);
  });

  it('never get a request on a connection with the certificate of another subscription', async () => {
    const receiver = await receiverWith(publicServer, false);
    for (const tls of [one, one, other, undefined, one, other]) await postTo(receiver.url(), tls);
    const clients = receiver.received().map(({ client }) => client);
    expect(clients).toEqual(['one', 'one', 'other', undefined, 'one', 'other']);
    expect(receiver.connections()).toBe(3);
  });

  it.each([
    [42, 'bad certificate'],
    [43, 'unsupported certificate'],
    [44, 'certificate revoked'],
    [45, 'certificate expired'],
    [46, 'certificate unknown'],
    [48, 'unknown ca'],
    [49, 'access denied'],
  ])('fail with the reason if they refuse it by alert %i', async (alert, reason) => {
    const refusing = await serverThatAlerts(alert);
    expect(await postTo(`https://127.0.0.1:${refusing.port}/`, one)).toEqual(
      unanswered('tls_failed', `client certificate refused (${reason})`),
    );
  });

  it.each<[string, Partial<typeof one.identity>]>([
    ['a certificate that is not PEM', { certificate: 'certificate' }],
    ['a key that is not PEM', { privateKey: 'key' }],
    ['the key of another certificate', { privateKey: other.identity.privateKey }],
    ['a key that is not complete', { privateKey: one.identity.privateKey.slice(0, 100) }],
  ])('fail with %s, and no connection is made', async (_what, overrides) => {
    const receiver = await receiverWith(publicServer, true);
    expect(await postTo(receiver.url(), { identity: { ...one.identity, ...overrides } })).toEqual(
      unanswered('tls_failed', 'client certificate or key unusable'),
    );
    expect(receiver.connections()).toBe(0);
  });

  it('may have a private authority, which no other subscription trusts', async () => {
    const receiver = await receiverWith(privateServer, false);
    const unknownIssuer = { error: 'tls_failed', detail: 'certificate issuer unknown' };
    for (const tls of [one, {}])
      expect(await postTo(receiver.url(), { ...tls, ca: privateOne.cert })).toEqual(OK);
    expect(await postTo(receiver.url(), one)).toMatchObject(unknownIssuer);
    expect(await postTo(receiver.url())).toMatchObject(unknownIssuer);
    expect(receiver.received().map(({ client }) => client)).toEqual(['one', undefined]);
  });

  it('are not trusted for a public authority if the subscription names a private one', async () => {
    const receiver = await receiverWith(publicServer, false);
    for (const ca of [privateOne.cert, 'not PEM'])
      expect(await postTo(receiver.url(), { ...one, ca })).toMatchObject({
        detail: 'certificate issuer unknown',
      });
    expect(receiver.received()).toEqual([]);
  });
});

describe('client certificates', () => {
  it.each([
    [200, 'without', []],
    [50, 'with', [trusted.cert]],
  ])('are parsed once, unless %i others have been used since, %s added authorities', (most, _, added) => {
    const identityFor = clientCertificates(added);
    const withCa = (ca: string) => identityFor({ ...one, ca });
    const first = identityFor(one);
    for (let count = 1; count < most; count += 1) withCa(`authority ${count}`);
    expect(identityFor({ ...one })).toBe(first);
    for (let count = 0; count < most; count += 1) withCa(`new authority ${count}`);
    expect(identityFor(one)).not.toBe(first);
  });
});

const trustedTls = trusted.issue({ names });
const SECRET = 'client-secret-to-be-kept';
/** Milliseconds of an attempt, of which the exchange may take half: for endpoints that end, and for others. */
const AMPLE_MS = 20_000;

const json = (body: unknown, status = 200): Answer => ({
  status,
  headers: { 'content-type': 'application/json' },
  body: typeof body === 'string' ? body : JSON.stringify(body),
});
const aToken = (overrides: object): Answer =>
  json({ access_token: 'token', token_type: 'Bearer', expires_in: 3600, ...overrides });

/** Concurrent, because some of the tests wait for a deadline. */
describe.concurrent('a token endpoint', () => {
  type Endpoint = { tls: typeof trustedTls; fetch: typeof subscriber.fetch; ca: string };
  const endpoints: Receiver[] = [];
  afterAll(() => Promise.all(endpoints.map(({ close }) => close())));

  const tokenFrom = async (
    answer: Answer,
    { tls = trustedTls, fetch = subscriber.fetch, ca }: Partial<Endpoint> = {},
  ): Promise<{ result: TokenResult; endpoint: Receiver }> => {
    const endpoint = await startReceiver({ tls });
    endpoints.push(endpoint);
    endpoint.script('/token', [answer]);
    const tokens = oauthAccessTokens({ fetch, clock: { now: Date.now }, userAgent: 'Posthaste' });
    const auth = {
      token_url: endpoint.url('/token'),
      client_id: 'posthaste',
      client_secret: SECRET,
      ...(ca !== undefined && { ca }),
    };
    const result = await tokens.tokenFor(
      { queue: 'orders', subscriptionId: 'subscription-1' },
      { type: 'oauth2_client_credentials', ...auth },
      { timeoutMs: AMPLE_MS },
    );
    return { result, endpoint };
  };

  it('gets one request, without compression', async () => {
    const { result, endpoint } = await tokenFrom(aToken({}));
    expect(result).toEqual({ kind: 'token', token: 'token' });
    expect(endpoint.received()).toMatchObject([
      { method: 'POST', headers: { 'accept-encoding': 'identity' } },
    ]);
  });

  it.each<[string, Answer]>([
    ['with unknown fields', aToken({ scope: 'webhooks', refresh_token: 'never used', more: [1] })],
    ['as text/plain', { ...aToken({}), headers: { 'content-type': 'text/plain' } }],
    ['with an ID token', aToken({ id_token: 'e30.e30.e30' })],
    ['with other fields that are empty', aToken({ refresh_token: null, scope: null })],
  ])('may answer with a token %s', async (_what, answer) => {
    expect(await tokenFrom(answer)).toMatchObject({ result: { kind: 'token' } });
  });

  const tooLong = 'invalid_response: too long or broken off';
  const invalid = 'invalid token response';
  const forbidden = 'token contains forbidden characters';
  const refused = 'invalid_client';
  const basic = { 'content-type': 'application/json', 'www-authenticate': `Basic realm="${SECRET}"` };
  it.each<[string, Answer, string]>([
    ['answers more than 64 KB', aToken({ more: 'x'.repeat(64 * 1024) }), tooLong],
    ['sends 17 KB of headers', { ...aToken({}), headers: { 'x-more': 'x'.repeat(17_000) } }, tooLong],
    ['answers HTML as JSON', json('<!doctype html><title>Please log in</title>'), invalid],
    ['answers a list', json([{ access_token: 'token' }]), invalid],
    ['answers lists in lists', json('['.repeat(60_000)), invalid],
    ['gives no token', aToken({ access_token: undefined }), invalid],
    ['gives a token of more than 8 KB', aToken({ access_token: 'x'.repeat(8_193) }), 'token too long'],
    ['gives a token with a line end', aToken({ access_token: 'a\r\nx: y' }), forbidden],
    ['gives a token beyond ASCII', aToken({ access_token: 'tökén' }), forbidden],
    ['gives a token of type MAC', aToken({ token_type: 'mac' }), 'token type not Bearer'],
    ['gives expires_in 0', aToken({ expires_in: 0 }), 'token has already expired'],
    ['gives expires_in -1', aToken({ expires_in: -1 }), invalid],
    ['refuses the client', json({ error: refused, error_description: SECRET }, 401), refused],
    ['repeats the secret as its error', json({ error: SECRET }, 400), 'status 400'],
    ['repeats the secret in HTML', { status: 500, body: `<p>${SECRET}` }, 'status 500'],
    ['challenges the client', { ...json({ error: refused }, 401), headers: basic }, refused],
  ])('that %s gives no token', async (_what, answer, detail) => {
    const { result } = await tokenFrom(answer);
    expect(result).toEqual({ kind: 'failed', detail });
  });

  it('may have a private authority, if the subscription names it, and no other then', async () => {
    const tls = unknown.issue({ names });
    const { result } = await tokenFrom(aToken({}), { tls, ca: unknown.cert });
    expect(result).toMatchObject({ kind: 'token' });
    expect(await tokenFrom(aToken({}), { ca: unknown.cert })).toMatchObject({
      result: { detail: 'tls_failed: certificate issuer unknown' },
    });
  });

  it('at a private address gets no connection', async () => {
    const { result, endpoint } = await tokenFrom(aToken({}), {
      fetch: httpSubscriber({ allowedAddresses: [] }).fetch,
    });
    expect(result).toEqual({ kind: 'failed', detail: 'address_forbidden' });
    expect(endpoint.connections()).toBe(0);
  });
});
