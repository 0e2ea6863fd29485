import { afterAll, describe, expect, it } from 'vitest';
import { httpSubscriber } from '../../../shared/adapters/http/subscriber.ts';
import { oauthAccessTokens } from '../../../shared/adapters/oauth/access-tokens.ts';
import type { TokenResult } from '../../../shared/ports/subscriber.ts';
import { certificateAuthority } from '../../support/certificates.ts';
import { type Answer, type Receiver, startReceiver } from '../../support/receiver.ts';

const authority = certificateAuthority('Trusted test authority');
const unknown = certificateAuthority('Unknown test authority');
const names = ['127.0.0.1'];
const trustedTls = authority.issue({ names });
/** Shared, because trusting an authority takes 30 ms. */
const { fetch: onLoopback } = httpSubscriber({
  allowedAddresses: ['127.0.0.0/8'],
  trustedCertificates: [authority.cert],
});
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
const HTML = '<!doctype html><title>Please log in</title>';

type Endpoint = {
  tls: typeof trustedTls;
  fetch: typeof onLoopback;
  timeoutMs: number;
  ca: string;
};

/** Concurrent, because some of the tests wait for a deadline. */
describe.concurrent('a token endpoint', () => {
  const endpoints: Receiver[] = [];
  afterAll(() => Promise.all(endpoints.map(({ close }) => close())));

  const tokenFrom = async (
    answer: Answer,
    { tls = trustedTls, fetch = onLoopback, timeoutMs = AMPLE_MS, ca }: Partial<Endpoint> = {},
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
      { timeoutMs },
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
    ['without expires_in', aToken({ expires_in: undefined })],
    ['with expires_in of 10^12', aToken({ expires_in: 1e12 })],
    ['with expires_in as text', aToken({ expires_in: '3600' })],
    ['with an ID token', aToken({ id_token: 'e30.e30.e30' })],
    ['with other fields that are empty', aToken({ refresh_token: null, scope: null })],
  ])('may answer with a token %s', async (_what, answer) => {
    expect(await tokenFrom(answer)).toMatchObject({ result: { kind: 'token' } });
  });

  const tooLong = 'invalid_response: too long or broken off';
  it.each<[string, Answer, string]>([
    ['answers more than 64 KB', aToken({ more: 'x'.repeat(64 * 1024) }), tooLong],
    [
      'sends headers of more than 16 KB',
      { ...aToken({}), headers: { 'x-more': 'x'.repeat(17_000) } },
      tooLong,
    ],
    ['answers HTML as JSON', json(HTML), 'invalid token response'],
    ['answers a list', json([{ access_token: 'token' }]), 'invalid token response'],
    ['answers lists in lists', json('['.repeat(60_000)), 'invalid token response'],
    ['gives no token', aToken({ access_token: undefined }), 'invalid token response'],
    ['gives a token of more than 8 KB', aToken({ access_token: 'x'.repeat(8_193) }), 'token too long'],
    [
      'gives a token with a line end',
      aToken({ access_token: 'a\r\nx: y' }),
      'token contains forbidden characters',
    ],
    ['gives a token beyond ASCII', aToken({ access_token: 'tökén' }), 'token contains forbidden characters'],
    ['gives a token of type MAC', aToken({ token_type: 'mac' }), 'token type not Bearer'],
    ['gives expires_in 0', aToken({ expires_in: 0 }), 'token has already expired'],
    ['gives expires_in -1', aToken({ expires_in: -1 }), 'invalid token response'],
    [
      'refuses the client',
      json({ error: 'invalid_client', error_description: SECRET }, 401),
      'invalid_client',
    ],
    ['repeats the secret as its error', json({ error: SECRET }, 400), 'status 400'],
    ['repeats the secret in HTML', { status: 500, body: `<p>${SECRET}` }, 'status 500'],
    [
      'challenges the client',
      {
        ...json({ error: 'invalid_client' }, 401),
        headers: { 'content-type': 'application/json', 'www-authenticate': `Basic realm="${SECRET}"` },
      },
      'invalid_client',
    ],
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
