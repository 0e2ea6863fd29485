import { describe, expect } from 'vitest';
import * as z from 'zod';
import type { ApiDependencies } from '../../../functions/api/dependencies.ts';
import { secretText } from '../../../shared/domain/subscription/signing-secret.ts';
import { MAX_SUBSCRIPTIONS_PER_TRANSACTION, QueueMissingError } from '../../../shared/ports/subscriptions.ts';
import { apiUnderTest, CALLER, faultOf, invalid, it, NOON, refusal, SUBSCRIPTIONS } from './api-test.ts';

const HOOK = 'https://hooks.example';
const EXPORT = '/v2/queues/orders/export';
const CREDENTIALS = '/v2/credentials/orders';
const IMPORT = '/v2/queues/orders/import';

const lines = (...subscriptions: unknown[]): string =>
  subscriptions.map((one) => `${JSON.stringify(one)}\n`).join('');

const parsedLines = (body: unknown): unknown[] =>
  String(body)
    .trim()
    .split('\n')
    .map((line): unknown => JSON.parse(line));

const answerOf = (
  counts: Partial<Record<'imported' | 'replaced' | 'unchanged', number>>,
  ...failed: unknown[]
) => ({
  status: 200,
  body: { imported: 0, replaced: 0, unchanged: 0, ...counts, failed },
});

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
  it('contains a line for each present subscription, and no credentials', async ({ api }) => {
    const { call, registry, time } = api;
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

  it('is not on the audit trail', async ({ call, changes }) => {
    await call('PUT', '/v2/queues/orders', {});
    await call('GET', EXPORT);
    expect(changes.map(({ change }) => change)).toEqual(['queue_created']);
  });
});

