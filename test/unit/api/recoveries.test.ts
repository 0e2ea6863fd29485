import { describe, expect, vi } from 'vitest';
import * as z from 'zod';
import type { DeliveryKey } from '../../../shared/domain/delivery/delivery.ts';
import { sumOfOutcomes } from '../../../shared/domain/recovery/outcomes.ts';
import { buildRecoveryId, newRecovery } from '../../../shared/domain/recovery/recovery.ts';
import { bodyRetentionMs } from '../../../shared/steps/retention.ts';
import {
  recoveryOutcomesViewSchema,
  type RecoveryView,
  recoveryViewSchema,
  toRecoveryOutcomes,
} from '../../../shared/wire/views/recovery.ts';
import {
  type Api,
  apiWithOrders,
  CALLER,
  invalid,
  itWithOrders,
  NOON,
  pagesFrom,
  recordAll,
  refusal,
} from './api-test.ts';

const PATH = '/v2/queues/orders/recoveries';
const WINDOW = { since: '2026-11-21T10:00:00Z', until: '2026-11-21T12:30:00+01:00' };

const it = itWithOrders.extend(
  'start',
  ({ api }) =>
    async (body: unknown = WINDOW): Promise<RecoveryView> => {
      const { status, body: view } = await api.call('POST', PATH, body);
      expect(status).toBe(202);
      return recoveryViewSchema.parse(view);
    },
);

describe('POST /v2/queues/{queue}/recoveries', () => {
  it('records a recovery, sends the operation, and shows it', async ({
    call,
    queued,
    recoveries,
    subscribe,
  }) => {
    await subscribe();
    const selection = { ...WINDOW, subscription: 'id-1', status: 'exhausted' };
    const { status, headers, body } = await call('POST', PATH, selection);
    const { id } = recoveryViewSchema.parse(body);
    expect(status).toBe(202);
    expect(headers.get('location')).toBe(`${PATH}/${id}`);
    const createdAt = '2026-11-21T12:00:00.000Z';
    expect(body).toEqual({
      ...selection,
      id,
      queue: 'orders',
      since: '2026-11-21T10:00:00.000Z',
      until: '2026-11-21T11:30:00.000Z',
      state: 'running',
      found: 0,
      reopened: 0,
      skipped: {},
      createdAt,
      updatedAt: createdAt,
    });
    expect(await recoveries.find('orders', id)).toMatchObject({
      selection: {
        queue: 'orders',
        subscriptionId: 'id-1',
        status: 'exhausted',
        until: NOON - 30 * 60 * 1000,
      },
    });
    const operation = { kind: 'recovery', queue: 'orders', recoveryId: id, orderedAt: NOON };
    expect(queued).toEqual([{ operation, delaySeconds: 3 }]);
  });

  it('begins with the queue, because earlier failures are of an earlier queue of the name', async ({
    call,
    time,
    start,
    recoveries,
  }) => {
    await call('DELETE', '/v2/queues/orders');
    await call('PUT', '/v2/queues/orders');
    const createdAt = time.now;
    time.now += 60_000;
    const until = new Date(time.now).toISOString();
    const byAcceptance = await start({ ...WINDOW, until });
    expect(Date.parse(byAcceptance.since)).toBe(createdAt - 2_000);
    const { id } = await start({ ...WINDOW, until, by: 'failure' });
    const { selection } = (await recoveries.find('orders', id)) ?? {};
    expect(selection).toMatchObject({ acceptedSince: createdAt - 2_000 });
    expect(await start({ since: '2026-11-20T10:00:00Z', until: '2026-11-20T11:00:00Z' })).toMatchObject({
      since: '2026-11-20T10:59:59.999Z',
      until: '2026-11-20T11:00:00.000Z',
    });
  });

  it('takes the window for times of the failure, and looks as far back as records are kept', async ({
    changes,
    start,
    recoveries,
    dependencies: { settings },
  }) => {
    const { id, ...view } = await start({ ...WINDOW, by: 'failure' });
    expect(view).toMatchObject({ since: '2026-11-21T10:00:00.000Z', by: 'failure' });
    expect(await recoveries.find('orders', id)).toMatchObject({
      selection: { since: NOON - 2 * 60 * 60 * 1000, acceptedSince: NOON - bodyRetentionMs(settings, {}) },
    });
    expect(changes).toMatchObject([{ change: 'recovery_started', selection: { by: 'failure' } }]);
    expect(await start({ ...WINDOW, by: 'acceptance' })).not.toHaveProperty('by');
  });

  it('treats an end in the future as now', async ({ start }) => {
    expect(await start({ ...WINDOW, until: '9999-12-31T23:59:59Z' })).toMatchObject({
      until: '2026-11-21T12:00:00.000Z',
    });
  });

  it.for<[unknown, string]>([
    [{ until: WINDOW.until }, 'since'],
    [{ since: WINDOW.since }, 'until'],
    [{ ...WINDOW, since: 'yesterday' }, 'since'],
    [{ ...WINDOW, until: '2026-11-21T10:00:00Z' }, 'until'],
    [{ since: '2026-11-21T12:00:00Z', until: '2026-11-21T13:00:00Z' }, 'since'],
    [{ ...WINDOW, since: '1970-01-01T00:00:00Z' }, 'since'],
    [{ ...WINDOW, status: 'delivered' }, 'status'],
    [{ ...WINDOW, by: 'retry' }, 'by'],
    [{ ...WINDOW, subscription: 'a b' }, 'subscription'],
    [{ ...WINDOW, queue: 'orders' }, 'queue'],
    [[], 'body'],
  ])('refuses %j', async ([body, field], { call, queued, changes }) => {
    expect(await call('POST', PATH, body)).toMatchObject(invalid(field));
    expect(await call('GET', PATH)).toMatchObject({ body: { recoveries: [] } });
    expect([queued, changes]).toEqual([[], []]);
  });

  it('refuses a subscription that does not exist, such as a name', async ({ call, queued }) => {
    expect(await call('POST', PATH, { ...WINDOW, subscription: 'ACME' })).toMatchObject(refusal('not_found'));
    expect(queued).toEqual([]);
  });

  it('leaves no recovery that never runs, if it fails halfway', async ({ call, dependencies, queued }) => {
    const { operations, recoveries } = dependencies;
    vi.spyOn(operations, 'send').mockRejectedValueOnce(new Error('no network'));
    expect(await call('POST', PATH, WINDOW)).toMatchObject(refusal('internal'));
    expect(await call('GET', PATH)).toMatchObject({ body: { recoveries: [] } });
    vi.spyOn(recoveries, 'create').mockRejectedValueOnce(new Error('no network'));
    expect(await call('POST', PATH, WINDOW)).toMatchObject(refusal('internal'));
    expect(queued).toHaveLength(1);
  });
});

