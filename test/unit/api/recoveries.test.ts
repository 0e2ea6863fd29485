import { describe, expect } from 'vitest';
import * as z from 'zod';
import type { DeliveryKey } from '../../../shared/domain/delivery/delivery.ts';
import { sumOfOutcomes } from '../../../shared/domain/recovery/outcomes.ts';
import { newRecovery, recoveryIdOf } from '../../../shared/domain/recovery/recovery.ts';
import {
  recoveryOutcomesOf,
  recoveryOutcomesViewSchema,
  type RecoveryView,
  recoveryViewSchema,
} from '../../../shared/wire/views/recovery.ts';
import {
  apiUnderTest,
  apiWithOrders,
  CALLER,
  invalid,
  it,
  listing,
  NOON,
  pageOf,
  pagesFrom,
  recordAll,
} from './api-test.ts';

const PATH = '/v2/queues/orders/recoveries';
const WINDOW = { since: '2026-11-21T10:00:00Z', until: '2026-11-21T12:30:00+01:00' };
const DAY_MS = 24 * 60 * 60 * 1000;

const withQueue = async () => {
  const api = apiUnderTest();
  await api.call('PUT', '/v2/queues/orders', {});
  api.changes.length = 0;
  const start = async (body: unknown = WINDOW): Promise<RecoveryView> => {
    const { status, body: view } = await api.call('POST', PATH, body);
    expect(status).toBe(202);
    return recoveryViewSchema.parse(view);
  };
  return { ...api, start };
};

describe('POST /v2/queues/{queue}/recoveries', () => {
  it('records a recovery, sends the operation, and answers with the recovery', async () => {
    const { call, queued, recoveries } = await withQueue();
    const { status, headers, body } = await call('POST', PATH, {
      ...WINDOW,
      subscription: 's-1',
      status: 'exhausted',
    });
    const view = recoveryViewSchema.parse(body);
    expect(status).toBe(202);
    expect(headers.get('location')).toBe(`${PATH}/${view.id}`);
    expect(body).toEqual({
      id: view.id,
      queue: 'orders',
      since: '2026-11-21T10:00:00.000Z',
      until: '2026-11-21T11:30:00.000Z',
      subscription: 's-1',
      status: 'exhausted',
      state: 'running',
      found: 0,
      reopened: 0,
      skipped: {},
      createdAt: '2026-11-21T12:00:00.000Z',
      updatedAt: '2026-11-21T12:00:00.000Z',
    });
    expect(await recoveries.find('orders', view.id)).toMatchObject({
      selection: {
        queue: 'orders',
        subscriptionId: 's-1',
        status: 'exhausted',
        until: NOON - 30 * 60 * 1000,
      },
    });
    const operation = { kind: 'recovery', queue: 'orders', recoveryId: view.id, orderedAt: NOON };
    expect(queued).toEqual([{ operation, delaySeconds: 3 }]);
  });

  it('treats an end in the future as now', async () => {
    const { start } = await withQueue();
    expect(await start({ ...WINDOW, until: '9999-12-31T23:59:59Z' })).toMatchObject({
      until: '2026-11-21T12:00:00.000Z',
    });
  });

  it('accepts windows as far back as records are kept', async () => {
    const { call, start } = await withQueue();
    // 30 days of retention after 15 days of schedule, in which each of 100 retries is delayed by another hour.
    const oldest = NOON - 45 * DAY_MS - 100 * 60 * 60 * 1000;
    await start({ ...WINDOW, since: new Date(oldest).toISOString() });
    const older = { ...WINDOW, since: new Date(oldest - 1).toISOString() };
    expect(await call('POST', PATH, older)).toMatchObject(invalid('since'));
  });

  it.each([
    [{ until: WINDOW.until }, 'since'],
    [{ since: WINDOW.since }, 'until'],
    [{ ...WINDOW, since: 'yesterday' }, 'since'],
    [{ ...WINDOW, until: '2026-11-21T10:00:00Z' }, 'until'],
    [{ since: '2026-11-21T12:00:00Z', until: '2026-11-21T13:00:00Z' }, 'since'],
    [{ ...WINDOW, since: '1970-01-01T00:00:00Z' }, 'since'],
    [{ ...WINDOW, status: 'delivered' }, 'status'],
    [{ ...WINDOW, subscription: 'a b' }, 'subscription'],
    [{ ...WINDOW, queue: 'orders' }, 'queue'],
    [[], 'body'],
  ])('refuses %j', async (body, field) => {
    const { call, queued, changes } = await withQueue();
    expect(await call('POST', PATH, body)).toMatchObject(invalid(field));
    expect(await call('GET', PATH)).toMatchObject({ body: { recoveries: [] } });
    expect([queued, changes]).toEqual([[], []]);
  });

  it('leaves no recovery on record that never runs, if it fails halfway', async () => {
    const unsent = apiUnderTest({ operations: { send: () => Promise.reject(new Error('no network')) } });
    await unsent.call('PUT', '/v2/queues/orders', {});
    expect(await unsent.call('POST', PATH, WINDOW)).toMatchObject({ status: 500 });
    expect(await unsent.call('GET', PATH)).toMatchObject({ body: { recoveries: [] } });

    const { recoveries } = apiUnderTest();
    const unkept = apiUnderTest({
      recoveries: { ...recoveries, create: () => Promise.reject(new Error('no network')) },
    });
    await unkept.call('PUT', '/v2/queues/orders', {});
    expect(await unkept.call('POST', PATH, WINDOW)).toMatchObject({ status: 500 });
    expect(unkept.queued).toHaveLength(1);
  });
});

