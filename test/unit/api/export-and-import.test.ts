import { describe, expect, vi } from 'vitest';
import * as z from 'zod';
import { openedSecrets } from '../../../shared/steps/sign-request.ts';
import { secretText } from '../../../shared/domain/subscription/signing-secret.ts';
import { MAX_SUBSCRIPTIONS_PER_TRANSACTION, QueueMissingError } from '../../../shared/ports/subscriptions.ts';
import {
  apiUnderTest,
  CALLER,
  faultOf,
  invalid,
  it,
  NOON,
  NOTHING,
  ONE,
  QUEUE,
  refusal,
  SUBSCRIPTIONS,
} from './api-test.ts';

const EXPORT = `${QUEUE}/export`;
const CREDENTIALS = '/v2/credentials/orders';
const IMPORT = `${QUEUE}/import`;
const REPLACE = `${IMPORT}?replace=true`;

const hook = (name: string | number): string => `https://hooks.example/${name}`;

const lines = (...subscriptions: unknown[]): string =>
  subscriptions.map((one) => `${JSON.stringify(one)}\n`).join('');

const numbered = (count: number): string =>
  lines(...Array.from({ length: count }, (_, index) => ({ subscriber: hook(index + 1) })));

const parsedLines = (body: unknown): unknown[] =>
  String(body)
    .trim()
    .split('\n')
    .map((line): unknown => JSON.parse(line));

const answerOf = (counts: Partial<Record<'imported' | 'replaced' | 'unchanged', number>>) => ({
  status: 200,
  body: { imported: 0, replaced: 0, unchanged: 0, ...counts, failed: [] },
});

/** An answer that says only what failed, as lines with their error. */
const failures = (...failed: [line: number, code: string, ...fields: string[]][]) => ({
  status: 200,
  body: { failed: failed.map(([line, ...fault]) => ({ line, ...faultOf(...fault) })) },
});

const WHSK = `whsk_${Buffer.alloc(32, 9).toString('base64')}`;

const A = { subscriber: hook('a') };
const B = { subscriber: hook('b') };

const RICH = {
  subscriber: hook('rich?token=t'),
  name: 'Rich & famous',
  ttl: 60,
  options: {
    _retry_policy: { minimum_delay: 2 },
    post_headers: { authorization: 'Bearer s3cret', accept: 'text/plain' },
    post_data: 'ü "$zaqar_message$"',
  },
};

it('an export has a line for each present subscription, and no credentials', async ({ api }) => {
  const { call, subscribe, registry, time } = api;
  for (const one of [A, B, { subscriber: hook('c') }, RICH]) await subscribe(one);
  await subscribe({ subscriber: hook('expired'), ttl: 1 });
  await registry.disable('orders', 'id-2', { reason: 'gone', at: NOON });
  await call('DELETE', `${SUBSCRIPTIONS}/id-3`);
  time.now += 1000;
  const answer = await call('GET', EXPORT);
  expect(answer.headers.get('content-type')).toBe('application/jsonl');
  expect(answer.headers.get('link')).toBeNull();
  const post_headers = { ...RICH.options.post_headers, authorization: '***' };
  expect(parsedLines(answer.body)).toEqual([
    { ...A, options: {} },
    { ...B, options: {}, disabled: { reason: 'gone', at: '2026-11-21T12:00:00.000Z' } },
    { ...RICH, options: { ...RICH.options, post_headers } },
  ]);
  expect(answer.body).not.toContain('s3cret');
});

