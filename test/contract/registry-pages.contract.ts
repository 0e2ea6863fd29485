import { randomUUID } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { parseDestination } from '../../shared/domain/subscription/destination.ts';
import { type Amount, amountOf } from '../../shared/domain/subscription/room.ts';
import { InvalidMarkerError } from '../../shared/ports/page.ts';
import {
  MAX_SUBSCRIPTIONS_PER_TRANSACTION,
  type PullSubscription,
  type PullSubscriptions,
  QueueMissingError,
  type Registry,
} from '../../shared/ports/subscriptions.ts';
import { allPages } from '../support/all-pages.ts';
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

/** `pass`: advances the clock by milliseconds. */
type RoomUnderTest = { registry: Registry; now: () => number; pass: (milliseconds: number) => void };

const MINUTE_MS = 60_000;

/** Contract of the limits on a queue's subscriptions. */
export const describeQueueRoomContract = (name: string, make: () => RoomUnderTest): void => {
  describe(`the room of a queue ${name}`, () => {
    const withQueue = async () => {
      const { registry, now, pass } = make();
      const queue = `room-${randomUUID()}`;
      await registry.putQueue(aQueue({ name: queue, createdAt: now() }));
      const one = (id: string, more = {}) =>
        aSubscription({ id, queue, subscriber: `https://hooks.example/${id}`, createdAt: now(), ...more });
      const add = async (most: Amount, id: string, more = {}): Promise<boolean> => {
        const subscription = one(id, more);
        const hasRoom = await registry.takeRoom(queue, amountOf([subscription]), most);
        if (hasRoom) await registry.addSubscription(subscription);
        return hasRoom;
      };
      return { registry, queue, add, one, now, pass };
    };

    it('is limited by the number of subscriptions', async () => {
      const { add } = await withQueue();
      const most = { subscriptions: 2, bytes: 1_000_000 };
      expect([await add(most, 'a'), await add(most, 'b'), await add(most, 'c')]).toEqual([true, true, false]);
    });

    it('is limited by bytes, including those of changes', async () => {
      const { registry, queue, add, one } = await withQueue();
      const options = { post_data: 'x'.repeat(1_000) };
      const { bytes } = amountOf([one('a', { options })]);
      const most = { subscriptions: 100, bytes: 2 * bytes };
      expect(await add(most, 'a', { options })).toBe(true);
      expect(await registry.takeRoom(queue, { subscriptions: 0, bytes: bytes + 1 }, most)).toBe(false);
      expect(await add(most, 'b', { options })).toBe(true);
      expect(await add(most, 'c')).toBe(false);
    });

    it('is available again a minute after subscriptions are removed', async () => {
      const { registry, queue, add, now, pass } = await withQueue();
      const most = { subscriptions: 2, bytes: 1_000_000 };
      await add(most, 'a');
      await add(most, 'b');
      pass(MINUTE_MS);
      await registry.markDeleted({ queue, subscriptionId: 'a', now: now() });
      expect(await add(most, 'c')).toBe(false);
      pass(MINUTE_MS);
      await registry.removeMarked(queue, 'a');
      expect([await add(most, 'c'), await add(most, 'd')]).toEqual([true, false]);
    });

    it('takes into account subscriptions that were added before there was a counter', async () => {
      const { registry, add, one } = await withQueue();
      await registry.addSubscriptions([one('a'), one('b')]);
      expect(await add({ subscriptions: 2, bytes: 1_000_000 }, 'c')).toBe(false);
    });

    it('is not needed for what does not grow: a queue over its limit may still change its subscriptions', async () => {
      const { registry, queue, one } = await withQueue();
      await registry.addSubscriptions([one('a'), one('b')]);
      const most = { subscriptions: 1, bytes: 10_000 };
      expect(await registry.takeRoom(queue, { subscriptions: 0, bytes: 100 }, most)).toBe(true);
      expect(await registry.takeRoom(queue, { subscriptions: 1, bytes: 0 }, most)).toBe(false);
    });

    it('is unlimited for a missing queue', async () => {
      const { registry } = await withQueue();
      const more = { subscriptions: 1, bytes: 1 };
      expect(await registry.takeRoom('no-such-queue', more, { subscriptions: 0, bytes: 0 })).toBe(true);
    });
  });
};

type UnderTest = { registry: Registry; pullSubscriptions: PullSubscriptions };

/** Contract of the listing of pull subscriptions, which covers all queues. */
export const describePullSubscriptionsContract = (name: string, make: () => UnderTest): void => {
  /** Those of a queue, read page by page. */
  const ofQueue = async ({ pullSubscriptions }: UnderTest, queue: string): Promise<PullSubscription[]> => {
    const all: PullSubscription[] = [];
    for (
      let page = await pullSubscriptions.after();
      page.length > 0;
      page = await pullSubscriptions.after(page.at(-1))
    )
      all.push(...page);
    return all.filter((one) => one.queue === queue);
  };

  describe(`pull subscriptions ${name}`, () => {
    it('are listed by queue and id with their expiry, until they are removed, and without those that are called', async () => {
      const world = make();
      const { registry } = world;
      const queue = `pulls-${randomUUID()}`;
      await registry.putQueue(aQueue({ name: queue }));
      const add = (id: string, subscriber: string, expiresAt?: number) =>
        registry.addSubscription(
          aSubscription({ queue, id, subscriber, ...(expiresAt !== undefined && { ttl: 60, expiresAt }) }),
        );
      await add('s-2', 'pull:two');
      await add('s-1', 'pull:one', SOME_TIME);
      await add('s-3', 'https://called.test/');
      expect(await ofQueue(world, queue)).toEqual([
        { queue, subscriptionId: 's-1', expiresAt: SOME_TIME },
        { queue, subscriptionId: 's-2' },
      ]);
      expect((await registry.listQueues({ limit: 100 })).items.map((one) => one.name)).not.toContain(
        `${queue}#s-1`,
      );
      await registry.markDeleted({ queue, subscriptionId: 's-2', now: SOME_TIME });
      await registry.removeMarked(queue, 's-2');
      expect(await ofQueue(world, queue)).toEqual([{ queue, subscriptionId: 's-1', expiresAt: SOME_TIME }]);
    });
  });
};
