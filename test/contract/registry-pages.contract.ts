import { randomUUID } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { InvalidMarkerError } from '../../shared/ports/page.ts';
import { allPages } from '../support/all-pages.ts';
import type { Registry } from '../../shared/ports/subscriptions.ts';
import { aQueue, aSubscription } from '../support/builders.ts';
import { SOME_TIME } from '../support/delivery-builders.ts';
import { removeSubscription } from '../support/remove-subscription.ts';

const ids = Array.from({ length: 7 }, (_, index) => `s-${index}`);

/**
 * Contract of pages. `make` returns a registry without queues, because the listing of queues covers all of them.
 */
export const describeRegistryPagesContract = (name: string, make: () => Promise<Registry>): void => {
  const withSubscriptions = async () => {
    const registry = await make();
    const queue = aQueue({ name: randomUUID() });
    await registry.putQueue(queue);
    for (const id of [...ids].reverse()) {
      await registry.addSubscription(
        aSubscription({ queue: queue.name, id, subscriber: `https://s.test/${id}` }),
      );
    }
    return { registry, queue: queue.name };
  };

  describe(`pages of the subscription registry ${name}`, () => {
    it.each([1, 3, 7, 8])(
      'list subscriptions by id, %i at a time, each once, without a marker on the last page',
      async (limit) => {
        const { registry, queue } = await withSubscriptions();
        const pages = await allPages(limit, (request) => registry.listSubscriptions(queue, request));
        expect(pages.flat().map(({ id }) => id)).toEqual(ids);
        expect(pages.map((page) => page.length).slice(0, -1)).toEqual(pages.slice(1).map(() => limit));
        expect(pages).toHaveLength(Math.ceil(7 / limit));
      },
    );

    it.each([1, 4, 5])('list queues by name, %i at a time, with all fields', async (limit) => {
      const registry = await make();
      const queues = ['.', 'B', 'a-1', 'b_2'].map((queueName, createdAt) =>
        aQueue({ name: queueName, metadata: { queueName }, retryPolicy: {}, createdAt }),
      );
      for (const queue of [...queues].reverse()) await registry.putQueue(queue);
      const pages = await allPages(limit, (request) => registry.listQueues(request));
      expect(pages.flat()).toEqual(queues);
      expect(pages).toHaveLength(Math.ceil(4 / limit));
    });

    it('are empty for a missing queue', async () => {
      const registry = await make();
      expect(await registry.listQueues({ limit: 5 })).toEqual({ items: [] });
      expect(await registry.listSubscriptions('none', { limit: 5 })).toEqual({ items: [] });
    });

    it('list and count the queues whose name contains a text, over several pages', async () => {
      const registry = await make();
      const part = randomUUID().slice(0, 13);
      const names = ['a', 'b', 'c'].map((end) => `x-${part}-${end}`);
      for (const name of [...names, `y-${randomUUID()}`]) await registry.putQueue(aQueue({ name }));
      const first = await registry.listQueues({ limit: 2 }, part);
      expect(first.items.map(({ name }) => name)).toEqual(names.slice(0, 2));
      const marker = first.marker ?? '';
      expect((await registry.listQueues({ limit: 2, marker }, part)).items.map(({ name }) => name)).toEqual(
        names.slice(2),
      );
      expect(await registry.countQueues(part)).toBe(3);
      expect(await registry.countQueues()).toBe(4);
    });

    it('list the subscriptions whose id starts with a text, or whose name or URL contains it', async () => {
      const registry = await make();
      const queue = aQueue({ name: randomUUID() });
      await registry.putQueue(queue);
      for (const [id, subscriber, name] of [
        ['a-ship', 'https://s.test/1', undefined],
        ['b', 'https://s.test/2', 'Shipping'],
        ['c', 'https://ship.s.test/?a=%20', '100 % ünïq'],
        ['ship-d', 'https://s.test/4', 'Billing'],
      ] as const) {
        await registry.addSubscription(
          aSubscription({ queue: queue.name, id, subscriber, ...(name && { name }) }),
        );
      }
      const idsFor = async (match: string, limit: number): Promise<string[]> => {
        const pages = await allPages(limit, (request) =>
          registry.listSubscriptions(queue.name, request, match),
        );
        return pages.flat().map(({ id }) => id);
      };
      for (const limit of [1, 2, 9]) {
        expect(await idsFor('s.test/', limit)).toEqual(['a-ship', 'b', 'c', 'ship-d']);
        expect(await idsFor('ship', limit)).toEqual(['c', 'ship-d']);
        expect(await idsFor('Ship', limit)).toEqual(['b']);
        expect(await idsFor('a-', limit)).toEqual(['a-ship']);
        expect(await idsFor('% ünïq', limit)).toEqual(['c']);
        expect(await idsFor('%20', limit)).toEqual(['c']);
        expect(await idsFor('none', limit)).toEqual([]);
      }
    });

    it('do not list a deleted queue', async () => {
      const { registry, queue } = await withSubscriptions();
      await registry.deleteQueue(queue, SOME_TIME);
      expect(await registry.listQueues({ limit: 5 })).toEqual({ items: [] });
    });

    it('continue after a subscription that was deleted in the meantime', async () => {
      const { registry, queue } = await withSubscriptions();
      const { marker } = await registry.listSubscriptions(queue, { limit: 3 });
      await removeSubscription(registry, queue, 's-2');
      const { items } = await registry.listSubscriptions(queue, {
        limit: 9,
        ...(marker === undefined ? {} : { marker }),
      });
      expect(items.map(({ id }) => id)).toEqual(['s-3', 's-4', 's-5', 's-6']);
    });

    it('refuse a marker that was not issued', async () => {
      const { registry, queue } = await withSubscriptions();
      const { marker = '' } = await registry.listSubscriptions(queue, { limit: 3 });
      const forged = [
        '',
        'x',
        `${marker}x`,
        `${marker}=`,
        marker.slice(1),
        marker.slice(0, -2),
        Buffer.from('{"pk":"QUEUE#other"}').toString('base64url'),
        Buffer.from(JSON.stringify([queue, 7])).toString('base64url'),
        Buffer.from(JSON.stringify([queue, ''])).toString('base64url'),
        Buffer.from(JSON.stringify([queue, 's-1', 's-2'])).toString('base64url'),
      ];
      for (const wrong of forged) {
        const listing = registry.listSubscriptions(queue, { limit: 3, marker: wrong });
        await expect(listing, wrong).rejects.toThrow(InvalidMarkerError);
      }
    });

    it('refuse the marker of another listing', async () => {
      const { registry, queue } = await withSubscriptions();
      await registry.putQueue(aQueue({ name: 'another' }));
      const { marker: ofSubscriptions = '' } = await registry.listSubscriptions(queue, { limit: 3 });
      const { marker: ofQueues = '' } = await registry.listQueues({ limit: 1 });
      await expect(registry.listQueues({ limit: 3, marker: ofSubscriptions })).rejects.toThrow(
        InvalidMarkerError,
      );
      for (const [other, marker] of [
        ['another', ofSubscriptions],
        [queue, ofQueues],
      ] satisfies [string, string][]) {
        await expect(registry.listSubscriptions(other, { limit: 3, marker })).rejects.toThrow(
          InvalidMarkerError,
        );
      }
    });
  });
};