describe('POST /v2/credentials/{queue}', () => {
  it('contains the values of credential headers, and is on the audit trail', async ({ api }) => {
    await api.subscribe(RICH);
    await api.subscribe(B);
    const answer = await api.call('POST', CREDENTIALS);
    expect(answer.headers.get('content-type')).toBe('application/jsonl');
    expect(parsedLines(answer.body)).toEqual([RICH, { ...B, options: {} }]);
    const change = { change: 'credentials_exported', queue: 'orders', subscriptions: 2 };
    expect(api.changes.at(-1)).toEqual({ ...CALLER, ...change });
  });

  it('has the signing secrets only if asked, which is on the audit trail', async ({ api }) => {
    const { body } = await api.subscribe(B);
    const { secret: first } = z.object({ secret: z.string() }).parse(body);
    await api.call('POST', `${ONE}/secret/rotate`, { secret: WHSK, graceSeconds: 60 });
    const answer = await api.call('POST', `${CREDENTIALS}?secrets=true`);
    const secrets = [
      { secret: expect.stringContaining(WHSK.slice(0, 40)) as string },
      { secret: first, expiresAt: '2026-11-21T12:01:00.000Z' },
    ];
    expect(parsedLines(answer.body)).toEqual([{ ...B, options: {}, secrets }]);
    expect(api.changes.at(-1)).toMatchObject({ change: 'credentials_exported', secrets: true });
    expect(String((await api.call('POST', CREDENTIALS)).body)).not.toContain('secret');
    expect(api.changes.at(-1)).not.toHaveProperty('secrets');
  });

  it('alone has them: the route for an export without credentials refuses to', async ({ api }) => {
    await api.subscribe(B);
    expect(await api.call('GET', `${EXPORT}?secrets=true`)).toMatchObject(invalid('secrets'));
  });

  it('continues by its link, each page small enough for one import', async ({ call, subscribe }) => {
    const options = { post_data: 'x'.repeat(65_000) };
    for (let index = 0; index < 25; index += 1) await subscribe({ subscriber: hook(index), options });
    const parts: string[] = [];
    for (let path: string | undefined = `${CREDENTIALS}?secrets=true`; path !== undefined;) {
      const { body, headers } = await call('POST', path);
      parts.push(String(body));
      path = /^<([^>]+)>; rel="next"$/.exec(headers.get('link') ?? '')?.[1];
    }
    expect(parts.map((part) => parsedLines(part).length)).toEqual([10, 15]);
    const other = apiUnderTest();
    for (const part of parts) expect(await other.call('POST', IMPORT, part)).toMatchObject({ status: 200 });
    expect(new Set(parts.flatMap((part) => part.trim().split('\n'))).size).toBe(25);
  });
});

describe.each([
  ['GET', EXPORT],
  ['POST', CREDENTIALS],
])('%s %s', (method, path) => {
  it('is empty for a queue without subscriptions', async ({ call }) => {
    await call('PUT', QUEUE, {});
    expect(await call(method, path)).toMatchObject({ status: 200, body: undefined });
  });

  it.for(['withCredentials=true', 'withCredentials=false', 'marker=tampered'])(
    'refuses %s',
    async (query, { call, subscribe }) => {
      await subscribe(RICH);
      const [field = ''] = query.split('=');
      expect(await call(method, `${path}?${query}`)).toMatchObject(invalid(field));
    },
  );
});

