import { describe, expect, it } from 'vitest';
import * as z from 'zod';
import type { DeliveryKey } from '../../../shared/domain/delivery/delivery.ts';
import { newRecovery, recoveryIdOf } from '../../../shared/domain/recovery/recovery.ts';
import { sumOfOutcomes } from '../../../shared/domain/recovery/outcomes.ts';
import { recoveryOutcomesOf, recoveryOutcomesViewSchema } from '../../../shared/wire/views/recovery.ts';
import { faultOf, NOON } from './api-under-test.ts';
import { apiWithOrders, recordAll } from './recorded.ts';

const ID = recoveryIdOf(NOON, 'r-1');
const PATH = `/v2/queues/orders/recoveries/${ID}/outcomes`;

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
    expect(await call('GET', PATH)).toMatchObject({
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
    expect(await call('GET', PATH)).toMatchObject({
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
    expect(await call('GET', PATH)).toMatchObject({
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
    for (let path: string | undefined = PATH; path !== undefined; pages += 1) {
      const { subscriptions, links } = page.parse((await call('GET', path)).body);
      found.push(...subscriptions.map(recoveryOutcomesOf));
      path = links[0]?.href;
    }
    expect(pages).toBeGreaterThan(1);
    expect(sumOfOutcomes(found)).toMatchObject([
      { subscriptionId: 's-0', total: 23, delivered: 23 },
      { subscriptionId: 's-1', total: 22, delivered: 22 },
    ]);
  });

  it('answers 404 for an unknown recovery, and refuses a marker that it did not issue', async () => {
    const { call } = await withRecovery();
    for (const id of ['none', 'not%20an%20id'])
      expect(await call('GET', `/v2/queues/orders/recoveries/${id}/outcomes`)).toMatchObject({
        status: 404,
        body: faultOf('not_found'),
      });
    for (const [query, field] of [
      ['marker=tampered', 'marker'],
      ['limit=10', 'limit'],
    ] as const)
      expect(await call('GET', `${PATH}?${query}`)).toMatchObject({
        status: 400,
        body: faultOf('invalid_request', field),
      });
  });
});
