import { randomUUID } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import type { Delivery } from '../../shared/domain/delivery.ts';
import type { Deliveries } from '../../shared/ports/deliveries.ts';
import { aDelivery, aDeliveryKey, anAttempt, SOME_TIME } from '../support/delivery-builders.ts';

const create = async (deliveries: Deliveries, all: readonly Delivery[]): Promise<void> => {
  await Promise.all(
    all.map((delivery) =>
      deliveries.write({ name: 'open', key: delivery.key, expect: { kind: 'absent' }, create: delivery }),
    ),
  );
};

/** `make` gives a keeper that holds nothing yet: what is overdue is looked for over all queues. */
export const describeDeliveryListingsContract = (name: string, make: () => Promise<Deliveries>): void => {
  describe(`listings of deliveries ${name}`, () => {
    it('lists the deliveries of a message, bucket by bucket and by subscription', async () => {
      const deliveries = await make();
      const messageId = randomUUID();
      const places = [
        [1, 'b'],
        [0, 'z'],
        [2, 'a'],
        [0, 'B'],
        [0, 'a'],
        [1, 'a'],
      ] satisfies [number, string][];
      const all = places.map(([bucket, subscriptionId]) =>
        aDelivery({ key: aDeliveryKey({ messageId, bucket, subscriptionId }) }),
      );
      await create(deliveries, [
        ...all,
        aDelivery(),
        aDelivery({ key: aDeliveryKey({ messageId, queue: 'other' }) }),
      ]);
      const listed = await deliveries.ofMessage({ queue: 'orders.eu-1', messageId }, 3);
      expect(listed.map(({ key }) => [key.bucket, key.subscriptionId])).toEqual([
        [0, 'B'],
        [0, 'a'],
        [0, 'z'],
        [1, 'a'],
        [1, 'b'],
        [2, 'a'],
      ]);
      expect(new Set(listed)).toEqual(new Set(all));
      expect(await deliveries.ofMessage({ queue: 'orders.eu-1', messageId }, 1)).toHaveLength(3);
      expect(await deliveries.ofMessage({ queue: 'orders.eu-1', messageId: randomUUID() }, 3)).toEqual([]);
    });

    it('lists a message with more deliveries than go into one answer', async () => {
      const deliveries = await make();
      const messageId = randomUUID();
      // Near 8 KB each, so that 250 are 2 MB: DynamoDB answers with 1 MB at a time.
      const attempts = Array.from({ length: 30 }, (_, index) =>
        anAttempt({ number: index + 1, snippet: 'x'.repeat(256) }),
      );
      const all = Array.from({ length: 250 }, (_, index) =>
        aDelivery({
          key: aDeliveryKey({ messageId, subscriptionId: String(index).padStart(3, '0') }),
          attempts,
        }),
      );
      await create(deliveries, all);
      expect(await deliveries.ofMessage({ queue: 'orders.eu-1', messageId }, 1)).toEqual(all);
    });

    it('finds what is overdue, up to the very millisecond', async () => {
      const deliveries = await make();
      const overdue = [1, 2, 3].map((overdueAt) => aDelivery({ status: 'retrying', overdueAt }));
      await create(deliveries, [...overdue, aDelivery({ overdueAt: 4 }), aDelivery()]);
      expect(await deliveries.overdue(3, 10)).toEqual(
        overdue.map(({ key, overdueAt }) => ({ key, overdueAt })),
      );
      expect(await deliveries.overdue(0, 10)).toEqual([]);
    });

    it('does not find what was settled, and finds what was postponed at its new time', async () => {
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

    it.each([1, 7, 8, 20, 59, 60, 61])(
      'finds no more than %i of sixty that are overdue, and as many as there are',
      async (limit) => {
        const deliveries = await make();
        await create(
          deliveries,
          Array.from({ length: 60 }, (_, index) => aDelivery({ overdueAt: index + 1 })),
        );
        const found = await deliveries.overdue(60, limit);
        expect(found).toHaveLength(Math.min(limit, 60));
        expect(new Set(found.map(({ key }) => key.subscriptionId)).size).toBe(found.length);
      },
    );

    it('comes to everything that is overdue, page by page, though others keep coming', async () => {
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