describe('POST /v2/queues/{queue}/import', () => {
  it('keeps the signing secrets of an export, with their ends, and does not show them', async ({ api }) => {
    const from = apiUnderTest();
    await from.subscribe(B);
    await from.call('POST', `${ONE}/secret/rotate`, { secret: WHSK, graceSeconds: 60 });
    const { body } = await from.call('POST', `${CREDENTIALS}?secrets=true`);
    const imported = await api.call('POST', IMPORT, body);
    expect(imported).toMatchObject(answerOf({ imported: 1 }));
    expect(JSON.stringify(imported.body)).not.toMatch(/wh(?:sec|sk)_/);
    expect((await api.call('POST', `${CREDENTIALS}?secrets=true`)).body).toBe(body);
    expect((await api.call('GET', `${ONE}/jwks.json`)).body).toMatchObject({ keys: [{ crv: 'Ed25519' }] });
  });

  it('leaves the secrets of a subscription that exists', async ({ api }) => {
    await api.subscribe(B);
    const before = await api.stored();
    const line = lines({ ...B, name: 'new', secrets: [{ secret: WHSK }] });
    expect(await api.call('POST', REPLACE, line)).toMatchObject(answerOf({ replaced: 1 }));
    expect((await api.stored()).secrets).toEqual(before.secrets);
  });

  it.for<[unknown[], string]>([
    [[], 'secrets'],
    [[{ secret: 'whsec_c2hvcnQ=' }], 'secrets[0].secret'],
    [[{ secret: WHSK, expiresAt: '2026-11-21T12:00:00Z' }], 'secrets'],
    [[{ secret: WHSK }, { secret: WHSK }], 'secrets'],
    [[{ secret: WHSK, key: 1 }], 'secrets[0].key'],
    [Array.from({ length: 6 }, () => ({ secret: WHSK })), 'secrets'],
  ])(
    'refuses secrets that it could not sign by, and does not repeat them: %j',
    async ([secrets, field], { call }) => {
      const answer = await call('POST', IMPORT, lines({ ...B, secrets }));
      expect(answer).toMatchObject(failures([1, 'invalid_request', field]));
      expect(JSON.stringify(answer.body)).not.toMatch(/c2hvcnQ|CQkJ|expected/);
    },
  );

  it('restores an export, and changes nothing the second time', async ({ call, world }) => {
    const from = apiUnderTest();
    await from.subscribe(RICH);
    await from.subscribe(B);
    await from.call('POST', `${SUBSCRIPTIONS}/id-2/disable`);
    const { body } = await from.call('POST', CREDENTIALS);
    expect(await call('POST', IMPORT, body)).toMatchObject(answerOf({ imported: 2 }));
    expect((await call('POST', CREDENTIALS)).body).toBe(body);
    const after = await world();
    expect(await call('POST', IMPORT, body)).toMatchObject(answerOf({ unchanged: 2 }));
    expect(await world()).toEqual(after);
  });

  it('accepts a redacted export over the original subscriptions', async ({ call, subscribe, world }) => {
    await subscribe(RICH);
    const { body } = await call('GET', EXPORT);
    const before = await world();
    expect(await call('POST', IMPORT, body)).toMatchObject(answerOf({ unchanged: 1 }));
    expect(await world()).toEqual(before);
    const field = 'options.post_headers.authorization';
    const elsewhere = await apiUnderTest().call('POST', IMPORT, body);
    expect(elsewhere).toMatchObject(failures([1, 'invalid_request', field]));
  });

  it('treats equal content as unchanged, in any order and spelling', async ({ call, subscribe }) => {
    await subscribe({ ...A, options: { raw_delivery: true, post_data: 'x' } });
    const same = {
      options: { post_data: 'x', raw_delivery: true },
      subscriber: 'HTTPS://HOOKS.example:443/a',
    };
    expect(await call('POST', IMPORT, lines(same))).toMatchObject(answerOf({ unchanged: 1 }));
  });

  it('refuses an existing subscriber with other content without replace=true', async ({ api }) => {
    const { call, subscribe, stored } = api;
    await subscribe({ ...A, ttl: 60, options: { raw_delivery: true } });
    const before = await stored();
    const other = lines({ ...A, options: { post_data: 'x' } });
    expect(await call('POST', IMPORT, other)).toMatchObject(failures([1, 'conflict', 'subscriber']));
    expect(await stored()).toEqual(before);
    expect(await call('POST', REPLACE, other)).toMatchObject(answerOf({ replaced: 1 }));
    const { ttl: _, expiresAt: _end, ...kept } = before;
    expect(await stored()).toEqual({ ...kept, options: { post_data: 'x' } });
    expect(await call('POST', REPLACE, other)).toMatchObject(answerOf({ unchanged: 1 }));
  });

  it('treats another name, or none, as other content', async ({ call, subscribe, stored }) => {
    await subscribe({ ...A, name: 'Billing' });
    for (const named of [{ name: 'Shipping' }, {}]) {
      const line = lines({ ...A, ...named });
      expect(await call('POST', IMPORT, line)).toMatchObject(failures([1, 'conflict', 'subscriber']));
      expect(await call('POST', REPLACE, line)).toMatchObject(answerOf({ replaced: 1 }));
      const { name } = await stored();
      expect({ name }).toEqual({ name: undefined, ...named });
    }
  });

  it('treats lines with the same subscriber like consecutive imports', async ({ call, get }) => {
    const again = { subscriber: 'HTTPS://HOOKS.example:443/a' };
    const same = lines(A, again, B, { ...A, ttl: 60 }, { ...A, ttl: 120 });
    expect((await call('POST', REPLACE, same)).body).toMatchObject({
      subscriptions: [
        { line: 1, result: 'imported', subscription_id: 'id-1' },
        { line: 2, result: 'unchanged', subscription_id: 'id-1' },
        { line: 3, result: 'imported', subscription_id: 'id-2' },
        { line: 4, result: 'replaced', subscription_id: 'id-1' },
        { line: 5, result: 'replaced', subscription_id: 'id-1' },
      ],
      failed: [],
    });
    expect(await get(ONE)).toMatchObject({ ttl: 120 });
    const without = await apiUnderTest().call('POST', IMPORT, same);
    expect(without).toMatchObject({ body: { imported: 2, unchanged: 1 } });
    expect(without).toMatchObject(failures([4, 'conflict', 'subscriber'], [5, 'conflict', 'subscriber']));
  });

  it('enables subscriptions of lines without `disabled`, and disables the others', async ({ call, get }) => {
    const disabled = { reason: 'gone', at: '2026-01-01T00:00:00.000Z' };
    await call('POST', IMPORT, lines({ ...A, disabled }));
    expect(await get(ONE)).toMatchObject({ disabled });
    await call('POST', REPLACE, lines(A));
    expect(await get(ONE)).not.toHaveProperty('disabled');
  });

  it('keeps the failures and the back-pressure of a subscription that stays enabled', async ({ api }) => {
    await api.subscribe(A);
    const failing = { since: 1, failures: 3 };
    const pressure = { state: 'held', since: 1, at: 1 } as const;
    const key = { queue: 'orders', subscriptionId: 'id-1', now: NOON };
    await api.registry.changeSubscription(key, (current) => ({ ...current, failing, pressure }));
    const other = { ...A, options: { raw_delivery: true } };
    expect(await api.call('POST', REPLACE, lines(other))).toMatchObject(answerOf({ replaced: 1 }));
    expect(await api.stored()).toMatchObject({ options: { raw_delivery: true }, failing, pressure });
  });

  it('names each invalid line, and imports the others', async ({ call, get }) => {
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
    const answer = await call('POST', IMPORT, body);
    expect(answer.body).toMatchObject({
      imported: 2,
      replaced: 0,
      unchanged: 0,
      subscriptions: [{ line: 1 }, { line: 9 }],
    });
    expect(answer).toMatchObject(
      failures(
        [2, 'invalid_json'],
        [4, 'invalid_request', 'subscriber'],
        [5, 'invalid_request', 'secret'],
        [6, 'invalid_retry_policy', 'options._retry_policy.minimum_delay'],
        [7, 'invalid_request', 'disabled.reason', 'disabled.at'],
        [8, 'invalid_request', 'body'],
      ),
    );
    const imported = [{ subscriber: hook(1) }, { subscriber: hook(5) }];
    expect(await get(SUBSCRIPTIONS)).toMatchObject({ subscriptions: imported });
  });

  it.for([
    ['over 1 MiB', ' '.repeat(1_048_577), 'too_large'],
    ['over 500 lines', '{}\n'.repeat(501), 'too_large'],
    ['not UTF-8', new Uint8Array([0x22, 0xff, 0x22]), 'invalid_json'],
  ] as const)('refuses a body that is %s, and imports nothing', async ([, body, code], { call, world }) => {
    expect(await call('POST', IMPORT, body)).toMatchObject(refusal(code));
    expect(await world()).toEqual(NOTHING);
  });

  it('refuses an invalid value of replace', async ({ call }) => {
    expect(await call('POST', `${IMPORT}?replace=yes`, '')).toMatchObject(invalid('replace'));
  });
});

