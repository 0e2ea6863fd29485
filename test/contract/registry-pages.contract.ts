import { randomUUID } from 'node:crypto';
import { beforeEach, describe, expect, it } from 'vitest';
import { parseDestination } from '../../shared/domain/subscription/destination.ts';
import { type Amount, measureAmount } from '../../shared/domain/subscription/room.ts';
import type { Subscription } from '../../shared/domain/subscription/subscription.ts';
import { InvalidMarkerError } from '../../shared/ports/page.ts';
import {
  MAX_SUBSCRIPTIONS_PER_TRANSACTION,
  type PullSubscription,
  type PullSubscriptions,
  QueueFullError,
  QueueMissingError,
  type Registry,
} from '../../shared/ports/subscriptions.ts';
import { addSubscription, addSubscriptions } from '../support/add-subscription.ts';
import { allPages } from '../support/all-pages.ts';
import { aQueue, aSubscription } from '../support/builders.ts';
import { SOME_TIME } from '../support/delivery-builders.ts';
import { removeSubscription } from '../support/remove-subscription.ts';

const at = (queue: string, id: string, more: Partial<Subscription> = {}): Subscription =>
  aSubscription({ queue, id, subscriber: `https://s.test/${id}`, ...more });

/**
 * Contract of pages. `make` returns a registry without queues, because the listing of queues covers all of them.
 */
