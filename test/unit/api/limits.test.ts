import { describe, expect } from 'vitest';
import * as z from 'zod';
import type { Subscription } from '../../../shared/domain/subscription/subscription.ts';
import { addSubscription } from '../../support/add-subscription.ts';
import { aQueue, aSubscription } from '../../support/builders.ts';
import { anAttempt, answered } from '../../support/delivery-builders.ts';
import {
  apiUnderTest,
  HOOK,
  invalid,
  itWithOrders as it,
  LAMBDA_BYTES,
  NOON,
  ONE,
  QUEUE,
  recordAll,
  recordMessage,
  SUBSCRIPTIONS,
} from './api-test.ts';

const sizesOf = (pages: readonly string[][]): number[] => pages.map(({ length }) => length);

const QUOTES = { post_data: '"'.repeat(32_000) };
const LARGE = { post_data: 'x'.repeat(65_000) };

const timedOut = (detail: string) => ({ kind: 'unanswered', error: 'timeout', detail }) as const;

describe('a page ends at the size limit of a response', () => {
  it.for<[string, number, (index: number) => Pick<Subscription, 'options' | 'expiresAt'>, number[]]>([
    ['with options of 64 KiB', 100, () => ({ options: LARGE }), [76, 24]],
    ['with quotes, which take four times their size', 60, () => ({ options: QUOTES }), [39, 21]],
    ['half of which have expired', 100, (n) => ({ options: LARGE, ...(n % 2 && { expiresAt: 1 }) }), [50]],
  ])('of subscriptions %s', async ([, count, fieldsOf, sizes], { pages, registry }) => {
    for (let index = 0; index < count; index += 1) {
      const names = { id: `s-${index}`, subscriber: `https://hooks.example/${index}` };
      await addSubscription(registry, aSubscription({ ...names, ...fieldsOf(index) }));
    }
    const found = await pages(`${SUBSCRIPTIONS}?limit=100`, 'subscriptions', 'id');
    expect(sizesOf(found)).toEqual(sizes);
    expect(new Set(found.flat()).size).toBe(found.flat().length);
  });

  it('of queues with metadata, but not of queue names alone', async ({ pages, registry }) => {
    await registry.deleteQueue('orders', NOON);
    const metadata = { note: 'x'.repeat(65_000) };
    for (let index = 0; index < 100; index += 1)
      await registry.putQueue(aQueue({ name: `q${String(index).padStart(3, '0')}`, metadata }));
    const found = await pages('/v2/queues?limit=100&detailed=true', 'queues', 'name');
    expect(sizesOf(found)).toEqual([76, 24]);
    expect(found.flat()).toEqual(found.flat().toSorted());
    expect(sizesOf(await pages('/v2/queues?limit=100', 'queues', 'name'))).toEqual([100]);
  });

  it('of the deliveries of a message', async ({ api }) => {
    await recordMessage(api, { messageId: 'm-1' });
    const attempts = [anAttempt({ result: answered(503, 'x'.repeat(200_000)) })];
    const ids = Array.from({ length: 50 }, (_, index) => `s-${String(index).padStart(2, '0')}`);
    await recordAll(
      api,
      ids.map((subscriptionId) => ({ messageId: 'm-1', subscriptionId, attempts })),
    );
    const found = await api.pages(
      `${QUEUE}/messages/m-1/deliveries?limit=100`,
      'deliveries',
      'subscriptionId',
    );
    expect(found.length).toBeGreaterThan(2);
    expect(found.flat().toSorted()).toEqual(ids);
  });

  it.for([
    { what: 'with attempts that say much', detail: 65_000, count: 100, sizes: [76, 24] },
    { what: 'but always holds at least one', detail: 5_000_001, count: 3, sizes: [1, 1, 1] },
  ])('of the deliveries of a queue, $what', async ({ detail, count, sizes }, { api }) => {
    const attempts = [anAttempt({ result: timedOut('x'.repeat(detail)) })];
    await recordAll(
      api,
      Array.from({ length: count }, (_, index) => ({ messageId: `m-${index}`, attempts })),
    );
    const found = await api.pages(`${QUEUE}/deliveries?limit=100`, 'deliveries', 'messageId');
    expect(sizesOf(found)).toEqual(sizes);
    expect(new Set(found.flat()).size).toBe(count);
  });
});

const errorSchema = z.object({
  error: z.object({
    code: z.string(),
    message: z.string(),
    fields: z.array(z.object({ field: z.string(), message: z.string() })).default([]),
  }),
});

