import { describe, expect, it } from 'vitest';

import {
  MAX_SUBSCRIBER_URL_LENGTH,
  parseSubscriberUrl,
} from '../../../shared/domain/subscription/subscriber-url.ts';

describe('parseSubscriberUrl', () => {
  it.each([
    'http://example.com',
    'https://example.com/hook?token=a%20b#part',
    'https://example.com:8443/a/b',
    'HTTPS://EXAMPLE.COM/',
    'https://münchen.example/',
    'http://127.0.0.1:3000/',
    'http://[::1]/',
  ])('accepts %s', (text) => {
    expect(parseSubscriberUrl(text)).toMatchObject({ kind: 'valid', url: new URL(text) });
  });

  it.each([
    ['', 'must be an absolute URL'],
    ['/hook', 'must be an absolute URL'],
    ['example.com/hook', 'must be an absolute URL'],
    ['http://', 'must be an absolute URL'],
    ['http://[::1', 'must be an absolute URL'],
    ['http://[fe80::1%25eth0]/', 'must be an absolute URL'],
    ['http://256.256.256.256/', 'must be an absolute URL'],
    ['http://example.com:99999/', 'must be an absolute URL'],
    ['http:example.com', 'must be an absolute URL'],
    ['http://example.com:0/', 'must not name port 0'],
    ['https://a..b/', 'must not have an empty label in its host name'],
    ['ftp://example.com/', 'must be an http or https URL'],
    ['mailto:user@example.com', 'must be an http or https URL'],
    ['file:///etc/passwd', 'must be an http or https URL'],
    ['javascript:alert(1)', 'must be an http or https URL'],
    ['https://user:secret@example.com/', 'must not contain a user name or password'],
    ['https://user@example.com/', 'must not contain a user name or password'],
    ['https://:secret@example.com/', 'must not contain a user name or password'],
    [' https://example.com/', 'must not contain blanks or control characters'],
    ['https://exam\nple.com/', 'must not contain blanks or control characters'],
    ['https://example.com/a b', 'must not contain blanks or control characters'],
    ['https://example.com/\u0000', 'must not contain blanks or control characters'],
    ['https://example.com/\ud800', 'must not contain blanks or control characters'],
  ])('refuses "%s": %s', (text, fault) => {
    expect(parseSubscriberUrl(text)).toEqual({ kind: 'invalid', fault });
  });

  it('accepts up to 2,048 characters', () => {
    const longest = 'https://example.com/'.padEnd(MAX_SUBSCRIBER_URL_LENGTH, 'a');
    expect(longest).toHaveLength(2048);
    expect(parseSubscriberUrl(longest).kind).toBe('valid');
    expect(parseSubscriberUrl(`${longest}a`)).toEqual({
      kind: 'invalid',
      fault: 'must not be longer than 2048 characters',
    });
  });
});
