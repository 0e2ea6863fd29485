import { describe, expect } from 'vitest';
import * as z from 'zod';
import { httpApiAnswer } from '../../../functions/api/http-api-event.ts';
import type { Subscription } from '../../../shared/domain/subscription/subscription.ts';
import { aQueue, aSubscription } from '../../support/builders.ts';
import { anAttempt, answered } from '../../support/delivery-builders.ts';
import { wholeApi } from '../../support/whole-api.ts';
import {
  type Api,
  apiUnderTest,
  apiWithOrders,
  apiWithSubscription,
  CALLER,
  invalid,
  it,
  PUBLIC_URL,
  QUEUE,
  recordAll,
  recordMessage,
  SUBSCRIPTIONS,
} from './api-test.ts';

/** Lambda quotas, "Invocation payload (synchronous)". */
const LAMBDA_BYTES = 6_291_556;

const listSchema = z.looseObject({ links: z.array(z.object({ href: z.string() })) });

/** The ids on each page. Checks that no page is too large for Lambda. */
const walk = async (api: Api, first: string, [list, id]: readonly [string, string]): Promise<string[][]> => {
  const app = wholeApi(api.dependencies);
  const pages: string[][] = [];
  for (let path: string | undefined = first; path !== undefined;) {
    const answer = await httpApiAnswer(
      await app.request(path, {}, { caller: CALLER, publicUrl: PUBLIC_URL }),
    );
    expect(Buffer.byteLength(JSON.stringify(answer))).toBeLessThan(LAMBDA_BYTES);
    const { links, [list]: items } = listSchema.parse(JSON.parse(answer.body));
    const named = z.array(z.looseObject({ [id]: z.string() })).parse(items);
    pages.push(named.map(({ [id]: name }) => String(name)));
    path = links[0]?.href;
  }
  return pages;
};

const sizesOf = (pages: readonly string[][]): number[] => pages.map(({ length }) => length);

/** The API with subscriptions in the queue `orders`, each with these options. */
const withSubscriptions = async (all: readonly Pick<Subscription, 'options' | 'expiresAt'>[]) => {
  const api = await apiWithOrders();
  for (const [index, one] of all.entries())
    await api.registry.addSubscription(
      aSubscription({ id: `s-${index}`, subscriber: `https://hooks.example/${index}`, ...one }),
    );
  return api;
};

const LARGE = { post_data: 'x'.repeat(65_000) };

const timedOut = (detail: string) => ({ kind: 'unanswered', error: 'timeout', detail }) as const;

describe('a page ends at the size limit of a response', () => {
  it('of subscriptions with options of 64 KiB', async () => {
    const api = await withSubscriptions(Array.from({ length: 100 }, () => ({ options: LARGE })));
    const pages = await walk(api, `${SUBSCRIPTIONS}?limit=100`, ['subscriptions', 'id']);
    expect(sizesOf(pages)).toEqual([76, 24]);
    expect(new Set(pages.flat()).size).toBe(100);
  });

  it('of subscriptions with many quotes, which take four times their size', async () => {
    const options = { post_data: '"'.repeat(32_000) };
    const api = await withSubscriptions(Array.from({ length: 60 }, () => ({ options })));
    const pages = await walk(api, `${SUBSCRIPTIONS}?limit=100`, ['subscriptions', 'id']);
    expect(sizesOf(pages)).toEqual([39, 21]);
  });

  it('and does not count expired subscriptions', async () => {
    const expired = { options: LARGE, expiresAt: 1 };
    const api = await withSubscriptions(
      Array.from({ length: 100 }, (_, index) => (index % 2 === 0 ? expired : { options: LARGE })),
    );
    const pages = await walk(api, `${SUBSCRIPTIONS}?limit=100`, ['subscriptions', 'id']);
    expect(sizesOf(pages)).toEqual([50]);
  });

  it('of queues with metadata, but not of queue names alone', async ({ api }) => {
    for (let index = 0; index < 100; index += 1)
      await api.registry.putQueue(
        aQueue({ name: `q${String(index).padStart(3, '0')}`, metadata: { note: 'x'.repeat(65_000) } }),
      );
    const pages = await walk(api, '/v2/queues?limit=100&detailed=true', ['queues', 'name']);
    expect(sizesOf(pages)).toEqual([76, 24]);
    expect(pages.flat()).toEqual(pages.flat().toSorted());
    expect(sizesOf(await walk(api, '/v2/queues?limit=100', ['queues', 'name']))).toEqual([100]);
  });

  it('of the deliveries of a message', async () => {
    const api = await apiWithOrders();
    await recordMessage(api, { messageId: 'm-1' });
    const attempts = [anAttempt({ result: answered(503, 'x'.repeat(200_000)) })];
    await recordAll(
      api,
      Array.from({ length: 50 }, (_, index) => ({
        messageId: 'm-1',
        subscriptionId: `s-${String(index).padStart(2, '0')}`,
        attempts,
      })),
    );
    const path = '/v2/queues/orders/messages/m-1/deliveries?limit=100';
    const pages = await walk(api, path, ['deliveries', 'subscriptionId']);
    expect(pages.length).toBeGreaterThan(2);
    expect(pages.flat()).toHaveLength(50);
    expect(new Set(pages.flat()).size).toBe(50);
  });

  it('of the deliveries of a queue', async () => {
    const api = await apiWithOrders();
    const attempts = [anAttempt({ result: timedOut('x'.repeat(65_000)) })];
    await recordAll(
      api,
      Array.from({ length: 100 }, (_, index) => ({ messageId: `m-${index}`, attempts })),
    );
    const pages = await walk(api, '/v2/queues/orders/deliveries?limit=100', ['deliveries', 'messageId']);
    expect(sizesOf(pages)).toEqual([76, 24]);
    expect(new Set(pages.flat()).size).toBe(100);
  });

  it('but always holds at least one item', async () => {
    const api = await apiWithOrders();
    const attempts = [anAttempt({ result: timedOut('x'.repeat(5_000_001)) })];
    await recordAll(
      api,
      ['a', 'b', 'c'].map((messageId) => ({ messageId, attempts })),
    );
    const path = '/v2/queues/orders/deliveries';
    expect(sizesOf(await walk(api, path, ['deliveries', 'messageId']))).toEqual([1, 1, 1]);
  });
});