describe('POST /v2/credentials/{queue}', () => {
  it('contains the values of credential headers, and is on the audit trail', async ({ call, changes }) => {
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

  it('does not support GET', async ({ call }) => {
    await call('POST', SUBSCRIPTIONS, RICH);
    expect(await call('GET', CREDENTIALS)).toMatchObject({ status: 405 });
  });

  it('continues by its link, each page small enough for one import', async ({ call }) => {
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
  it('is empty for a queue without subscriptions, and 404 for an unknown queue', async ({ api }) => {
    const { call, changes } = api;
    expect(await call(method, path)).toMatchObject(refusal('not_found'));
    expect(changes).toEqual([]);
    await call('PUT', '/v2/queues/orders', {});
    expect(await call(method, path)).toMatchObject({ status: 200, body: undefined });
  });

  it.for([
    ['withCredentials=true', 'withCredentials'],
    ['withCredentials=false', 'withCredentials'],
    ['marker=tampered', 'marker'],
  ] as const)('refuses %s', async ([query, field], { call }) => {
    await call('POST', SUBSCRIPTIONS, RICH);
    const answer = await call(method, `${path}?${query}`);
    expect(answer).toMatchObject(invalid(field));
  });
});

describe('POST /v2/queues/{queue}/import', () => {
  it('restores an export, and changes nothing the second time', async () => {
    const from = apiUnderTest();
    await from.call('POST', SUBSCRIPTIONS, RICH);
    await from.call('POST', SUBSCRIPTIONS, { subscriber: `${HOOK}/b` });
    await from.call('POST', `${SUBSCRIPTIONS}/id-2/disable`);
    const { body } = await from.call('POST', CREDENTIALS);
    const { call, world } = apiUnderTest();
    expect(await call('POST', IMPORT, body)).toMatchObject(answerOf({ imported: 2 }));
    expect((await call('POST', CREDENTIALS)).body).toBe(body);
    const after = await world();
    expect(await call('POST', IMPORT, body)).toMatchObject(answerOf({ unchanged: 2 }));
    expect(await world()).toEqual(after);
  });

  it('accepts a redacted export over the original subscriptions', async ({ call, world }) => {
    await call('POST', SUBSCRIPTIONS, RICH);
    const { body } = await call('GET', EXPORT);
    const before = await world();
    expect(await call('POST', IMPORT, body)).toMatchObject(answerOf({ unchanged: 1 }));
    expect(await world()).toEqual(before);
    const elsewhere = apiUnderTest();
    expect((await elsewhere.call('POST', IMPORT, body)).body).toMatchObject({
      imported: 0,
      failed: [{ line: 1, ...faultOf('invalid_request', 'options.post_headers.authorization') }],
    });
  });

  it('treats equal content as unchanged, in any order and spelling', async ({ call }) => {
    await call('POST', SUBSCRIPTIONS, {
      subscriber: `${HOOK}/a`,
      options: { raw_delivery: true, post_data: 'x' },
    });
    const same = {
      options: { post_data: 'x', raw_delivery: true },
      subscriber: 'HTTPS://HOOKS.example:443/a',
    };
    expect(await call('POST', IMPORT, lines(same))).toMatchObject(answerOf({ unchanged: 1 }));
  });

  it('refuses an existing subscriber with other content without replace=true', async ({ api }) => {
    const { call, registry } = api;
    await call('POST', SUBSCRIPTIONS, { subscriber: `${HOOK}/a`, ttl: 60, options: { raw_delivery: true } });
    const before = await registry.findSubscription('orders', 'id-1');
    const other = lines({ subscriber: `${HOOK}/a`, options: { post_data: 'x' } });
    expect((await call('POST', IMPORT, other)).body).toMatchObject({
      failed: [{ line: 1, ...faultOf('conflict', 'subscriber') }],
    });
    expect(await registry.findSubscription('orders', 'id-1')).toEqual(before);
    expect(await call('POST', `${IMPORT}?replace=true`, other)).toMatchObject(answerOf({ replaced: 1 }));
    expect((await call('GET', `${SUBSCRIPTIONS}/id-1`)).body).toMatchObject({
      ttl: null,
      options: { post_data: 'x' },
    });
    expect((await registry.findSubscription('orders', 'id-1'))?.secrets).toEqual(before?.secrets);
    expect(await call('POST', `${IMPORT}?replace=true`, other)).toMatchObject(answerOf({ unchanged: 1 }));
  });

  it('treats another name, or none, as other content', async ({ api }) => {
    const { call } = api;
    await call('POST', SUBSCRIPTIONS, { subscriber: `${HOOK}/a`, name: 'Billing' });
    for (const name of ['Shipping', undefined]) {
      const line = lines({ subscriber: `${HOOK}/a`, ...(name !== undefined && { name }) });
      expect((await call('POST', IMPORT, line)).body).toMatchObject({
        failed: [{ line: 1, ...faultOf('conflict', 'subscriber') }],
      });
      expect(await call('POST', `${IMPORT}?replace=true`, line)).toMatchObject(answerOf({ replaced: 1 }));
      const { body } = await call('GET', `${SUBSCRIPTIONS}/id-1`);
      expect((body as { name?: string }).name).toBe(name);
    }
  });

  it('treats lines with the same subscriber like consecutive imports', async () => {
    const same = [
      { subscriber: `${HOOK}/a` },
      { subscriber: 'HTTPS://HOOKS.example:443/a' },
      { subscriber: `${HOOK}/b` },
      { subscriber: `${HOOK}/a`, ttl: 60 },
      { subscriber: `${HOOK}/a`, ttl: 120 },
    ];
    const { call } = apiUnderTest();
    expect((await call('POST', `${IMPORT}?replace=true`, lines(...same))).body).toMatchObject({
      subscriptions: [
        { line: 1, result: 'imported', subscription_id: 'id-1' },
        { line: 2, result: 'unchanged', subscription_id: 'id-1' },
        { line: 3, result: 'imported', subscription_id: 'id-2' },
        { line: 4, result: 'replaced', subscription_id: 'id-1' },
        { line: 5, result: 'replaced', subscription_id: 'id-1' },
      ],
      failed: [],
    });
    expect((await call('GET', `${SUBSCRIPTIONS}/id-1`)).body).toMatchObject({ ttl: 120 });
    const without = apiUnderTest();
    expect((await without.call('POST', IMPORT, lines(...same))).body).toMatchObject({
      imported: 2,
      unchanged: 1,
      failed: [
        { line: 4, ...faultOf('conflict', 'subscriber') },
        { line: 5, ...faultOf('conflict', 'subscriber') },
      ],
    });
  });

  it('enables subscriptions of lines without `disabled`, and disables the others', async ({ call }) => {
    const disabled = { reason: 'gone', at: '2026-01-01T00:00:00.000Z' };
    await call('POST', IMPORT, lines({ subscriber: `${HOOK}/a`, disabled }));
    expect((await call('GET', `${SUBSCRIPTIONS}/id-1`)).body).toMatchObject({ disabled });
    await call('POST', `${IMPORT}?replace=true`, lines({ subscriber: `${HOOK}/a` }));
    expect((await call('GET', `${SUBSCRIPTIONS}/id-1`)).body).not.toHaveProperty('disabled');
  });

  it('keeps the failures and the back-pressure of a subscription that stays enabled', async ({ api }) => {
    const { call, registry } = api;
    await call('POST', SUBSCRIPTIONS, { subscriber: `${HOOK}/a` });
    const failing = { since: 1, failures: 3 };
    const pressure = { state: 'held', since: 1, at: 1 } as const;
    const key = { queue: 'orders', subscriptionId: 'id-1', now: NOON };
    await registry.changeSubscription(key, (current) => ({ ...current, failing, pressure }));
    const other = lines({ subscriber: `${HOOK}/a`, options: { raw_delivery: true } });
    expect(await call('POST', `${IMPORT}?replace=true`, other)).toMatchObject(answerOf({ replaced: 1 }));
    expect(await registry.findSubscription('orders', 'id-1')).toMatchObject({
      options: { raw_delivery: true },
      failing,
      pressure,
    });
  });

  it('names each invalid line, and imports the others', async ({ call }) => {
    const body = [
      '{"subscriber": "https://hooks.example/1"}',
      'not json',
      '',
      '{"subscriber": "ftp://hooks.example/"}\r',
      '{"subscriber": "https://hooks.example/2", "secret": "x"}',
      '{"subscriber": "https://hooks.example/3", "options": {"_retry_policy": {"minimum_delay": 0}}}',
      '{"subscriber": "https://hooks.example/4", "disabled": {"reason": "tired", "at": "yesterday"}}',
      '[]',
      '{"subscriber": "https://hooks.example/5"}',
    ].join('\n');
    expect((await call('POST', IMPORT, body)).body).toMatchObject({
      imported: 2,
      replaced: 0,
      unchanged: 0,
      subscriptions: [{ line: 1 }, { line: 9 }],
      failed: [
        { line: 2, ...faultOf('invalid_json') },
        { line: 4, ...faultOf('invalid_request', 'subscriber') },
        { line: 5, ...faultOf('invalid_request', 'secret') },
        { line: 6, ...faultOf('invalid_retry_policy', 'options._retry_policy.minimum_delay') },
        { line: 7, ...faultOf('invalid_request', 'disabled.reason', 'disabled.at') },
        { line: 8, ...faultOf('invalid_request', 'body') },
      ],
    });
    const { body: list } = await call('GET', SUBSCRIPTIONS);
    expect(list).toMatchObject({ subscriptions: [{ subscriber: `${HOOK}/1` }, { subscriber: `${HOOK}/5` }] });
  });

  it.for([
    ['over 1 MiB', ' '.repeat(1_048_577), 413, 'too_large'],
    ['over 500 lines', '{}\n'.repeat(501), 413, 'too_large'],
    ['not UTF-8', new Uint8Array([0x22, 0xff, 0x22]), 400, 'invalid_json'],
  ] as const)(
    'refuses a body that is %s, and imports nothing',
    async ([_name, body, status, code], { call, world }) => {
      expect(await call('POST', IMPORT, body)).toMatchObject({ status, body: faultOf(code) });
      expect(await world()).toMatchObject({ queues: [], changes: [] });
    },
  );

  it('refuses an invalid value of replace', async ({ call }) => {
    expect(await call('POST', `${IMPORT}?replace=yes`, '')).toMatchObject(invalid('replace'));
  });

  it('is on the audit trail with every subscription that it adds or changes', async ({ call, changes }) => {
    await call('POST', IMPORT, lines({ subscriber: `${HOOK}/a` }));
    await call(
      'POST',
      `${IMPORT}?replace=true`,
      lines({ subscriber: `${HOOK}/a`, ttl: 5 }, { subscriber: 'x' }),
    );
    expect(changes.map(({ change }) => change)).toEqual(['subscription_imported', 'subscription_changed']);
  });
});

const aSecret: unknown = expect.stringMatching(/^whsec_/);

const answerSchema = z.object({
  imported: z.number(),
  subscriptions: z.array(z.object({ line: z.number(), secret: z.string().optional() })),
  failed: z.array(z.object({ line: z.number() })),
});

const hook = (name: string | number): string => `https://hooks.example/${name}`;

const numbered = (count: number): string =>
  lines(...Array.from({ length: count }, (_, index) => ({ subscriber: hook(index + 1) })));

/** The API on a registry some of whose methods are replaced. */
const withRegistry = (
  replace: (registry: ApiDependencies['registry']) => Partial<ApiDependencies['registry']>,
) => {
  const { registry } = apiUnderTest();
  return apiUnderTest({ registry: { ...registry, ...replace(registry) } });
};

describe('the response to an import', () => {
  it('names each subscription by its line, and shows the secret of a new one once', async ({ api }) => {
    const { call, registry, secrets } = api;
    await call('POST', SUBSCRIPTIONS, { subscriber: hook('there') });
    await call('POST', SUBSCRIPTIONS, { subscriber: hook('changed') });
    const body = [
      { subscriber: hook('new') },
      { subscriber: hook('there') },
      { subscriber: hook('changed'), ttl: 60 },
    ];
    const answer = await call('POST', `${IMPORT}?replace=true`, `\n${lines(...body)}`);
    expect(answer).toMatchObject({
      status: 200,
      body: {
        subscriptions: [
          { line: 2, result: 'imported', subscription_id: 'id-3', secret: aSecret },
          { line: 3, result: 'unchanged', subscription_id: 'id-1' },
          { line: 4, result: 'replaced', subscription_id: 'id-2' },
        ],
        failed: [],
      },
    });
    const [imported, ...others] = answerSchema.parse(answer.body).subscriptions;
    expect(others.filter(({ secret }) => secret !== undefined)).toEqual([]);
    const [sealed] = (await registry.findSubscription('orders', 'id-3'))?.secrets ?? [];
    const opened = await secrets.open({ queue: 'orders', subscriptionId: 'id-3' }, sealed?.sealed ?? '');
    expect(secretText(opened)).toBe(imported?.secret);

    expect((await call('POST', IMPORT, lines(...body))).body).toEqual({
      imported: 0,
      replaced: 0,
      unchanged: 3,
      subscriptions: [
        { line: 1, result: 'unchanged', subscription_id: 'id-3' },
        { line: 2, result: 'unchanged', subscription_id: 'id-1' },
        { line: 3, result: 'unchanged', subscription_id: 'id-2' },
      ],
      failed: [],
    });
  });

  it('shows whether each subscriber is asked to confirm, if the queue requires that', async ({ api }) => {
    const { call, jobs } = api;
    await call('PUT', '/v2/queues/orders', { _confirm_subscriptions: true });
    const asked = { secret: aSecret, confirmation: 'asked' };
    expect((await call('POST', IMPORT, numbered(2))).body).toMatchObject({
      subscriptions: [
        { line: 1, ...asked },
        { line: 2, ...asked },
      ],
    });
    expect(jobs.map(({ key }) => key.subscriptionId)).toEqual(['id-1', 'id-2']);
  });

  it('refuses only the line whose subscriber another request has added', async () => {
    const { call } = withRegistry(() => ({
      findByDestinations: (_queue, destinations) => Promise.resolve(destinations.map(() => undefined)),
    }));
    await call('POST', SUBSCRIPTIONS, { subscriber: hook(2) });
    expect((await call('POST', IMPORT, numbered(3))).body).toMatchObject({
      subscriptions: [
        { line: 1, secret: aSecret },
        { line: 3, secret: aSecret },
      ],
      failed: [{ line: 2, ...faultOf('conflict', 'subscriber') }],
    });
  });

  it('refuses lines if the queue is deleted during the import', async () => {
    const { call, faults } = withRegistry(() => ({
      addSubscriptions: () => Promise.reject(new QueueMissingError('orders')),
    }));
    expect(await call('POST', IMPORT, numbered(2))).toMatchObject({
      status: 200,
      body: {
        failed: [
          { line: 1, ...faultOf('conflict') },
          { line: 2, ...faultOf('conflict') },
        ],
      },
    });
    expect(faults).toEqual([]);
  });
});

describe('an import that an internal error interrupts', () => {
  const COUNT = MAX_SUBSCRIPTIONS_PER_TRANSACTION + 11;

  it('returns the secrets of the lines before the error and names the others; a repeat continues there', async () => {
    let calls = 0;
    const outage = new Error('throttled');
    const api = withRegistry((registry) => ({
      addSubscriptions: (given) => {
        calls += 1;
        return calls === 2 ? Promise.reject(outage) : registry.addSubscriptions(given);
      },
    }));
    const cut = await api.call('POST', IMPORT, numbered(COUNT));
    expect(cut.status).toBe(200);
    const { subscriptions, failed } = answerSchema.parse(cut.body);
    expect(subscriptions.map(({ line }) => line)).toEqual(
      Array.from({ length: MAX_SUBSCRIPTIONS_PER_TRANSACTION }, (_, index) => index + 1),
    );
    expect(subscriptions.filter(({ secret }) => secret === undefined)).toEqual([]);
    expect(failed.map(({ line }) => line)).toEqual(
      Array.from({ length: 11 }, (_, index) => MAX_SUBSCRIPTIONS_PER_TRANSACTION + index + 1),
    );
    expect(cut.body).toMatchObject({ failed: failed.map(({ line }) => ({ line, ...faultOf('internal') })) });
    expect(api.faults.map(({ fault }) => fault)).toEqual([outage]);
    expect(api.changes).toHaveLength(MAX_SUBSCRIPTIONS_PER_TRANSACTION);
    expect((await api.call('POST', IMPORT, numbered(COUNT))).body).toMatchObject({
      imported: 11,
      unchanged: MAX_SUBSCRIPTIONS_PER_TRANSACTION,
      failed: [],
    });
  });

  it('processes no further lines', async () => {
    let asked = 0;
    const api = withRegistry(() => ({
      findByDestinations: () => {
        asked += 1;
        return Promise.reject(new Error('throttled'));
      },
    }));
    await api.call('POST', IMPORT, numbered(3 * MAX_SUBSCRIPTIONS_PER_TRANSACTION));
    expect(asked).toBe(1);
  });

  it('imports the other lines of a chunk if one secret cannot be sealed', async ({ secrets }) => {
    let sealed = 0;
    const seal = (...given: Parameters<typeof secrets.seal>) => {
      sealed += 1;
      return sealed === 2 ? Promise.reject(new Error('KMS does not respond')) : secrets.seal(...given);
    };
    const { call } = apiUnderTest({ secretSealer: { ...secrets, seal } });
    expect((await call('POST', IMPORT, numbered(3))).body).toMatchObject({
      subscriptions: [{ line: 1 }, { line: 3 }],
      failed: [{ line: 2, ...faultOf('internal') }],
    });
  });

  it('has the changes before the error on the audit trail', async () => {
    let fails = false;
    const api = withRegistry((registry) => ({
      addSubscriptions: (given) =>
        fails ? Promise.reject(new Error('throttled')) : registry.addSubscriptions(given),
    }));
    await api.call('POST', IMPORT, numbered(1));
    fails = true;
    const body = lines({ subscriber: hook(1), ttl: 60 }, { subscriber: hook(2) });
    expect((await api.call('POST', `${IMPORT}?replace=true`, body)).body).toMatchObject({
      subscriptions: [{ line: 1, result: 'replaced' }],
      failed: [{ line: 2, ...faultOf('internal') }],
    });
    expect(api.changes.map(({ change }) => change)).toEqual([
      'subscription_imported',
      'subscription_changed',
    ]);
  });

  it('fails as a whole if no line succeeded, so that the caller repeats it', async () => {
    let calls = 0;
    const { call } = withRegistry((registry) => ({
      addSubscriptions: (given) => {
        calls += 1;
        return calls === 1 ? Promise.reject(new Error('throttled')) : registry.addSubscriptions(given);
      },
    }));
    expect(await call('POST', IMPORT, numbered(2))).toMatchObject(refusal('internal'));
    expect((await call('POST', IMPORT, numbered(2))).body).toMatchObject({ imported: 2, failed: [] });
  });
});

describe('an import of 500 lines', () => {
  it('looks up and adds as many subscriptions at once as one transaction allows', async () => {
    const asked: number[] = [];
    const added: number[] = [];
    const { call } = withRegistry((registry) => ({
      findByDestinations: (queue, destinations) => {
        asked.push(destinations.length);
        return registry.findByDestinations(queue, destinations);
      },
      addSubscriptions: (given) => {
        added.push(given.length);
        return registry.addSubscriptions(given);
      },
    }));
    expect((await call('POST', IMPORT, numbered(500))).body).toMatchObject({ imported: 500 });
    const expected = [...Array.from({ length: 10 }, () => MAX_SUBSCRIPTIONS_PER_TRANSACTION), 10];
    expect(asked).toEqual(expected);
    expect(added).toEqual(expected);
  });
});
