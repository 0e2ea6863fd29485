import { closed, drip, flood, say, timedOut, type Kind } from './kind.ts';

const OK = 'HTTP/1.1 200 OK\r\n';
const MB = 1024 * 1024;
const answer = say(`${OK}content-length: 2\r\n\r\nok`);

const refused = (detail: string) => ({ outcome: 'failed', error: 'tls_failed', detail }) as const;
const noToken = (detail: string) => ({ outcome: 'failed', error: 'auth_failed', detail }) as const;
const tooLong = noToken('invalid_response: too long or broken off');

/** Fatal: bad_certificate (RFC 8446 §6). */
const ALERT = Buffer.of(0x15, 3, 3, 0, 2, 2, 42);

/** Receivers that ask for a client certificate, and token endpoints of subscribers. */
export const authentication = {
  certificate_required: {
    what: 'mTLS: a certificate is required, and the subscription has none',
    expected: refused('client certificate required'),
    when: 'requested',
    certificate: 'client_required',
    act: answer,
  },
  certificate_of_stranger: {
    what: 'mTLS: closes, because it does not know the authority of the certificate',
    expected: closed,
    auth: 'certificate',
    when: 'requested',
    certificate: 'client_required',
    act: answer,
  },
  certificate_refused: {
    what: 'mTLS: an alert about the certificate',
    expected: refused('client certificate refused (bad certificate)'),
    auth: 'certificate',
    when: 'connected',
    isSecure: true,
    act: (socket) => {
      socket.once('data', () => socket.end(ALERT));
    },
  },
  certificate_hang: {
    what: 'mTLS: takes the certificate and the request, and never responds',
    expected: timedOut,
    auth: 'certificate',
    when: 'requested',
    certificate: 'client_wanted',
    act: () => undefined,
  },
  token_mute_tls: {
    what: 'token endpoint: accepts, and writes nothing',
    expected: noToken('timeout: during the TLS handshake'),
    auth: 'token',
    when: 'connected',
    isSecure: true,
    act: (socket) => socket.resume(),
  },
  token_hang: {
    what: 'token endpoint: reads, and never responds',
    expected: noToken('timeout: before an answer'),
    auth: 'token',
    when: 'requested',
    certificate: 'good',
    act: () => undefined,
  },
  token_drip: {
    what: 'token endpoint: 200, then one byte a second',
    expected: tooLong,
    auth: 'token',
    when: 'requested',
    certificate: 'good',
    act: drip(`${OK}\r\n`, '{', 1_000),
  },
  token_endless: {
    what: 'token endpoint: 200, then a body without end, in chunks of one byte',
    expected: tooLong,
    auth: 'token',
    when: 'requested',
    certificate: 'good',
    act: flood(`${OK}transfer-encoding: chunked\r\n\r\n`, '1\r\n \r\n'.repeat(5_000)),
  },
  token_large: {
    what: 'token endpoint: 200 with a body of 50 MB',
    expected: tooLong,
    auth: 'token',
    when: 'requested',
    certificate: 'good',
    act: flood(`${OK}content-length: ${50 * MB}\r\n\r\n`, Buffer.alloc(MB, ' '), 50),
  },
  token_headers: {
    what: 'token endpoint: headers without end',
    expected: noToken('invalid_response: no end before an answer'),
    auth: 'token',
    when: 'requested',
    certificate: 'good',
    act: flood(OK, 'x-more: and more\r\n'.repeat(1_000)),
  },
  token_redirect: {
    what: 'token endpoint: redirects to a private address',
    expected: noToken('status 307'),
    auth: 'token',
    when: 'requested',
    certificate: 'good',
    act: say('HTTP/1.1 307 Here\r\nlocation: https://169.254.169.254/\r\ncontent-length: 0\r\n\r\n'),
  },
  token_html: {
    what: 'token endpoint: 200 with HTML',
    expected: noToken('invalid token response'),
    auth: 'token',
    when: 'requested',
    certificate: 'good',
    act: say(`${OK}content-type: text/html\r\ncontent-length: 13\r\n\r\n<p>Log in</p>`),
  },
} as const satisfies Record<string, Kind>;