const HOOK = 'https://hooks.example';
const IMPORT = '/v2/queues/orders/import';

const errorSchema = z.object({
  error: z.object({
    code: z.string(),
    message: z.string(),
    fields: z.array(z.object({ field: z.string(), message: z.string() })).default([]),
  }),
});

const refusedBy = async (route: string, body: unknown) => {
  const { call } = apiUnderTest();
  const [method = '', path = ''] = route.split(' ');
  const { status, body: answer } = await call(method, path, body);
  const { error } = errorSchema.parse(answer);
  return { status, bytes: Buffer.byteLength(JSON.stringify(answer)), ...error };
};

const unknownKeys = (count: number) =>
  Object.fromEntries(Array.from({ length: count }, (_, index) => [`k${index}`, 0]));
const longName = 'ü'.repeat(500_000);

describe('the text of a refusal', () => {
  it('repeats no character of the caller that breaks a line, controls a terminal or hides text', async () => {
    const name = 'a\u2028b\u202ec\u0007d\u{e0041}\ud800';
    const { status, fields, message } = await refusedBy(`POST ${SUBSCRIPTIONS}`, {
      subscriber: `${HOOK}/`,
      [name]: 1,
    });
    expect(status).toBe(400);
    expect(fields).toEqual([
      { field: 'a\ufffdb\ufffdc\ufffdd\ufffd\ufffd', message: 'is not a known field' },
    ]);
    expect(message).not.toMatch(/[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/u);
  });
});

describe('the size of a refusal', () => {
  const withOptions = (options: unknown) => ({ subscriber: `${HOOK}/`, options });
  const withFilter = (name: string) => withOptions({ filter: { [name]: Array(20).fill([]) } });
  const withPolicy = (policy: unknown) => withOptions({ _retry_policy: policy });

  it('is limited to twenty fields; the others are counted', async () => {
    const { status, fields, message, bytes } = await refusedBy(`POST ${SUBSCRIPTIONS}`, {
      subscriber: `${HOOK}/`,
      ...unknownKeys(10_000),
    });
    expect(status).toBe(400);
    expect(fields).toHaveLength(20);
    expect(message).toMatch(/; and 9980 more$/);
    expect(bytes).toBeLessThan(3000);
  });

  it('has no count if all fields are named', async () => {
    const exactly = await refusedBy(`POST ${SUBSCRIPTIONS}`, { subscriber: `${HOOK}/`, ...unknownKeys(20) });
    expect(exactly.fields).toHaveLength(20);
    expect(exactly.message).not.toContain('more');
    const policy = await refusedBy(`POST ${SUBSCRIPTIONS}`, withPolicy(unknownKeys(21)));
    expect(policy).toMatchObject({ code: 'invalid_retry_policy' });
    expect(policy.fields).toHaveLength(20);
    expect(policy.message).toMatch(/; and 1 more$/);
  });

  it('is limited to 256 characters of a name', async () => {
    const { fields, bytes } = await refusedBy(`POST ${SUBSCRIPTIONS}`, {
      subscriber: `${HOOK}/`,
      [longName]: 0,
    });
    expect(fields).toEqual([{ field: `${'ü'.repeat(255)}…`, message: 'is not a known field' }]);
    expect(bytes).toBeLessThan(2000);
    const whole = await refusedBy(`POST ${SUBSCRIPTIONS}`, { subscriber: `${HOOK}/`, ['x'.repeat(256)]: 0 });
    expect(whole.fields[0]?.field).toBe('x'.repeat(256));
  });

  it('is limited without splitting a character', async () => {
    const { fields } = await refusedBy(`POST ${SUBSCRIPTIONS}`, {
      subscriber: `${HOOK}/`,
      [`x${'😀'.repeat(200)}`]: 0,
    });
    expect(fields[0]?.field).toBe(`x${'😀'.repeat(127)}…`);
    const odd = await refusedBy(`POST ${SUBSCRIPTIONS}`, { subscriber: `${HOOK}/`, ['😀'.repeat(200)]: 0 });
    expect(odd.fields[0]?.field).toBe(`${'😀'.repeat(127)}…`);
  });

  it.each<[string, string, unknown, number]>([
    ['options of 10,000 keys', `POST ${SUBSCRIPTIONS}`, withOptions(unknownKeys(10_000)), 413],
    ['an option with a long name', `POST ${SUBSCRIPTIONS}`, withOptions({ [longName]: 0 }), 413],
    ['10,000 headers', `POST ${SUBSCRIPTIONS}`, withOptions({ post_headers: unknownKeys(10_000) }), 413],
    ['a retry policy of 10,000 keys', `POST ${SUBSCRIPTIONS}`, withPolicy(unknownKeys(10_000)), 413],
    ['a filter with a long name', `POST ${SUBSCRIPTIONS}`, withFilter(longName), 413],
    [
      'a filter that is too long in options that are not',
      `POST ${SUBSCRIPTIONS}`,
      withFilter('x'.repeat(60_000)),
      400,
    ],
    ['metadata with a long name', `PUT ${QUEUE}`, `{"${longName}": 1e999}`, 400],
    ['a policy in metadata', `PUT ${QUEUE}`, { _retry_policy: unknownKeys(5000) }, 400],
    ['a patch with a long path', `PATCH ${QUEUE}`, [{ op: 'add', path: longName }], 400],
    ['a message of 10,000 keys', `POST ${QUEUE}/messages`, { messages: [unknownKeys(10_000)] }, 400],
    ['20,000 invalid messages', `POST ${QUEUE}/messages`, { messages: Array(20_000).fill(0) }, 400],
    ['a recovery of 10,000 keys', `POST ${QUEUE}/recoveries`, unknownKeys(10_000), 400],
  ])('is limited for %s', async (_what, route, body, status) => {
    const answer = await refusedBy(route, body);
    expect(answer.status).toBe(status);
    expect(answer.fields.length).toBeLessThanOrEqual(20);
    expect(answer.bytes).toBeLessThan(22_000);
  });

  it('is small for too large options, whose content is not checked', async () => {
    const { code, fields } = await refusedBy(`POST ${SUBSCRIPTIONS}`, {
      subscriber: 7,
      options: unknownKeys(10_000),
    });
    expect({ code, fields }).toEqual({ code: 'too_large', fields: [] });
    const changed = await refusedBy(`PATCH ${SUBSCRIPTIONS}/id-1`, { options: unknownKeys(10_000) });
    expect(changed.code).toBe('too_large');
  });

  it('is limited for an import, which names at least the error code of each line', async ({ api }) => {
    const faults = Array.from({ length: 20 }, () => [{ numeric: 0 }]);
    const line = JSON.stringify({
      subscriber: `${HOOK}/`,
      options: { filter: { ['\u0001'.repeat(200)]: faults.flat() } },
    });
    const { status, body } = await api.call(
      'POST',
      IMPORT,
      Array.from({ length: 500 }, () => line).join('\n'),
    );
    expect(status).toBe(200);
    expect(Buffer.byteLength(JSON.stringify({ body: JSON.stringify(body) }))).toBeLessThan(LAMBDA_BYTES);
    const { failed } = z.object({ failed: z.array(errorSchema.extend({ line: z.int() })) }).parse(body);
    expect(failed).toHaveLength(500);
    expect(new Set(failed.map(({ error }) => error.code))).toEqual(new Set(['invalid_request']));
    expect(failed[0]?.error.fields).toHaveLength(20);
    expect(failed.at(-1)?.error.fields).toEqual([]);
    expect(failed.at(-1)?.error.message).toContain('import this line alone');
  });
});

const EMPTY_WINDOW = 'since=2026-11-21T12:00:00Z&until=2026-11-21T12:00:00Z';
const BEFORE_ALL_RECORDS = 'since=2025-10-01T00:00:00Z';

/** Parts of queries that lists of a queue refuse, with the field that the refusal names. */
const refused: Record<string, [query: string, field: string][]> = {
  '/v2/queues': [
    ['limit=0', 'limit'],
    ['limit=101', 'limit'],
    ['limit=-1', 'limit'],
    ['limit=1.5', 'limit'],
    ['limit=1e1', 'limit'],
    ['limit=', 'limit'],
    ['limit=99999999999999999999', 'limit'],
    ['marker=', 'marker'],
    ['marker=q001', 'marker'],
    [`marker=${'x'.repeat(5000)}`, 'marker'],
    ['marker=W10%00', 'marker'],
    ['detailed=yes', 'detailed'],
  ],
  '/v2/queues/orders/subscriptions': [
    ['match=', 'match'],
    [`match=${'x'.repeat(2049)}`, 'match'],
    ['limit=101', 'limit'],
    ['marker=tampered', 'marker'],
  ],
  '/v2/queues/orders/subscriptions/id-1/deliveries': [
    ['limit=101', 'limit'],
    ['marker=tampered', 'marker'],
    ['since=soon', 'since'],
    [EMPTY_WINDOW, 'until'],
    [BEFORE_ALL_RECORDS, 'since'],
    ['status=delivered', 'status'],
  ],
  '/v2/queues/orders/deliveries': [
    ['status=delivered', 'status'],
    ['status=', 'status'],
    ['subscription=', 'subscription'],
    ['subscription=a%23b', 'subscription'],
    [`subscription=${'x'.repeat(65)}`, 'subscription'],
    ['since=2026-11-21', 'since'],
    ['since=2026-02-30T00:00:00Z', 'since'],
    ['since=2026-11-21T12:00:00', 'since'],
    ['since=1795262400', 'since'],
    ['until=2026-11-21T25:00:00Z', 'until'],
    [EMPTY_WINDOW, 'until'],
    ['since=2026-11-21T12:00:00Z&until=2026-11-21T12:59:59%2B01:00', 'until'],
    ['limit=101', 'limit'],
    ['marker=x', 'marker'],
    ['stauts=rejected', 'stauts'],
  ],
  '/v2/queues/orders/messages': [
    ['limit=0', 'limit'],
    ['since=soon', 'since'],
    [EMPTY_WINDOW, 'until'],
    ['since=2026-11-22T00:00:00Z', 'since'],
    ['status=retrying', 'status'],
    ['marker=x', 'marker'],
  ],
  '/v2/queues/orders/books': [
    ['subscription=a%20b', 'subscription'],
    ['since=soon', 'since'],
    [EMPTY_WINDOW, 'until'],
    ['since=2026-11-21T12:00:00Z', 'since'],
    [BEFORE_ALL_RECORDS, 'since'],
    ['marker=x', 'marker'],
    ['limit=10', 'limit'],
  ],
  '/v2/queues/orders/messages/order-7/deliveries': [
    ['limit=0', 'limit'],
    ['limit=ten', 'limit'],
    ['marker=x', 'marker'],
  ],
  '/v2/queues/orders/statistics': [
    ['step=61', 'step'],
    ['step=', 'step'],
    ['step=60', 'step'],
    ['since=2026-11-13T11:59:00Z&until=2026-11-21T12:00:00Z', 'since'],
    ['since=2026-11-21T12:00:00Z&until=2026-11-21T11:00:00Z', 'until'],
    ['stepSeconds=60', 'stepSeconds'],
  ],
  '/v2/queues/orders/recoveries': [
    ['limit=0', 'limit'],
    ['marker=tampered', 'marker'],
  ],
};

const rows = Object.entries(refused).flatMap(([path, queries]) => queries.map((query) => [path, ...query]));

it.each(rows)('GET %s refuses ?%s and names %s', async (path, query, field) => {
  const api = await apiWithSubscription();
  await recordMessage(api, { messageId: 'order-7' });
  expect(await api.call('GET', `${path}?${query}`)).toMatchObject(invalid(field));
});