export const describeRegistryPagesContract = (name: string, make: () => Promise<Registry>): void => {
  describe(`pages of the subscription registry ${name}`, () => {
    const ids = Array.from({ length: 7 }, (_, index) => `s-${index}`);
    let registry: Registry;
    beforeEach(async () => {
      registry = await make();
    });

    const withSubscriptions = async (): Promise<string> => {
      const queue = randomUUID();
      await registry.putQueue(aQueue({ name: queue }));
      await addSubscriptions(
        registry,
        ids.toReversed().map((id) => at(queue, id)),
      );
      return queue;
    };
    const refuses = (listing: Promise<unknown>, marker: string) =>
      expect(listing, marker).rejects.toThrow(InvalidMarkerError);

    it.each([1, 3, 7, 8])(
      'list subscriptions by id, %i at a time, each once, without a marker on the last page',
      async (limit) => {
        const queue = await withSubscriptions();
        const pages = await allPages(limit, (request) => registry.listSubscriptions(queue, request));
        expect(pages.flat().map(({ id }) => id)).toEqual(ids);
        expect(pages.map((page) => page.length).slice(0, -1)).toEqual(pages.slice(1).map(() => limit));
        expect(pages).toHaveLength(Math.ceil(7 / limit));
      },
    );

    it.each([1, 4, 5])('list queues by name, %i at a time, with all fields', async (limit) => {
      const queues = ['.', 'B', 'a-1', 'b_2'].map((queueName, createdAt) =>
        aQueue({ name: queueName, metadata: { queueName }, retryPolicy: {}, createdAt }),
      );
      for (const queue of queues.toReversed()) await registry.putQueue(queue);
      const pages = await allPages(limit, (request) => registry.listQueues(request));
      expect(pages.flat()).toEqual(queues);
      expect(pages).toHaveLength(Math.ceil(4 / limit));
    });

    it('are empty for a missing queue', async () => {
      expect(await registry.listQueues({ limit: 5 })).toEqual({ items: [] });
      expect(await registry.listSubscriptions('none', { limit: 5 })).toEqual({ items: [] });
    });

    it('list and count the queues whose name contains a text, over several pages', async () => {
      const part = randomUUID().slice(0, 13);
      const names = ['a', 'b', 'c'].map((end) => `x-${part}-${end}`);
      for (const name of [...names, `y-${randomUUID()}`]) await registry.putQueue(aQueue({ name }));
      const pages = await allPages(2, (request) => registry.listQueues(request, part));
      expect(pages.map((page) => page.map((queue) => queue.name))).toEqual([
        names.slice(0, 2),
        names.slice(2),
      ]);
      expect(await registry.countQueues(part)).toBe(3);
      expect(await registry.countQueues()).toBe(4);
    });

    it('list the subscriptions whose id starts with a text, or whose name or URL contains it', async () => {
      const queue = randomUUID();
      await registry.putQueue(aQueue({ name: queue }));
      for (const [id, subscriber, name] of [
        ['a-ship', 'https://s.test/1', undefined],
        ['b', 'https://s.test/2', 'Shipping'],
        ['c', 'https://ship.s.test/?a=%20', '100 % ünïq'],
        ['ship-d', 'https://s.test/4', 'Billing'],
      ] as const)
        await addSubscription(registry, aSubscription({ queue, id, subscriber, ...(name && { name }) }));
      for (const limit of [1, 2, 9])
        for (const [match, found] of [
          ['s.test/', ['a-ship', 'b', 'c', 'ship-d']],
          ['ship', ['c', 'ship-d']],
          ['Ship', ['b']],
          ['a-', ['a-ship']],
          ['% ünïq', ['c']],
          ['%20', ['c']],
          ['none', []],
        ] as const) {
          const pages = await allPages(limit, (request) => registry.listSubscriptions(queue, request, match));
          expect(pages.flat().map(({ id }) => id)).toEqual(found);
        }
    });

    it('do not list a deleted queue', async () => {
      await registry.deleteQueue(await withSubscriptions(), SOME_TIME);
      expect(await registry.listQueues({ limit: 5 })).toEqual({ items: [] });
    });

    it('continue after a subscription that was deleted in the meantime', async () => {
      const queue = await withSubscriptions();
      const { marker = '' } = await registry.listSubscriptions(queue, { limit: 3 });
      await removeSubscription(registry, queue, 's-2');
      const { items } = await registry.listSubscriptions(queue, { limit: 9, marker });
      expect(items.map(({ id }) => id)).toEqual(['s-3', 's-4', 's-5', 's-6']);
    });

    it('refuse a marker that was not issued', async () => {
      const queue = await withSubscriptions();
      const { marker = '' } = await registry.listSubscriptions(queue, { limit: 3 });
      const encoded = [
        '{"pk":"QUEUE#other"}',
        ...[[7], [''], ['s-1', 's-2']].map((rest) => JSON.stringify([queue, ...rest])),
      ];
      const forged = ['', 'x', `${marker}x`, `${marker}=`, marker.slice(1), marker.slice(0, -2)];
      for (const wrong of [...forged, ...encoded.map((text) => Buffer.from(text).toString('base64url'))])
        await refuses(registry.listSubscriptions(queue, { limit: 3, marker: wrong }), wrong);
    });

    it('refuse the marker of another listing', async () => {
      const queue = await withSubscriptions();
      await registry.putQueue(aQueue({ name: 'another' }));
      const { marker: ofSubscriptions = '' } = await registry.listSubscriptions(queue, { limit: 3 });
      const { marker: ofQueues = '' } = await registry.listQueues({ limit: 1 });
      const asked = (marker: string) => ({ limit: 3, marker });
      await refuses(registry.listQueues(asked(ofSubscriptions)), ofSubscriptions);
      await refuses(registry.listSubscriptions('another', asked(ofSubscriptions)), ofSubscriptions);
      await refuses(registry.listSubscriptions(queue, asked(ofQueues)), ofQueues);
    });
  });
};