const aSecret: unknown = expect.stringMatching(/^whsec_/);

const answerSchema = z.object({
  subscriptions: z.array(z.object({ line: z.number(), secret: z.string().optional() })),
  failed: z.array(z.object({ line: z.number() })),
});

const outage = new Error('throttled');

describe('the response to an import', () => {
  it('names each subscription by its line, and shows the secret of a new one once', async ({ api }) => {
    const { call, subscribe, secrets, stored } = api;
    await subscribe({ subscriber: hook('there') });
    await subscribe({ subscriber: hook('changed') });
    const body = lines(
      { subscriber: hook('new') },
      { subscriber: hook('there') },
      { subscriber: hook('changed'), ttl: 60 },
    );
    const answer = await call('POST', REPLACE, `\n${body}`);
    const changed = [
      { line: 3, result: 'unchanged', subscription_id: 'id-1' },
      { line: 4, result: 'replaced', subscription_id: 'id-2' },
    ];
    expect(answer.body).toMatchObject({
      subscriptions: [{ line: 2, result: 'imported', subscription_id: 'id-3', secret: aSecret }, ...changed],
      failed: [],
    });
    const [imported, ...others] = answerSchema.parse(answer.body).subscriptions;
    expect(others.filter(({ secret }) => secret !== undefined)).toEqual([]);
    const opened = await openedSecrets(secrets, await stored('id-3'), NOON);
    expect(opened.map(({ secret }) => secretText(secret))).toEqual([imported?.secret]);

    const ids = ['id-3', 'id-1', 'id-2'];
    expect((await call('POST', IMPORT, body)).body).toEqual({
      ...answerOf({ unchanged: 3 }).body,
      subscriptions: ids.map((subscription_id, index) => ({
        line: index + 1,
        result: 'unchanged',
        subscription_id,
      })),
    });
  });

  it('shows which subscribers are asked to confirm, if the queue requires that', async ({ call, jobs }) => {
    await call('PUT', QUEUE, { _confirm_subscriptions: true });
    const asked = { secret: aSecret, confirmation: 'asked' };
    expect((await call('POST', IMPORT, numbered(2))).body).toMatchObject({
      subscriptions: [
        { line: 1, ...asked },
        { line: 2, ...asked },
      ],
    });
    expect(jobs.map(({ key }) => key.subscriptionId)).toEqual(['id-1', 'id-2']);
  });

  it('refuses only the line whose subscriber another request has added', async ({ api }) => {
    await api.subscribe({ subscriber: hook(2) });
    vi.spyOn(api.registry, 'findByDestinations').mockResolvedValue([undefined, undefined, undefined]);
    const answer = await api.call('POST', IMPORT, numbered(3));
    expect(answer.body).toMatchObject({ subscriptions: [{ line: 1 }, { line: 3 }] });
    expect(answer).toMatchObject(failures([2, 'conflict', 'subscriber']));
  });

  it('refuses lines if the queue is deleted during the import', async ({ call, registry, faults }) => {
    vi.spyOn(registry, 'addSubscriptions').mockRejectedValue(new QueueMissingError('orders'));
    const answer = await call('POST', IMPORT, numbered(2));
    expect(answer).toMatchObject(failures([1, 'conflict'], [2, 'conflict']));
    expect(faults).toEqual([]);
  });
});