describe('GET /v2/queues/{queue}/recoveries', () => {
  it('lists recoveries newest first, page by page', async () => {
    const { call, start, time } = await withQueue();
    const ids: string[] = [];
    for (let index = 0; index < 5; index += 1) {
      time.now += 1;
      ids.unshift((await start()).id);
    }
    const seen: string[] = [];
    const list = listing({ call }, pageOf({ recoveries: z.array(recoveryViewSchema) }));
    for await (const { recoveries } of pagesFrom(list, `${PATH}?limit=2`))
      seen.push(...recoveries.map(({ id }) => id));
    expect(seen).toEqual(ids);
  });
});

describe('GET /v2/queues/{queue}/recoveries/{id}', () => {
  it('shows the progress of a recovery', async () => {
    const { call, start, recoveries } = await withQueue();
    const { id } = await start();
    const current = await recoveries.find('orders', id);
    if (current === undefined) throw new Error('The recovery is not on record');
    const skipped = { body_gone: 1 };
    await recoveries.save({ ...current, version: 2, state: 'completed', found: 4, reopened: 3, skipped });
    expect(await call('GET', `${PATH}/${id}`)).toMatchObject({
      status: 200,
      body: { id, state: 'completed', found: 4, reopened: 3, skipped },
    });
  });

  it("answers 404 for another queue's recovery", async () => {
    const { call, start } = await withQueue();
    const { id } = await start();
    expect(await call('GET', `/v2/queues/bills/recoveries/${id}`)).toMatchObject({ status: 404 });
  });
});

describe('DELETE /v2/queues/{queue}/recoveries/{id}', () => {
  it('stops a recovery, and is idempotent', async () => {
    const { call, start } = await withQueue();
    const { id } = await start();
    expect(await call('DELETE', `${PATH}/${id}`)).toMatchObject({ status: 204, body: undefined });
    expect(await call('GET', `${PATH}/${id}`)).toMatchObject({ body: { state: 'stopped' } });
    expect(await call('DELETE', `${PATH}/${id}`)).toMatchObject({ status: 204 });
  });

  it('succeeds while operate records a page at the same time', async () => {
    const { call, start, recoveries } = await withQueue();
    const { id } = await start();
    const store = { ...recoveries };
    let overtaken = false;
    recoveries.save = async (recovery) => {
      if (!overtaken) {
        overtaken = true;
        await store.save({ ...recovery, state: 'running', found: 50, reopened: 50 });
      }
      return await store.save(recovery);
    };
    expect(await call('DELETE', `${PATH}/${id}`)).toMatchObject({ status: 204 });
    expect(await call('GET', `${PATH}/${id}`)).toMatchObject({ body: { state: 'stopped', reopened: 50 } });
  });

  it('answers 409 if the record changes at every try', async () => {
    const { call, start, recoveries, faults } = await withQueue();
    const { id } = await start();
    const current = await recoveries.find('orders', id);
    recoveries.save = () => Promise.resolve({ kind: 'refused', current });
    expect(await call('DELETE', `${PATH}/${id}`)).toMatchObject({
      status: 409,
      body: { error: { code: 'conflict' } },
    });
    expect(faults).toEqual([]);
  });
});

describe('the audit trail of recoveries', () => {
  it('contains who started and stopped a recovery', async () => {
    const { call, start, changes } = await withQueue();
    const { id } = await start({ ...WINDOW, subscription: 's-1' });
    await call('DELETE', `${PATH}/${id}`);
    await call('DELETE', `${PATH}/${id}`);
    expect(changes).toEqual([
      {
        ...CALLER,
        change: 'recovery_started',
        queue: 'orders',
        recoveryId: id,
        selection: {
          since: '2026-11-21T10:00:00.000Z',
          until: '2026-11-21T11:30:00.000Z',
          subscription: 's-1',
        },
      },
      { ...CALLER, change: 'recovery_stopped', queue: 'orders', recoveryId: id },
    ]);
  });
});

