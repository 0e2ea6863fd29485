import { execFileSync } from 'node:child_process';
import { describe, expect, it } from 'vitest';
import { curlCommand, knownRequest } from '../../../console/src/pages/delivery/known-request.ts';

/** The arguments that curl gets when bash runs the command, as bytes read as UTF-8. */
const argumentsOf = (command: string): string[] => {
  const printing = `curl() { printf '%s\\0' "$@"; }\n${command}\n`;
  return execFileSync('bash', ['--norc', '-c', printing], { env: { LC_ALL: 'C' } })
    .toString()
    .split('\0')
    .slice(0, -1);
};

const NOTHING_SPECIAL = { url: 'https://example.com/hook', headers: [], body: '{}' } as const;

describe('the curl command of a request', () => {
  it('is one POST with the headers and the body', () => {
    const command = curlCommand({ ...NOTHING_SPECIAL, headers: [['x-team', 'billing']], body: '{"a": 1}' });
    expect(argumentsOf(command)).toEqual([
      ...['--globoff', '--path-as-is', '--request', 'POST', '--url', 'https://example.com/hook'],
      ...['--header', 'x-team: billing', '--data-raw', '{"a": 1}'],
    ]);
  });

  it.each([
    `'; touch /tmp/hit; '`,
    '$(touch /tmp/hit) `touch /tmp/hit` ${HOME} $HOME',
    `it's "quoted" \\' \\\\ !! !rm`,
    'first\nsecond\r\n\tthird; exit',
    `'\n!rm '$(exit 1)\\`,
    '\u001b[2J\u0003\u007f\u009b31m',
    'user\u202efdp.exe\u2028end 🙂',
    '@/etc/passwd',
    '--output /tmp/hit',
    '',
  ])('passes hostile text on as it is: %j', (text) => {
    const command = curlCommand({
      url: `https://example.com/${text}`,
      headers: [['x-note', `a${text}`]],
      body: text,
    });
    expect(argumentsOf(command)).toEqual([
      ...['--globoff', '--path-as-is', '--request', 'POST', '--url', `https://example.com/${text}`],
      ...['--header', `x-note: a${text}`, '--data-raw', text],
    ]);
  });

  it('contains no character that a terminal acts on', () => {
    const command = curlCommand({ ...NOTHING_SPECIAL, body: '\u001b]0;title\u0007\r\u202e\u0085\t' });
    expect(command).toMatch(/^[\x20-\x7e\n]*$/);
  });

  it('sends a header without a value, which curl would remove', () => {
    const command = curlCommand({ ...NOTHING_SPECIAL, headers: [['x-empty', '']] });
    expect(argumentsOf(command)).toContain('x-empty;');
  });
});

const requestWith = (options: Parameters<typeof knownRequest>[0]['options'], body?: string) =>
  knownRequest({ subscriber: 'https://example.com/hook', options }, 'm1', body);

describe('the known request of a delivery', () => {
  it('has the headers of the subscription and the message id, and nothing that a secret signs', () => {
    const { headers, redacted } = requestWith({ post_headers: { 'X-Team': 'a', Authorization: '***' } });
    expect(headers).toEqual([
      ['content-type', 'application/json'],
      ['x-team', 'a'],
      ['authorization', '***'],
      ['accept-encoding', 'identity'],
      ['webhook-id', 'm1'],
    ]);
    expect(redacted).toEqual(['authorization']);
  });

  it('names the files of a client certificate and its authorities, which the subscriber wants', () => {
    const auth = { type: 'mtls', certificate: 'a', private_key: '***' };
    expect(requestWith({ auth }).fileOptions).toEqual(['--cert', '--key']);
    expect(requestWith({ auth: { ...auth, ca: 'b' } }).fileOptions).toEqual(['--cert', '--key', '--cacert']);
    expect(requestWith({}).fileOptions).toEqual([]);
  });

  it('has one content type, that of the subscription', () => {
    const { headers } = requestWith({ post_headers: { 'Content-Type': 'text/plain' } });
    expect(headers.filter(([name]) => name === 'content-type')).toEqual([['content-type', 'text/plain']]);
  });

  it('has the body that the API shows, or none', () => {
    expect(requestWith({}, '{"n":1}').body).toBe('{"n":1}');
    expect(requestWith({}).body).toBeUndefined();
  });
});
