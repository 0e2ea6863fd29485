import {
  closed,
  drip,
  flood,
  say,
  timedOut,
  type Act,
  type Expected,
  type Kind,
  onSecureConnection,
  onSecureRequest,
} from './kind.ts';

const OK = 'HTTP/1.1 200 OK\r\n';
const MB = 1024 * 1024;
const answer = say(`${OK}content-length: 2\r\n\r\nok`);

const refused = (detail: string) => ({ outcome: 'failed', error: 'tls_failed', detail }) as const;
const noToken = (detail: string) => ({ outcome: 'failed', error: 'auth_failed', detail }) as const;
const tooLong = noToken('invalid_response: too long or broken off');

/** Fatal: bad_certificate (RFC 8446 §6). */
const ALERT = Buffer.of(0x15, 3, 3, 0, 2, 2, 42);

const tokenEndpoint = (what: string, expected: Expected, act: Act): Kind =>
  onSecureRequest('good', `token endpoint: ${what}`, expected, act, { auth: 'token' });

/** Receivers that ask for a client certificate, and token endpoints of subscribers. */
export const authentication = {
  certificate_required: onSecureRequest(
    'client_required',
    'mTLS: a certificate is required, and the subscription has none',
    refused('client certificate required'),
    answer,
  ),
  certificate_of_stranger: onSecureRequest(
    'client_required',
    'mTLS: closes, because it does not know the authority of the certificate',
    closed,
    answer,
    { auth: 'certificate' },
  ),
  certificate_refused: onSecureConnection(
    'mTLS: an alert about the certificate',
    refused('client certificate refused (bad certificate)'),
    (socket) => {
      socket.once('data', () => socket.end(ALERT));
    },
    { auth: 'certificate' },
  ),
  certificate_hang: onSecureRequest(
    'client_wanted',
    'mTLS: takes the certificate and the request, and never responds',
    timedOut,
    () => undefined,
    { auth: 'certificate' },
  ),
  token_mute_tls: onSecureConnection(
    'token endpoint: accepts, and writes nothing',
    noToken('timeout: during the TLS handshake'),
    (socket) => socket.resume(),
    { auth: 'token' },
  ),
  token_hang: tokenEndpoint(
    'reads, and never responds',
    noToken('timeout: before an answer'),
    () => undefined,
  ),
  token_drip: tokenEndpoint('200, then one byte a second', tooLong, drip(`${OK}\r\n`, '{', 1_000)),
  token_endless: tokenEndpoint(
    '200, then a body without end, in chunks of one byte',
    tooLong,
    flood(`${OK}transfer-encoding: chunked\r\n\r\n`, '1\r\n \r\n'.repeat(5_000)),
  ),
  token_large: tokenEndpoint(
    '200 with a body of 50 MB',
    tooLong,
    flood(`${OK}content-length: ${50 * MB}\r\n\r\n`, Buffer.alloc(MB, ' '), 50),
  ),
  token_headers: tokenEndpoint(
    'headers without end',
    noToken('invalid_response: no end before an answer'),
    flood(OK, 'x-more: and more\r\n'.repeat(1_000)),
  ),
  token_redirect: tokenEndpoint(
    'redirects to a private address',
    noToken('status 307'),
    say('HTTP/1.1 307 Here\r\nlocation: https://169.254.169.254/\r\ncontent-length: 0\r\n\r\n'),
  ),
  token_html: tokenEndpoint(
    '200 with HTML',
    noToken('invalid token response'),
    say(`${OK}content-type: text/html\r\ncontent-length: 13\r\n\r\n<p>Log in</p>`),
  ),
} as const satisfies Record<string, Kind>;
