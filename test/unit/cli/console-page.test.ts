import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { LoopbackServer } from '../../../cli/loopback/loopback-server.ts';
import { closeConsoles, consoleOf, jsonOf } from './console-under-test.ts';
import { requestLoopback } from './loopback-request.ts';

afterAll(closeConsoles);

let served: LoopbackServer;

beforeAll(async () => {
  served = await consoleOf({ kind: 'none', reason: 'none is needed' });
});

describe('the page of the console', () => {
  it('is served without a token to a user who types its address or follows a link', async () => {
    for (const site of ['none', 'cross-site']) {
      const { status, headers, body } = await requestLoopback(served.port, {
        headers: { 'sec-fetch-site': site },
      });
      expect({ status, body }).toEqual({ status: 200, body: '<!doctype html><title>Posthaste</title>' });
      expect(headers).toMatchObject({
        'content-type': 'text/html; charset=utf-8',
        'cache-control': 'no-cache',
      });
    }
  });

  it('has security headers that allow only files from and calls to the same server', async () => {
    const { headers } = await requestLoopback(served.port, {});
    const policy = String(headers['content-security-policy']).split('; ');
    expect(policy).toEqual([
      "default-src 'none'",
      "script-src 'self'",
      "style-src 'self'",
      "connect-src 'self'",
      "img-src 'self' data:",
      "base-uri 'none'",
      "form-action 'none'",
      "frame-ancestors 'none'",
      "require-trusted-types-for 'script'",
      "trusted-types 'none'",
    ]);
    expect(headers).toMatchObject({
      'x-content-type-options': 'nosniff',
      'referrer-policy': 'no-referrer',
      'cross-origin-opener-policy': 'same-origin',
      'cross-origin-resource-policy': 'same-origin',
    });
    expect(headers['access-control-allow-origin']).toBeUndefined();
  });

  it('lets browsers cache files with a hash in their names, and no others', async () => {
    const { status, headers } = await requestLoopback(served.port, { path: '/assets/index-AbCd1234.js' });
    expect(status).toBe(200);
    expect(headers).toMatchObject({
      'content-type': 'text/javascript; charset=utf-8',
      'cache-control': 'private, max-age=31536000, immutable',
    });
  });

  it.each([
    '/../package.json',
    '/..%2fpackage.json',
    '/index.html/',
    '/assets',
    '/favicon.ico',
    '//evil.example',
  ])('answers 404 for %s', async (path) => {
    expect((await requestLoopback(served.port, { path })).status).toBe(404);
  });

  it('is refused for a host name that was rebound to this machine, and for another port', async () => {
    for (const host of ['evil.example', `evil.example:${served.port}`, '127.0.0.1:1', '127.0.0.1']) {
      const refused = await requestLoopback(served.port, { headers: { host } });
      expect({ host, status: refused.status, said: jsonOf(refused) }).toMatchObject({
        host,
        status: 403,
        said: { error: { code: 'forbidden' } },
      });
      expect(refused.headers['content-security-policy']).toContain("default-src 'none'");
    }
    expect(
      (await requestLoopback(served.port, { headers: { host: `LOCALHOST:${served.port}` } })).status,
    ).toBe(200);
  });

  it('refuses methods other than GET and HEAD', async () => {
    const refused = await requestLoopback(served.port, { method: 'POST', body: '{}' });
    expect(refused).toMatchObject({ status: 405, headers: { allow: 'GET, HEAD' } });
  });
});
