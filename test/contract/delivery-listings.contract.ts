import type { ChangedFields } from './delivery-cases.ts';
import { randomUUID } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { type Status, STATUSES } from '../../shared/domain/delivery/vocabulary.ts';
import type { Delivery } from '../../shared/domain/delivery/delivery.ts';
import type {
  Deliveries,
  DeliveryListings,
  DeliverySelection,
  ListedDelivery,
} from '../../shared/ports/deliveries.ts';
import { InvalidMarkerError } from '../../shared/ports/page.ts';
import { allPages } from '../support/all-pages.ts';
import { aDelivery, aDeliveryKey, SOME_TIME } from '../support/delivery-builders.ts';

export type ListedDeliveries = { deliveries: Deliveries; listings: DeliveryListings };

export const createAll = async (deliveries: Deliveries, all: readonly Delivery[]): Promise<void> => {
  await Promise.all(
    all.map((delivery) =>
      deliveries.write({ name: 'open', key: delivery.key, expect: { kind: 'absent' }, create: delivery }),
    ),
  );
};

const listed = ({ key, acceptedAt, status }: Delivery): ListedDelivery => ({ key, acceptedAt, status });

/** Contract of delivery listings. Every test uses a separate queue, so `make` may return the same store again. */
export const describeDeliveryListingsContract = (name: string, make: () => ListedDeliveries): void => {
  /** `count` deliveries for two subscriptions, three at each time, the times a second apart. */
  const spread = (queue: string, count: number, status: (index: number) => Status = () => 'retrying') =>
    Array.from({ length: count }, (_, index) =>
      aDelivery({
        key: aDeliveryKey({ queue, subscriptionId: index % 2 === 0 ? 'even' : 'odd' }),
        acceptedAt: SOME_TIME + 1000 * Math.floor(index / 3),
        status: status(index),
      }),
    );

  const withDeliveries = async (all: (queue: string) => readonly Delivery[]) => {
    const { deliveries, listings } = make();
    const queue = randomUUID();
    const created = all(queue);
    await createAll(deliveries, created);
    const oldest = created.toSorted((one, other) => (placeOf(one) < placeOf(other) ? -1 : 1));
    return { deliveries, listings, queue, oldest, newest: oldest.toReversed() };
  };

  const placeOf = ({ key, acceptedAt }: Delivery): string =>
    `${acceptedAt}#${key.messageId}#${key.subscriptionId}`;

  describe(`listings of deliveries ${name}`, () => {
    it('list deliveries that failed or ended with a status other than delivered', async () => {
      const { listings, queue, oldest } = await withDeliveries((of) =>
        STATUSES.map((status, second) =>
          aDelivery({
            key: aDeliveryKey({ queue: of }),
            status,
            acceptedAt: SOME_TIME + second,
            ...(status === 'cancelled' ? { reason: 'disabled' } : {}),
          }),
        ),
      );
      const { items } = await listings.oldest({ queue }, { limit: 10 });
      const expected = oldest.filter(({ status }) => status !== 'pending' && status !== 'delivered');
      expect(items).toEqual(expected.map(listed));
    });

    it('list deliveries that wait for a slot of their first attempt, until they are delivered', async () => {
      const { deliveries, listings, queue, oldest } = await withDeliveries((of) =>
        spread(of, 2, () => 'pending'),
      );
      const [waiting, other] = oldest;
      if (waiting === undefined || other === undefined) throw new Error('there are two');
      const written = (change: ChangedFields) =>
        deliveries.write({
          name: 'await_slot',
          key: waiting.key,
          expect: { kind: 'present' },
          change: { ...change, updatedAt: SOME_TIME, expiresAt: waiting.expiresAt },
        });
      const next = { number: 1, phase: 'initial', dueAt: SOME_TIME, by: 'sqs_delay' } as const;
      const pending = { queue, status: 'pending' } as const;
      await written({ status: 'pending', next, slot: { at: SOME_TIME, epoch: 'e' } });
      for (const selection of [pending, { ...pending, subscriptionId: waiting.key.subscriptionId }])
        expect((await listings.oldest(selection, { limit: 10 })).items).toEqual([listed(waiting)]);
      await written({ status: 'delivered' });
      expect((await listings.oldest({ queue }, { limit: 10 })).items).toEqual([]);
    });

    it.each([7, 30, 31])('list each delivery once, %i at a time, newest or oldest first', async (limit) => {
      const { listings, queue, newest, oldest } = await withDeliveries((of) => spread(of, 30));
      const down = await allPages(limit, (page) => listings.newest({ queue }, page));
      expect(down.flat()).toEqual(newest.map(listed));
      expect(down.slice(0, -1).every((page) => page.length === limit)).toBe(true);
      const up = await allPages(limit, (page) => listings.oldest({ queue }, page));
      expect(up.flat()).toEqual(oldest.map(listed));
    });

    it.each([4, 100])('list the deliveries of one subscription, %i at a time', async (limit) => {
      const { listings, queue, newest } = await withDeliveries((of) => spread(of, 20));
      const selection = { queue, subscriptionId: 'odd' };
      const pages = await allPages(limit, (page) => listings.newest(selection, page));
      const odd = newest.filter(({ key }) => key.subscriptionId === 'odd');
      expect(pages.flat()).toEqual(odd.map(listed));
    });

    it.each([1, 100])('list the few deliveries with one status among many, %i at a time', async (limit) => {
      const { listings, queue, newest } = await withDeliveries((of) =>
        spread(of, 60, (index) => (index % 20 === 7 ? 'exhausted' : 'retrying')),
      );
      const exhausted = newest.filter(({ status }) => status === 'exhausted');
      for (const subscriptionId of [undefined, 'odd']) {
        const selection: DeliverySelection = {
          queue,
          status: 'exhausted',
          ...(subscriptionId === undefined ? {} : { subscriptionId }),
        };
        const pages = await allPages(limit, (page) => listings.newest(selection, page));
        expect(pages.flat()).toEqual(exhausted.map(listed));
      }
    });

    it.each([4, 50])(
      'list a window including its start and excluding its end, %i at a time',
      async (limit) => {
        const { listings, queue, newest, oldest } = await withDeliveries((of) => spread(of, 30));
        const window = { queue, since: SOME_TIME + 2000, until: SOME_TIME + 5000 };
        const within = ({ acceptedAt }: Delivery) => acceptedAt >= window.since && acceptedAt < window.until;
        const down = await allPages(limit, (page) => listings.newest(window, page));
        expect(down.flat()).toEqual(newest.filter(within).map(listed));
        const up = await allPages(limit, (page) => listings.oldest(window, page));
        expect(up.flat()).toEqual(oldest.filter(within).map(listed));
        expect(up.flat()).toHaveLength(9);
      },
    );

    it('accept windows beyond the times of all messages', async () => {
      const { listings, queue, oldest } = await withDeliveries((of) => spread(of, 3));
      for (const window of [
        { since: -62_135_596_800_000, until: 253_402_300_799_999 },
        { until: 8.64e15 },
        { since: 0 },
      ]) {
        const { items } = await listings.oldest({ queue, ...window }, { limit: 10 });
        expect(items).toEqual(oldest.map(listed));
      }
      for (const window of [{ since: 5000, until: 5000 }, { since: 253_402_300_799_999 }, { until: 0 }]) {
        expect(await listings.newest({ queue, ...window }, { limit: 10 })).toEqual({ items: [] });
      }
    });

    it('list nothing for a queue without deliveries', async () => {
      const { listings } = make();
      const queue = randomUUID();
      expect(await listings.newest({ queue }, { limit: 3 })).toEqual({ items: [] });
      expect(await listings.oldest({ queue, subscriptionId: 's' }, { limit: 3 })).toEqual({ items: [] });
    });

    it('continue after the last item even if deliveries changed in the meantime', async () => {
      const { deliveries, listings, queue, newest } = await withDeliveries((of) => spread(of, 20));
      const { items, marker = '' } = await listings.newest({ queue }, { limit: 8 });
      const last = items.at(-1);
      for (const delivery of newest.filter(({ key }) => key.messageId === last?.key.messageId)) {
        await deliveries.write({
          name: 'record',
          key: delivery.key,
          expect: { kind: 'present' },
          change: { status: 'delivered', updatedAt: SOME_TIME, expiresAt: delivery.expiresAt },
        });
      }
      await createAll(deliveries, [
        aDelivery({ key: aDeliveryKey({ queue }), status: 'rejected', acceptedAt: SOME_TIME * 2 }),
      ]);
      const rest = await listings.newest({ queue }, { limit: 20, marker });
      expect(rest).toEqual({ items: newest.slice(8).map(listed) });
    });

    it('refuse a marker of another listing and a forged marker', async () => {
      const { listings, queue } = await withDeliveries((of) => spread(of, 12));
      const { marker = '' } = await listings.newest({ queue }, { limit: 5 });
      const limit = 5;
      const others: (() => Promise<unknown>)[] = [
        () => listings.oldest({ queue }, { limit, marker }),
        () => listings.newest({ queue: randomUUID() }, { limit, marker }),
        () => listings.newest({ queue, subscriptionId: 'odd' }, { limit, marker }),
        () => listings.newest({ queue, status: 'retrying' }, { limit, marker }),
        () => listings.newest({ queue, since: 0 }, { limit, marker }),
        ...['', 'x', `${marker}x`, `${marker}=`, marker.slice(1), marker.slice(0, -4)].map(
          (forged) => () => listings.newest({ queue }, { limit, marker: forged }),
        ),
        () => listings.newest({ queue }, { limit, marker: withAnotherDigit(marker) }),
      ];
      for (const ask of others) await expect(ask(), ask.toString()).rejects.toThrow(InvalidMarkerError);
    });

    it('read the records of keys and omit missing ones', async () => {
      const { listings, newest } = await withDeliveries((of) => spread(of, 100));
      const keys = newest.map(({ key }) => key);
      const { deliveries, unreadable } = await listings.records([...keys.slice(1), aDeliveryKey()]);
      expect(new Set(deliveries)).toEqual(new Set(newest.slice(1)));
      expect(unreadable).toEqual([]);
      expect(await listings.records([])).toEqual({ deliveries: [], unreadable: [] });
    });
  });
};

/** The same marker with another digit in its time. */
const withAnotherDigit = (marker: string): string => {
  const text = Buffer.from(marker, 'base64url').toString();
  const changed = text.replace(
    /"(\d)(\d{12})/,
    (_, first: string, rest: string) => `"${9 - Number(first)}${rest}`,
  );
  expect(changed).not.toBe(text);
  return Buffer.from(changed).toString('base64url');
};