it('recoveries are listed newest first, page by page', async ({ pages, start, time }) => {
  const ids: string[] = [];
  for (let index = 0; index < 5; index += 1) {
    time.now += 1;
    ids.unshift((await start()).id);
  }
  const seen = (await pages(`${PATH}?limit=2`, 'recoveries', 'id')).flat();
  expect(seen).toEqual(ids);
});

describe('GET /v2/queues/{queue}/recoveries/{id}', () => {
  it('shows the progress of a recovery', async ({ call, start, recoveries }) => {
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

  it("answers 404 for another queue's recovery", async ({ call, start }) => {
    const { id } = await start();
    expect(await call('GET', `/v2/queues/bills/recoveries/${id}`)).toMatchObject({ status: 404 });
  });
});

describe('DELETE /v2/queues/{queue}/recoveries/{id}', () => {
  it('stops a recovery, and is idempotent', async ({ call, start }) => {
    const { id } = await start();
    expect(await call('DELETE', `${PATH}/${id}`)).toMatchObject({ status: 204, body: undefined });
    expect(await call('GET', `${PATH}/${id}`)).toMatchObject({ body: { state: 'stopped' } });
    expect(await call('DELETE', `${PATH}/${id}`)).toMatchObject({ status: 204 });
  });

  it('succeeds while operate records a page at the same time', async ({ call, start, recoveries }) => {
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

  it('answers 409 if the record changes at every try', async ({ call, start, recoveries, faults }) => {
    const { id } = await start();
    const current = await recoveries.find('orders', id);
    recoveries.save = () => Promise.resolve({ kind: 'refused', current });
    expect(await call('DELETE', `${PATH}/${id}`)).toMatchObject(refusal('conflict'));
    expect(faults).toEqual([]);
  });
});

it('the audit trail says who started and stopped a recovery', async ({ call, start, changes, subscribe }) => {
  await subscribe();
  changes.length = 0;
  const { id } = await start({ ...WINDOW, subscription: 'id-1' });
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
        subscription: 'id-1',
      },
    },
    { ...CALLER, change: 'recovery_stopped', queue: 'orders', recoveryId: id },
  ]);
});