/** Contract of imports, which add many subscriptions at once. */
export const describeRegistryImportsContract = (name: string, make: () => Registry): void => {
  describe(`many subscriptions at once in the subscription registry ${name}`, () => {
    const registry = make();
    let queue: string;
    beforeEach(async () => {
      queue = randomUUID();
      await registry.ensureQueue(aQueue({ name: queue }));
    });
    const numbered = (number: number, more: Partial<Subscription> = {}) => at(queue, `${number}`, more);
    const listed = async () => (await registry.listSubscriptions(queue, { limit: 100 })).items;

    it('are added together, as many as fit into a transaction', async () => {
      const many = Array.from({ length: MAX_SUBSCRIPTIONS_PER_TRANSACTION }, (_, number) => numbered(number));
      expect(await registry.addSubscriptions(many)).toEqual(many.map(() => ({ kind: 'added' })));
      expect(await listed()).toEqual(many.toSorted((one, two) => (one.id < two.id ? -1 : 1)));
    });

    it('are added except those with a conflict, and answered in order', async () => {
      await registry.addSubscriptions([
        numbered(1, { id: 'holder-1' }),
        numbered(3, { id: 'expired-3', expiresAt: SOME_TIME, ttl: 1 }),
        numbered(4, { id: 'holder-4', expiresAt: SOME_TIME + 1, ttl: 1 }),
      ]);
      const many = [0, 1, 2, 3, 4].map((number) => numbered(number, { createdAt: SOME_TIME }));
      expect(await registry.addSubscriptions(many)).toEqual([
        { kind: 'added' },
        { kind: 'conflict', subscriptionId: 'holder-1' },
        { kind: 'added' },
        { kind: 'added' },
        { kind: 'conflict', subscriptionId: 'holder-4' },
      ]);
      const ids = (await listed()).map(({ id }) => id);
      expect(ids).toEqual(['0', '2', '3', 'expired-3', 'holder-1', 'holder-4']);
    });

    it('are not added to a missing queue', async () => {
      await registry.deleteQueue(queue, SOME_TIME);
      const adding = registry.addSubscriptions([numbered(0), numbered(1)]);
      await expect(adding).rejects.toThrow(new QueueMissingError(queue));
      await registry.putQueue(aQueue({ name: queue }));
      expect(await listed()).toEqual([]);
    });

    it('are added within a bound, of concurrent requests as many as it allows', async () => {
      const { createdAt } = aQueue();
      const bounds = { createdAt, most: 3 };
      await registry.addSubscriptions([
        numbered(0),
        numbered(1, { expiresAt: 1, ttl: 1 }),
        numbered(2, { deletedAt: SOME_TIME }),
      ]);
      const adding = [3, 4, 5, 6].map((number) => registry.addSubscriptions([numbered(number)], bounds));
      const results = await Promise.allSettled(adding);
      expect(results.filter(({ status }) => status === 'fulfilled')).toHaveLength(2);
      for (const result of results)
        if (result.status === 'rejected') expect(result.reason).toEqual(new QueueFullError(queue, 3));
      expect(await listed()).toHaveLength(5);
    });

    it('are not added within a bound to another queue of the name', async () => {
      const adding = registry.addSubscriptions([numbered(0)], { createdAt: SOME_TIME - 1, most: 1 });
      await expect(adding).rejects.toThrow(new QueueMissingError(queue));
      expect(await listed()).toEqual([]);
    });

    it('are found by their subscribers, in any order and spelling', async () => {
      await registry.addSubscriptions([numbered(0), numbered(1), numbered(2)]);
      await removeSubscription(registry, queue, '1');
      const spellings = [
        'https://s.test/2',
        'https://s.test/none',
        'HTTPS://S.test:443/0',
        'https://s.test/1',
      ];
      const asked = spellings.map(parseDestination);
      const found = [numbered(2), undefined, numbered(0), undefined];
      expect(await registry.findByDestinations(queue, asked)).toEqual(found);
      expect(await registry.findByDestinations(randomUUID(), asked)).toEqual(asked.map(() => undefined));
    });
  });
};

/** `pass`: advances the clock by milliseconds. */
type RoomUnderTest = { registry: Registry; now: () => number; pass: (milliseconds: number) => void };

const MINUTE_MS = 60_000;

