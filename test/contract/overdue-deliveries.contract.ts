import { describe, expect, it } from 'vitest';
import type { Delivery } from '../../shared/domain/delivery/delivery.ts';
import { postpone } from '../../shared/domain/delivery/transitions.ts';
import { MINUTE_MS } from '../../shared/domain/duration.ts';
import type { Deliveries } from '../../shared/ports/deliveries.ts';
import { aDelivery, SOME_TIME } from '../support/delivery-builders.ts';

const create = async (deliveries: Deliveries, all: readonly Delivery[]): Promise<void> => {
  await Promise.all(
    all.map((delivery) =>
      deliveries.write({ name: 'open', key: delivery.key, expect: { kind: 'absent' }, create: delivery }),
    ),
  );
};

/** Contract of the overdue query. `make` returns an empty store, because the query covers all queues. */
export const describeOverdueDeliveriesContract = (name: string, make: () => Promise<Deliveries>): void => {
  describe(`overdue deliveries ${name}`, () => {
    it('are found up to the exact millisecond', async () => {
      const deliveries = await make();
      const overdue = [1, 2, 3].map((overdueAt) => aDelivery({ status: 'retrying', overdueAt }));
      await create(deliveries, [...overdue, aDelivery({ overdueAt: 4 }), aDelivery()]);
      expect(await deliveries.overdue(3, 10)).toEqual(
        overdue.map(({ key, overdueAt }) => ({ key, overdueAt })),
      );
      expect(await deliveries.overdue(0, 10)).toEqual([]);
    });

    it('are no longer found once settled, and found at the new time once postponed', async () => {
      const deliveries = await make();
      const [settled, postponed] = [aDelivery({ overdueAt: 1 }), aDelivery({ overdueAt: 1 })];
      await create(deliveries, [settled, postponed]);
      for (const [{ key, expiresAt }, overdueAt] of [
        [settled, null],
        [postponed, 9],
      ] satisfies [Delivery, number | null][]) {
        const change = { overdueAt, updatedAt: SOME_TIME, expiresAt };
        await deliveries.write({ name: 'settle', key, expect: { kind: 'overdue_at', overdueAt: 1 }, change });
      }
      expect(await deliveries.overdue(8, 10)).toEqual([]);
      expect(await deliveries.overdue(9, 10)).toEqual([{ key: postponed.key, overdueAt: 9 }]);
    });

    it('expire as much later as they are postponed, with any retention', async () => {
      const deliveries = await make();
      const overdue = aDelivery({ status: 'retrying', overdueAt: SOME_TIME, retentionDays: 15 });
      await create(deliveries, [overdue]);
      const { key, expiresAt } = overdue;
      const first = await deliveries.write(
        postpone({ key, overdueAt: SOME_TIME }, { now: SOME_TIME + 1_500 }),
      );
      const overdueAt = SOME_TIME + 1_500 + 15 * MINUTE_MS;
      const changed = {
        overdueAt,
        expiresAt: expiresAt + 1_500 + 15 * MINUTE_MS,
        updatedAt: SOME_TIME + 1_500,
      };
      expect(first).toEqual({ kind: 'written', delivery: { ...overdue, ...changed } });
      expect(await deliveries.find(key)).toEqual({ ...overdue, ...changed });
    });

    it('are found up to the limit, and all sixty if the limit allows', async () => {
      const deliveries = await make();
      await create(
        deliveries,
        Array.from({ length: 60 }, (_, index) => aDelivery({ overdueAt: index + 1 })),
      );
      for (const limit of [1, 7, 8, 20, 59, 60, 61]) {
        const found = await deliveries.overdue(60, limit);
        expect(found, `up to ${limit}`).toHaveLength(Math.min(limit, 60));
        expect(new Set(found.map(({ key }) => key.subscriptionId)).size).toBe(found.length);
      }
    });

    it('are all found page by page, while others are added', async () => {
      const deliveries = await make();
      const all = Array.from({ length: 30 }, (_, index) => aDelivery({ overdueAt: index + 1 }));
      await create(deliveries, all);
      const waiting = new Set(all.map(({ key }) => key.subscriptionId));
      for (let page = 0; page < 20 && waiting.size > 0; page += 1) {
        for (const { key, overdueAt } of await deliveries.overdue(1000, 5)) {
          waiting.delete(key.subscriptionId);
          const change = { overdueAt: 2000, updatedAt: SOME_TIME, expiresAt: SOME_TIME * 2 };
          await deliveries.write({
            name: 'postpone',
            key,
            expect: { kind: 'overdue_at', overdueAt },
            change,
          });
        }
        await create(deliveries, [aDelivery({ overdueAt: 500 })]);
      }
      expect(waiting).toEqual(new Set());
    });
  });
};