const refusedBy = async (body: unknown, route = `POST ${SUBSCRIPTIONS}`) => {
  const [method = '', path = ''] = route.split(' ');
  const { status, body: answer } = await apiUnderTest().call(method, path, body);
  const { error } = errorSchema.parse(answer);
  return { status, bytes: Buffer.byteLength(JSON.stringify(answer)), ...error };
};

const unknownKeys = (count: number) =>
  Object.fromEntries(Array.from({ length: count }, (_, index) => [`k${index}`, 0]));
const longName = 'ü'.repeat(500_000);

const withKeys = (keys: object) => ({ subscriber: HOOK, ...keys });

it('a refusal repeats no character of the caller that breaks a line, controls a terminal or hides text', async () => {
  const name = 'a\u2028b\u202ec\u0007d\u{e0041}\ud800';
  const { status, fields, message } = await refusedBy(withKeys({ [name]: 1 }));
  expect(status).toBe(400);
  expect(fields).toEqual([{ field: 'a\ufffdb\ufffdc\ufffdd\ufffd\ufffd', message: 'is not a known field' }]);
  expect(message).not.toMatch(/[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/u);
});

it.for([
  ['GET', `${QUEUE}/messages/m1/deliveries`, 'status=rejected'],
  ['GET', `${QUEUE}/recoveries`, 'state=running'],
  ['GET', `${QUEUE}/archived-subscriptions`, 'match=acme'],
  ['GET', '/v2/archived-queues', 'name=orders'],
  ['GET', '/v2/event-types', 'group=orders'],
  ['DELETE', QUEUE, 'force=true'],
  ['DELETE', ONE, 'Now=true'],
  ['POST', `${QUEUE}/import`, 'overwrite=true'],
] as const)('%s %s refuses the unknown parameter %s', async ([method, path, query], { api }) => {
  const [field = ''] = query.split('=');
  expect(await api.call(method, `${path}?${query}`)).toMatchObject(invalid(field));
});

describe('the size of a refusal', () => {
  const withOptions = (options: unknown) => withKeys({ options });
  const withFilter = (name: string) => withOptions({ filter: { [name]: Array(20).fill([]) } });
  const withPolicy = (policy: unknown) => withOptions({ _retry_policy: policy });

  it('is limited to twenty fields; the others are counted', async () => {
    const { status, fields, message, bytes } = await refusedBy(withKeys(unknownKeys(10_000)));
    expect(status).toBe(400);
    expect(fields).toHaveLength(20);
    expect(message).toMatch(/; and 9980 more$/);
    expect(bytes).toBeLessThan(3000);
  });

  it('has no count if all fields are named', async () => {
    const exactly = await refusedBy(withKeys(unknownKeys(20)));
    expect(exactly.fields).toHaveLength(20);
    expect(exactly.message).not.toContain('more');
    const policy = await refusedBy(withPolicy(unknownKeys(21)));
    expect(policy).toMatchObject({ code: 'invalid_retry_policy' });
    expect(policy.fields).toHaveLength(20);
    expect(policy.message).toMatch(/; and 1 more$/);
  });

  it.each([
    ['to 256 characters of a name', longName, `${'ü'.repeat(255)}…`],
    ['to no less', 'x'.repeat(256), 'x'.repeat(256)],
    ['without splitting a character', `x${'😀'.repeat(200)}`, `x${'😀'.repeat(127)}…`],
    ['without splitting one at the limit', '😀'.repeat(200), `${'😀'.repeat(127)}…`],
  ])('is limited %s', async (_what, name, field) => {
    const { fields, bytes } = await refusedBy(withKeys({ [name]: 0 }));
    expect(fields).toEqual([{ field, message: 'is not a known field' }]);
    expect(bytes).toBeLessThan(2000);
  });

  it.each<[string, unknown, number, string?]>([
    ['options of 10,000 keys', withOptions(unknownKeys(10_000)), 413],
    ['an option with a long name', withOptions({ [longName]: 0 }), 413],
    ['10,000 headers', withOptions({ post_headers: unknownKeys(10_000) }), 413],
    ['a retry policy of 10,000 keys', withPolicy(unknownKeys(10_000)), 413],
    ['a filter with a long name', withFilter(longName), 413],
    ['a filter too long in options that are not', withFilter('x'.repeat(60_000)), 400],
    ['metadata with a long name', `{"${longName}": 1e999}`, 400, `PUT ${QUEUE}`],
    ['a policy in metadata', { _retry_policy: unknownKeys(5000) }, 400, `PUT ${QUEUE}`],
    ['a patch with a long path', [{ op: 'add', path: longName }], 400, `PATCH ${QUEUE}`],
    ['a message of 10,000 keys', { messages: [unknownKeys(10_000)] }, 400, `POST ${QUEUE}/messages`],
    ['20,000 invalid messages', { messages: Array(20_000).fill(0) }, 400, `POST ${QUEUE}/messages`],
    ['a recovery of 10,000 keys', unknownKeys(10_000), 400, `POST ${QUEUE}/recoveries`],
  ])('is limited for %s', async (_what, body, status, route) => {
    const answer = await refusedBy(body, route);
    expect(answer.status).toBe(status);
    expect(answer.fields.length).toBeLessThanOrEqual(20);
    expect(answer.bytes).toBeLessThan(22_000);
  });

  it('is small for too large options, whose content is not checked', async () => {
    const options = unknownKeys(10_000);
    const refused = { code: 'too_large', fields: [] };
    expect(await refusedBy({ subscriber: 7, options })).toMatchObject(refused);
    expect(await refusedBy({ options }, `PATCH ${ONE}`)).toMatchObject(refused);
  });

  it('is limited for an import, which names at least the error code of each line', async ({ call }) => {
    const faults = Array.from({ length: 20 }, () => [{ numeric: 0 }]);
    const options = { filter: { ['\u0001'.repeat(200)]: faults.flat() } };
    const line = `${JSON.stringify({ subscriber: HOOK, options })}\n`;
    const { status, body } = await call('POST', `${QUEUE}/import`, line.repeat(500));
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

const EMPTY_WINDOW = 'until=2026-11-21T12:00:00Z&since=2026-11-21T12:00:00Z';
const BEFORE_ALL_RECORDS = 'since=2025-10-01T00:00:00Z';
const PAGING = ['limit=0', 'limit=101', 'marker=x'];

/** Queries that lists of a queue refuse; the refusal names the first field. */
const refused: Record<string, string[]> = {
  '/v2/queues': [
    ...PAGING,
    'limit=1.5',
    'limit=1e1',
    'limit=',
    'limit=99999999999999999999',
    'marker=',
    'marker=q001',
    `marker=${'x'.repeat(5000)}`,
    'marker=W10%00',
    'detailed=yes',
  ],
  '/v2/queues/orders/subscriptions': [...PAGING, 'match=', `match=${'x'.repeat(2049)}`],
  '/v2/queues/orders/subscriptions/id-1/deliveries': [
    ...PAGING,
    'since=soon',
    EMPTY_WINDOW,
    BEFORE_ALL_RECORDS,
    'status=delivered',
  ],
  '/v2/queues/orders/deliveries': [
    ...PAGING,
    'status=delivered',
    'status=',
    'subscription=',
    'subscription=a%23b',
    `subscription=${'x'.repeat(65)}`,
    'since=2026-11-21',
    'since=2026-02-30T00:00:00Z',
    'since=2026-11-21T12:00:00',
    'since=1795262400',
    'until=2026-11-21T25:00:00Z',
    EMPTY_WINDOW,
    'until=2026-11-21T12:59:59%2B01:00&since=2026-11-21T12:00:00Z',
    'stauts=rejected',
  ],
  '/v2/queues/orders/messages': [
    ...PAGING,
    'since=soon',
    EMPTY_WINDOW,
    'since=2026-11-22T00:00:00Z',
    'status=retrying',
  ],
  '/v2/queues/orders/books': [
    'subscription=a%20b',
    'since=soon',
    EMPTY_WINDOW,
    'since=2026-11-21T12:00:00Z',
    BEFORE_ALL_RECORDS,
    'marker=x',
    'limit=10',
  ],
  '/v2/queues/orders/messages/order-7/deliveries': [...PAGING, 'limit=ten'],
  '/v2/queues/orders/statistics': [
    'step=61',
    'step=',
    'step=60',
    'since=2026-11-13T11:59:00Z&until=2026-11-21T12:00:00Z',
    'until=2026-11-21T11:00:00Z&since=2026-11-21T12:00:00Z',
    'stepSeconds=60',
  ],
  '/v2/queues/orders/recoveries': PAGING,
  '/v2/queues/orders/messages/order-7/explain': [
    ...PAGING,
    'marker=removed.x',
    'subscription=a%20b',
    'other=1',
  ],
};

const rows = Object.entries(refused).flatMap(([path, queries]) =>
  queries.map((query) => [path, query] as const),
);

it.for(rows)('GET %s refuses ?%s', async ([path, query], { api }) => {
  await api.subscribe();
  await recordMessage(api, { messageId: 'order-7' });
  const [field = ''] = query.split('=');
  expect(await api.call('GET', `${path}?${query}`)).toMatchObject(invalid(field));
});