const ID = recoveryIdOf(NOON, 'r-1');
const OUTCOMES = `/v2/queues/orders/recoveries/${ID}/outcomes`;

const page = z.object({
  known: z.boolean(),
  subscriptions: z.array(recoveryOutcomesViewSchema),
  links: z.array(z.object({ href: z.string() })),
});

/** The API with a running recovery of `orders`. */
const withRecovery = async (...overrides: Parameters<typeof apiWithOrders>) => {
  const api = await apiWithOrders(...overrides);
  const selection = { queue: 'orders', since: NOON - 1, until: NOON };
  const recovery = newRecovery(ID, selection, { now: NOON, retentionMs: 1 });
  await api.recoveries.create(recovery);
  let pages = 0;
  /** Records these deliveries, and stores them as a page of the recovery. */
  const list = async (all: Parameters<typeof recordAll>[1]): Promise<void> => {
    const recorded = await recordAll(api, all);
    pages += 1;
    await api.recoveries.keepPage({ ...recovery, pages, batch: recorded.map(({ key }) => key) });
  };
  return { ...api, recovery, list };
};

const recoveries = [ID];

describe('GET /v2/queues/{queue}/recoveries/{id}/outcomes', () => {
  it('counts, per subscription, what became of the deliveries that were reopened', async () => {
    const { call, list } = await withRecovery();
    await list([
      { subscriptionId: 's-1', status: 'delivered', recoveries },
      { subscriptionId: 's-1', status: 'exhausted', recoveries },
      // Listed and skipped.
      { subscriptionId: 's-1', status: 'cancelled' },
    ]);
    await list([
      {
        subscriptionId: 's-2',
        recoveries,
        next: { number: 2, phase: 'backoff', dueAt: NOON + 5_000, by: 'sqs_delay' },
      },
    ]);
    expect(await call('GET', OUTCOMES)).toMatchObject({
      status: 200,
      body: {
        known: true,
        subscriptions: [
          { subscriptionId: 's-1', total: 2, delivered: 1, failed: 1, open: 0 },
          {
            subscriptionId: 's-2',
            total: 1,
            delivered: 0,
            failed: 0,
            open: 1,
            nextAttemptAt: '2026-11-21T12:00:05.000Z',
          },
        ],
        links: [],
      },
    });
  });

  it('says that nothing is known of a recovery that an earlier version ran', async () => {
    const { call, recovery, recoveries: stored } = await withRecovery();
    const { pages: _, ...earlier } = recovery;
    await stored.save({ ...earlier, version: 2, state: 'completed', found: 3, reopened: 3 });
    expect(await call('GET', OUTCOMES)).toMatchObject({
      status: 200,
      body: { known: false, subscriptions: [], links: [] },
    });
  });

  it('leaves out a record that cannot be read, and reports it', async () => {
    const { call, list, faults, dependencies } = await withRecovery();
    await list([
      { subscriptionId: 's-1', status: 'delivered', recoveries },
      { subscriptionId: 's-2', status: 'delivered', recoveries },
    ]);
    const { deliveryListings } = dependencies;
    const records = deliveryListings.records.bind(deliveryListings);
    const error = new TypeError('unreadable');
    deliveryListings.records = async (keys) => {
      const isFaulty = ({ subscriptionId }: DeliveryKey) => subscriptionId === 's-2';
      const { deliveries } = await records(keys.filter((key) => !isFaulty(key)));
      return { deliveries, unreadable: keys.filter(isFaulty).map((key) => ({ key, error })) };
    };
    expect(await call('GET', OUTCOMES)).toMatchObject({
      status: 200,
      body: { subscriptions: [{ subscriptionId: 's-1', total: 1 }] },
    });
    expect(faults).toMatchObject([{ fault: error, caller: { queue: 'orders', subscriptionId: 's-2' } }]);
  });

  it('continues through links, and the pages add up', async () => {
    const { call, list } = await withRecovery();
    for (let count = 0; count < 45; count += 1)
      await list([{ subscriptionId: `s-${count % 2}`, status: 'delivered', recoveries }]);
    const found = [];
    let pages = 0;
    for await (const { subscriptions } of pagesFrom(listing({ call }, page), OUTCOMES)) {
      found.push(...subscriptions.map(recoveryOutcomesOf));
      pages += 1;
    }
    expect(pages).toBeGreaterThan(1);
    expect(sumOfOutcomes(found)).toMatchObject([
      { subscriptionId: 's-0', total: 23, delivered: 23 },
      { subscriptionId: 's-1', total: 22, delivered: 22 },
    ]);
  });

  it.each([
    ['marker=tampered', 'marker'],
    ['limit=10', 'limit'],
  ])('refuses %s', async (query, field) => {
    const { call } = await withRecovery();
    expect(await call('GET', `${OUTCOMES}?${query}`)).toMatchObject(invalid(field));
  });
});