const ID = buildRecoveryId(NOON, 'r-1');
const OUTCOMES = `/v2/queues/orders/recoveries/${ID}/outcomes`;

const page = z.object({
  known: z.boolean(),
  subscriptions: z.array(recoveryOutcomesViewSchema),
  links: z.array(z.object({ href: z.string() })),
});

/** A running recovery of `orders`. */
const RECOVERY = newRecovery(
  ID,
  { queue: 'orders', since: NOON - 1, until: NOON },
  { now: NOON, retentionMs: 1 },
);

/** Records these deliveries, and stores them as a page of the recovery. */
const keepPage = async (api: Api, pages: number, all: Parameters<typeof recordAll>[1]): Promise<void> => {
  const recorded = await recordAll(api, all);
  await api.recoveries.keepPage({ ...RECOVERY, pages, batch: recorded.map(({ key }) => key) });
};

const recoveries = [ID];

describe('GET /v2/queues/{queue}/recoveries/{id}/outcomes', () => {
  it.override('api', async () => {
    const api = await apiWithOrders();
    await api.recoveries.create(RECOVERY);
    return api;
  });

  it('counts, per subscription, what became of the deliveries that were reopened', async ({ api }) => {
    await keepPage(api, 1, [
      { subscriptionId: 's-1', status: 'delivered', recoveries },
      { subscriptionId: 's-1', status: 'exhausted', recoveries },
      // Listed and skipped.
      { subscriptionId: 's-1', status: 'cancelled' },
    ]);
    const next = { number: 2, phase: 'backoff', dueAt: NOON + 5_000, by: 'sqs_delay' } as const;
    await keepPage(api, 2, [{ subscriptionId: 's-2', recoveries, next }]);
    const open = { open: 1, nextAttemptAt: '2026-11-21T12:00:05.000Z' };
    expect(await api.get(OUTCOMES)).toMatchObject({
      known: true,
      subscriptions: [
        { subscriptionId: 's-1', total: 2, delivered: 1, failed: 1, open: 0 },
        { subscriptionId: 's-2', total: 1, delivered: 0, failed: 0, ...open },
      ],
      links: [],
    });
  });

  it('says that nothing is known of a recovery that an earlier version ran', async ({ api }) => {
    const { pages: _, ...earlier } = RECOVERY;
    await api.recoveries.save({ ...earlier, version: 2, state: 'completed', found: 3, reopened: 3 });
    expect(await api.get(OUTCOMES)).toMatchObject({ known: false, subscriptions: [], links: [] });
  });

  it('leaves out a record that cannot be read, and reports it', async ({ api }) => {
    await keepPage(api, 1, [
      { subscriptionId: 's-1', status: 'delivered', recoveries },
      { subscriptionId: 's-2', status: 'delivered', recoveries },
    ]);
    const { deliveryListings } = api.dependencies;
    const records = deliveryListings.records.bind(deliveryListings);
    const error = new TypeError('unreadable');
    deliveryListings.records = async (keys) => {
      const isFaulty = ({ subscriptionId }: DeliveryKey) => subscriptionId === 's-2';
      const { deliveries } = await records(keys.filter((key) => !isFaulty(key)));
      return { deliveries, unreadable: keys.filter(isFaulty).map((key) => ({ key, error })) };
    };
    expect(await api.get(OUTCOMES)).toMatchObject({ subscriptions: [{ subscriptionId: 's-1', total: 1 }] });
    expect(api.faults).toMatchObject([{ fault: error, caller: { queue: 'orders', subscriptionId: 's-2' } }]);
  });

  it('continues through links, and the pages add up', async ({ api }) => {
    for (let count = 0; count < 45; count += 1)
      await keepPage(api, count + 1, [{ subscriptionId: `s-${count % 2}`, status: 'delivered', recoveries }]);
    const read = async (path: string) => page.parse(await api.get(path));
    const pages = await pagesFrom(read, OUTCOMES);
    expect(pages.length).toBeGreaterThan(1);
    const found = pages.flatMap(({ subscriptions }) => subscriptions.map(toRecoveryOutcomes));
    expect(sumOfOutcomes(found)).toMatchObject([
      { subscriptionId: 's-0', total: 23, delivered: 23 },
      { subscriptionId: 's-1', total: 22, delivered: 22 },
    ]);
  });

  it.for([
    ['marker=tampered', 'marker'],
    ['limit=10', 'limit'],
  ] as const)('refuses %s', async ([query, field], { call }) => {
    expect(await call('GET', `${OUTCOMES}?${query}`)).toMatchObject(invalid(field));
  });
});
