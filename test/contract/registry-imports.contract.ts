import { parseDestination } from '../../shared/domain/subscription/destination.ts';
import { randomUUID } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import {
  MAX_SUBSCRIPTIONS_PER_TRANSACTION,
  QueueMissingError,
  type Registry,
} from '../../shared/ports/subscriptions.ts';
import { aQueue, aSubscription } from '../support/builders.ts';
import { SOME_TIME } from '../support/delivery-builders.ts';
import { removeSubscription } from '../support/remove-subscription.ts';

/** Contract of imports, which add many subscriptions at once. */
export const describeRegistryImportsContract = (name: string, make: () => Registry): void => {
  describe(`many subscriptions at once in the subscription registry ${name}`, () => {
    it('are added together, as many as fit into a transaction', async () => {
      const { registry, queue, numbered } = await withQueue(make());
      const many = Array.from({ length: MAX_SUBSCRIPTIONS_PER_TRANSACTION }, (_, number) => numbered(number));
      expect(await registry.addSubscriptions(many)).toEqual(many.map(() => ({ kind: 'added' })));
      const { items } = await registry.listSubscriptions(queue, { limit: 100 });
      expect(items).toEqual(many.toSorted((one, other) => (one.id < other.id ? -1 : 1)));
    });

    it('are added except those with a conflict, and answered in order', async () => {
      const { registry, queue, numbered } = await withQueue(make());
      await registry.addSubscriptions([
        { ...numbered(1), id: 'holder-1' },
        { ...numbered(3), id: 'expired-3', expiresAt: SOME_TIME, ttl: 1 },
        { ...numbered(4), id: 'holder-4', expiresAt: SOME_TIME + 1, ttl: 1 },
      ]);
      const many = [0, 1, 2, 3, 4].map((number) => ({ ...numbered(number), createdAt: SOME_TIME }));
      expect(await registry.addSubscriptions(many)).toEqual([
        { kind: 'added' },
        { kind: 'conflict', subscriptionId: 'holder-1' },
        { kind: 'added' },
        { kind: 'added' },
        { kind: 'conflict', subscriptionId: 'holder-4' },
      ]);
      const { items } = await registry.listSubscriptions(queue, { limit: 100 });
      expect(items.map(({ id }) => id)).toEqual(['expired-3', 'holder-1', 'holder-4', 's-0', 's-2', 's-3']);
    });

    it('are not added to a missing queue', async () => {
      const { registry, queue, numbered } = await withQueue(make());
      await registry.deleteQueue(queue, SOME_TIME);
      await expect(registry.addSubscriptions([numbered(0), numbered(1)])).rejects.toThrow(
        new QueueMissingError(queue),
      );
      await registry.putQueue(aQueue({ name: queue }));
      expect(await registry.listSubscriptions(queue, { limit: 10 })).toEqual({ items: [] });
    });

    it('are found by their subscribers, in any order and spelling', async () => {
      const { registry, queue, numbered } = await withQueue(make());
      await registry.addSubscriptions([numbered(0), numbered(1), numbered(2)]);
      await removeSubscription(registry, queue, numbered(1).id);
      const asked = [
        'https://s.test/2',
        'https://s.test/none',
        'HTTPS://S.test:443/0',
        'https://s.test/1',
      ].map(parseDestination);
      expect(await registry.findByDestinations(queue, asked)).toEqual([
        numbered(2),
        undefined,
        numbered(0),
        undefined,
      ]);
      expect(await registry.findByDestinations(randomUUID(), asked)).toEqual(asked.map(() => undefined));
    });
  });
};

const withQueue = async (registry: Registry) => {
  const queue = randomUUID();
  await registry.ensureQueue(aQueue({ name: queue }));
  const numbered = (number: number) =>
    aSubscription({ queue, id: `s-${number}`, subscriber: `https://s.test/${number}`, createdAt: 0 });
  return { registry, queue, numbered };
};