/** Contract of the limits on a queue's subscriptions. */
export const describeQueueRoomContract = (name: string, make: () => RoomUnderTest): void => {
  describe(`the room of a queue ${name}`, () => {
    const { registry, now, pass } = make();
    const two = { subscriptions: 2, bytes: 1_000_000 };
    let queue: string;
    beforeEach(async () => {
      queue = `room-${randomUUID()}`;
      await registry.putQueue(aQueue({ name: queue, createdAt: now() }));
    });

    const one = (id: string, more: Partial<Subscription> = {}) =>
      at(queue, id, { createdAt: now(), ...more });
    const add = async (most: Amount, id: string, more: Partial<Subscription> = {}): Promise<boolean> => {
      const subscription = one(id, more);
      const hasRoom = await registry.takeRoom(queue, measureAmount([subscription]), most);
      if (hasRoom) await addSubscription(registry, subscription);
      return hasRoom;
    };

    it('is limited by the number of subscriptions', async () => {
      expect([await add(two, 'a'), await add(two, 'b'), await add(two, 'c')]).toEqual([true, true, false]);
    });

    it('is limited by bytes, including those of changes', async () => {
      const options = { post_data: 'x'.repeat(1_000) };
      const { bytes } = measureAmount([one('a', { options })]);
      const most = { subscriptions: 100, bytes: 2 * bytes };
      expect(await add(most, 'a', { options })).toBe(true);
      expect(await registry.takeRoom(queue, { subscriptions: 0, bytes: bytes + 1 }, most)).toBe(false);
      expect(await add(most, 'b', { options })).toBe(true);
      expect(await add(most, 'c')).toBe(false);
    });

    it('is available again a minute after subscriptions are removed', async () => {
      for (const id of ['a', 'b']) await add(two, id);
      pass(MINUTE_MS);
      await registry.markDeleted({ queue, subscriptionId: 'a', now: now() });
      expect(await add(two, 'c')).toBe(false);
      pass(MINUTE_MS);
      await registry.removeMarked(queue, 'a');
      expect([await add(two, 'c'), await add(two, 'd')]).toEqual([true, false]);
    });

    it('takes into account subscriptions that were added before there was a counter', async () => {
      await registry.addSubscriptions([one('a'), one('b')]);
      expect(await add(two, 'c')).toBe(false);
    });

    it('is not needed for what does not grow: a queue over its limit may still change its subscriptions', async () => {
      await registry.addSubscriptions([one('a'), one('b')]);
      const most = { subscriptions: 1, bytes: 10_000 };
      expect(await registry.takeRoom(queue, { subscriptions: 0, bytes: 100 }, most)).toBe(true);
      expect(await registry.takeRoom(queue, { subscriptions: 1, bytes: 0 }, most)).toBe(false);
    });

    it('is unlimited for a missing queue', async () => {
      const more = { subscriptions: 1, bytes: 1 };
      expect(await registry.takeRoom('no-such-queue', more, { subscriptions: 0, bytes: 0 })).toBe(true);
    });
  });
};

type PullsUnderTest = { registry: Registry; pullSubscriptions: PullSubscriptions };

/** Contract of the listing of pull subscriptions, which covers all queues. */
export const describePullSubscriptionsContract = (name: string, make: () => PullsUnderTest): void => {
  describe(`pull subscriptions ${name}`, () => {
    it('are listed by queue and id with their expiry, until they are removed, and without those that are called', async () => {
      const { registry, pullSubscriptions } = make();
      const queue = `pulls-${randomUUID()}`;
      /** Those of the queue, read page by page. */
      const ofQueue = async () => {
        const all: PullSubscription[] = [];
        for (let page; page === undefined || page.length > 0; all.push(...page))
          page = await pullSubscriptions.after(all.at(-1));
        return all.filter((one) => one.queue === queue);
      };
      await registry.putQueue(aQueue({ name: queue }));
      for (const [id, subscriber, expiry] of [
        ['s-2', 'pull:two', {}],
        ['s-1', 'pull:one', { ttl: 60, expiresAt: SOME_TIME }],
        ['s-3', 'https://called.test/', {}],
      ] as const)
        await addSubscription(registry, aSubscription({ queue, id, subscriber, ...expiry }));
      const first = { queue, subscriptionId: 's-1', expiresAt: SOME_TIME };
      expect(await ofQueue()).toEqual([first, { queue, subscriptionId: 's-2' }]);
      const { items } = await registry.listQueues({ limit: 100 });
      expect(items.map((one) => one.name)).not.toContain(`${queue}#s-1`);
      await removeSubscription(registry, queue, 's-2');
      expect(await ofQueue()).toEqual([first]);
    });
  });
};
