import { expect, it } from 'vitest';
import { apiUnderTest, faultOf } from './api-under-test.ts';

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
  '/v2/queues/orders/recoveries': [
    ['limit=0', 'limit'],
    ['marker=tampered', 'marker'],
  ],
};

const rows = Object.entries(refused).flatMap(([path, queries]) => queries.map((query) => [path, ...query]));

it.each(rows)('GET %s refuses ?%s and names %s', async (path, query, field) => {
  const { call } = apiUnderTest();
  await call('POST', '/v2/queues/orders/subscriptions', { subscriber: 'https://hooks.example/' });
  expect(await call('GET', `${path}?${query}`)).toMatchObject({
    status: 400,
    body: faultOf('invalid_request', field),
  });
});
