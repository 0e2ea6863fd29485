import { describe, expect, it } from 'vitest';
import { apiUnderTest, CALLER, faultOf, NOON } from './api-under-test.ts';

const HOOK = 'https://hooks.example';
const EXPORT = '/v2/queues/orders/export';
const CREDENTIALS = '/v2/credentials/orders';
const IMPORT = '/v2/queues/orders/import';
const SUBSCRIPTIONS = '/v2/queues/orders/subscriptions';

const parsedLines = (body: unknown): unknown[] =>
  String(body)
    .trim()
    .split('\n')
    .map((line): unknown => JSON.parse(line));

const RICH = {
  subscriber: `${HOOK}/rich?token=t`,
  name: 'Rich & famous',
  ttl: 60,
  options: {
    _retry_policy: { minimum_delay: 2 },
    post_headers: { authorization: 'Bearer s3cret', accept: 'text/plain' },
    post_data: 'ü "$zaqar_message$"',
  },
};

describe('GET /v2/queues/{queue}/export', () => {
  it('contains a line for each present subscription, and no credentials', async () => {
    const { call, registry, time } = apiUnderTest();
    for (const path of ['a', 'b', 'c']) await call('POST', SUBSCRIPTIONS, { subscriber: `${HOOK}/${path}` });
    await call('POST', SUBSCRIPTIONS, RICH);
    await call('POST', SUBSCRIPTIONS, { subscriber: `${HOOK}/expired`, ttl: 1 });
    await registry.disable('orders', 'id-2', { reason: 'gone', at: NOON });
    await call('DELETE', `${SUBSCRIPTIONS}/id-3`);
    time.now += 1000;
    const answer = await call('GET', EXPORT);
    expect(answer.headers.get('content-type')).toBe('application/jsonl');
    expect(answer.headers.get('link')).toBeNull();
    const post_headers = { ...RICH.options.post_headers, authorization: '***' };
    expect(parsedLines(answer.body)).toEqual([
      { subscriber: `${HOOK}/a`, options: {} },
      {
        subscriber: `${HOOK}/b`,
        options: {},
        disabled: { reason: 'gone', at: '2026-11-21T12:00:00.000Z' },
      },
      { ...RICH, options: { ...RICH.options, post_headers } },
    ]);
    expect(answer.body).not.toContain('s3cret');
  });

  it('is not on the audit trail', async () => {
    const { call, changes } = apiUnderTest();
    await call('PUT', '/v2/queues/orders', {});
    await call('GET', EXPORT);
    expect(changes.map(({ change }) => change)).toEqual(['queue_created']);
  });
});

describe('POST /v2/credentials/{queue}', () => {
  it('contains the values of credential headers, and is on the audit trail', async () => {
    const { call, changes } = apiUnderTest();
    await call('POST', SUBSCRIPTIONS, RICH);
    await call('POST', SUBSCRIPTIONS, { subscriber: `${HOOK}/b` });
    const answer = await call('POST', CREDENTIALS);
    expect(answer.headers.get('content-type')).toBe('application/jsonl');
    expect(parsedLines(answer.body)).toEqual([RICH, { subscriber: `${HOOK}/b`, options: {} }]);
    expect(changes.at(-1)).toEqual({
      ...CALLER,
      change: 'credentials_exported',
      queue: 'orders',
      subscriptions: 2,
    });
  });

  it('does not support GET', async () => {
    const { call } = apiUnderTest();
    await call('POST', SUBSCRIPTIONS, RICH);
    expect(await call('GET', CREDENTIALS)).toMatchObject({ status: 405 });
  });

  it('continues by its link, each page small enough for one import', async () => {
    const { call } = apiUnderTest();
    for (let index = 0; index < 25; index += 1) {
      const post_data = 'x'.repeat(65_000);
      await call('POST', SUBSCRIPTIONS, { subscriber: `${HOOK}/${index}`, options: { post_data } });
    }
    const parts: string[] = [];
    for (let path: string | undefined = CREDENTIALS; path !== undefined;) {
      const { body, headers } = await call('POST', path);
      parts.push(String(body));
      path = /^<([^>]+)>; rel="next"$/.exec(headers.get('link') ?? '')?.[1];
    }
    expect(parts.map((part) => part.trim().split('\n').length)).toEqual([10, 15]);
    const other = apiUnderTest();
    for (const part of parts) expect(await other.call('POST', IMPORT, part)).toMatchObject({ status: 200 });
    expect(new Set(parts.join('').trim().split('\n')).size).toBe(25);
  });
});

describe.each([
  ['GET', EXPORT],
  ['POST', CREDENTIALS],
])('%s %s', (method, path) => {
  it('is empty for a queue without subscriptions, and 404 for an unknown queue', async () => {
    const { call, changes } = apiUnderTest();
    expect(await call(method, path)).toMatchObject({ status: 404, body: faultOf('not_found') });
    expect(changes).toEqual([]);
    await call('PUT', '/v2/queues/orders', {});
    expect(await call(method, path)).toMatchObject({ status: 200, body: undefined });
  });

  it.each([
    ['withCredentials=true', 'withCredentials'],
    ['withCredentials=false', 'withCredentials'],
    ['marker=tampered', 'marker'],
  ])('refuses %s', async (query, field) => {
    const { call } = apiUnderTest();
    await call('POST', SUBSCRIPTIONS, RICH);
    const answer = await call(method, `${path}?${query}`);
    expect(answer).toMatchObject({ status: 400, body: faultOf('invalid_request', field) });
  });
});