describe('an import that an internal error interrupts', () => {
  const MOST = MAX_SUBSCRIPTIONS_PER_TRANSACTION;

  it('returns the secrets of the lines before the error; a repeat does the others', async ({ api }) => {
    const { call, registry, faults, changes } = api;
    const add = registry.addSubscriptions.bind(registry);
    vi.spyOn(registry, 'addSubscriptions').mockImplementationOnce(add).mockRejectedValueOnce(outage);
    const cut = await call('POST', IMPORT, numbered(MOST + 11));
    expect(cut.status).toBe(200);
    const { subscriptions, failed } = answerSchema.parse(cut.body);
    const all = Array.from({ length: MOST + 11 }, (_, index) => index + 1);
    expect(subscriptions.filter(({ secret }) => secret !== undefined).map(({ line }) => line)).toEqual(
      all.slice(0, MOST),
    );
    expect(failed.map(({ line }) => line)).toEqual(all.slice(MOST));
    expect(cut.body).toMatchObject({ failed: failed.map(({ line }) => ({ line, ...faultOf('internal') })) });
    expect(faults.map(({ fault }) => fault)).toEqual([outage]);
    expect(changes).toHaveLength(MOST);
    const repeat = answerOf({ imported: 11, unchanged: MOST });
    expect(await call('POST', IMPORT, numbered(MOST + 11))).toMatchObject(repeat);
  });

  it('processes no further lines', async ({ call, registry }) => {
    const asked = vi.spyOn(registry, 'findByDestinations').mockRejectedValue(outage);
    await call('POST', IMPORT, numbered(3 * MOST));
    expect(asked).toHaveBeenCalledTimes(1);
  });

  it('imports the other lines of a chunk if one secret cannot be sealed', async ({ call, secrets }) => {
    const seal = secrets.seal.bind(secrets);
    vi.spyOn(secrets, 'seal').mockImplementationOnce(seal).mockRejectedValueOnce(outage);
    const answer = await call('POST', IMPORT, numbered(3));
    expect(answer.body).toMatchObject({ subscriptions: [{ line: 1 }, { line: 3 }] });
    expect(answer).toMatchObject(failures([2, 'internal']));
  });

  it('has the changes before the error on the audit trail', async ({ call, registry, changes }) => {
    await call('POST', IMPORT, lines(A));
    vi.spyOn(registry, 'addSubscriptions').mockRejectedValueOnce(outage);
    const answer = await call('POST', REPLACE, lines({ ...A, ttl: 60 }, B, { subscriber: 'x' }));
    expect(answer.body).toMatchObject({ subscriptions: [{ line: 1, result: 'replaced' }] });
    expect(answer).toMatchObject(failures([2, 'internal'], [3, 'invalid_request', 'subscriber']));
    expect(changes.map(({ change }) => change)).toEqual(['subscription_imported', 'subscription_changed']);
  });

  it('fails as a whole if no line succeeded, so that the caller repeats it', async ({ call, registry }) => {
    vi.spyOn(registry, 'addSubscriptions').mockRejectedValueOnce(outage);
    expect(await call('POST', IMPORT, numbered(2))).toMatchObject(refusal('internal'));
    expect(await call('POST', IMPORT, numbered(2))).toMatchObject(answerOf({ imported: 2 }));
  });
});

it('looks up and adds as many lines at once as one transaction allows', async ({ call, registry }) => {
  const asked = vi.spyOn(registry, 'findByDestinations');
  const added = vi.spyOn(registry, 'addSubscriptions');
  expect(await call('POST', IMPORT, numbered(500))).toMatchObject(answerOf({ imported: 500 }));
  const expected = [...Array.from({ length: 10 }, () => MAX_SUBSCRIPTIONS_PER_TRANSACTION), 10];
  expect(asked.mock.calls.map(([, destinations]) => destinations.length)).toEqual(expected);
  expect(added.mock.calls.map(([given]) => given.length)).toEqual(expected);
});
