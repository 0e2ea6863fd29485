import { randomUUID } from 'node:crypto';
import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { Delivery, DeliveryKey } from '../../shared/domain/delivery/delivery.ts';
import { type Mechanism, type Status, STATUSES } from '../../shared/domain/delivery/vocabulary.ts';
import type {
  Deliveries,
  DeliveryListings,
  DeliverySelection,
  ListedDelivery,
} from '../../shared/ports/deliveries.ts';
import type { MessageListings, MessageRecords } from '../../shared/ports/messages.ts';
import { InvalidMarkerError } from '../../shared/ports/page.ts';
import { allPages } from '../support/all-pages.ts';
import { aDelivery, aDeliveryKey, anAttempt, answered, SOME_TIME } from '../support/delivery-builders.ts';
import { type ChangedFields, createAll } from './delivery-cases.ts';
import { aRecord } from './message-records.contract.ts';

type ListedDeliveries = { deliveries: Deliveries; listings: DeliveryListings };

const listed = ({ key, acceptedAt, status }: Delivery): ListedDelivery => ({ key, acceptedAt, status });

/** Contract of delivery listings. Every test uses a separate queue, so `make` may return the same store again. */
const describeListings = (name: string, make: () => ListedDeliveries): void => {
  /** `count` deliveries for two subscriptions, three at each time, the times a second unchunked. */
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

  describe(`counts of waiting deliveries ${name}`, () => {
    const waitsFor = (key: DeliveryKey, seconds: number, by: Mechanism) =>
      aDelivery({
        key,
        status: 'pending',
        next: { number: 1, phase: 'initial', dueAt: SOME_TIME, by },
        overdueAt: SOME_TIME + 1000 * seconds,
      });

    const kept = async () => {
      const { deliveries, listings } = make();
      const queue = randomUUID();
      const keyOf = (subscriptionId: string) => aDeliveryKey({ queue, subscriptionId });
      const all = [
        waitsFor(keyOf('one'), 3, 'subscription_pause'),
        waitsFor(keyOf('one'), 2, 'queue_pause'),
        waitsFor(keyOf('two'), 1, 'queue_pause'),
        waitsFor(keyOf('one'), 4, 'pull'),
        waitsFor(keyOf('one'), 0, 'sqs_delay'),
      ];
      await createAll(deliveries, all);
      const places = [{ queue, subscriptionId: 'one' }, { queue }];
      const ofOne = ({ subscriptionId }: DeliveryKey) => subscriptionId === 'one';
      return { listings, queue, places, ofOne, all };
    };

    it('are those of all places that match, with the one that waits longest', async () => {
      const { listings, places, ofOne, all } = await kept();
      const oldest = { key: all[1]?.key, overdueAt: SOME_TIME + 2000 };
      expect(await listings.countWaiting(places, ofOne, 10)).toEqual({ count: 3, hasMore: false, oldest });
      expect(await listings.countWaiting(places.slice(1), () => true, 10)).toMatchObject({ count: 2 });
    });

    it('end at the limit, and say so', async () => {
      const { listings, places } = await kept();
      expect(await listings.countWaiting(places, () => true, 3)).toMatchObject({ count: 3, hasMore: true });
      expect(await listings.countWaiting(places, () => true, 4)).toMatchObject({ count: 4, hasMore: false });
    });

    it('are zero where nothing waits', async () => {
      const { listings } = make();
      const place = { queue: randomUUID() };
      expect(await listings.countWaiting([place], () => true, 1)).toEqual({ count: 0, hasMore: false });
    });
  });

  describe(`listings of deliveries ${name}`, () => {
    it('list deliveries that failed or ended with a status other than delivered', async () => {
      const { listings, queue, oldest } = await withDeliveries((of) =>
        STATUSES.map((status, second) =>
          aDelivery({ key: aDeliveryKey({ queue: of }), status, acceptedAt: SOME_TIME + second }),
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

    describe('of thirty', () => {
      let thirty: Awaited<ReturnType<typeof withDeliveries>>;
      beforeAll(async () => {
        thirty = await withDeliveries((of) => spread(of, 30));
      });

      it.each([7, 30, 31])('list each once, %i at a time, newest or oldest first', async (limit) => {
        const { listings, queue, newest, oldest } = thirty;
        const down = await allPages(limit, (page) => listings.newest({ queue }, page));
        expect(down.flat()).toEqual(newest.map(listed));
        expect(down.slice(0, -1).every((page) => page.length === limit)).toBe(true);
        const up = await allPages(limit, (page) => listings.oldest({ queue }, page));
        expect(up.flat()).toEqual(oldest.map(listed));
      });

      it.each([4, 100])('list those of one subscription, %i at a time', async (limit) => {
        const { listings, queue, newest } = thirty;
        const selection = { queue, subscriptionId: 'odd' };
        const pages = await allPages(limit, (page) => listings.newest(selection, page));
        const odd = newest.filter(({ key }) => key.subscriptionId === 'odd');
        expect(pages.flat()).toEqual(odd.map(listed));
      });

      it.each([4, 50])('list a window with its start and without its end, %i at a time', async (limit) => {
        const { listings, queue, newest, oldest } = thirty;
        const window = { queue, since: SOME_TIME + 2000, until: SOME_TIME + 5000 };
        const within = ({ acceptedAt }: Delivery) => acceptedAt >= window.since && acceptedAt < window.until;
        const down = await allPages(limit, (page) => listings.newest(window, page));
        expect(down.flat()).toEqual(newest.filter(within).map(listed));
        const up = await allPages(limit, (page) => listings.oldest(window, page));
        expect(up.flat()).toEqual(oldest.filter(within).map(listed));
        expect(up.flat()).toHaveLength(9);
      });
    });

    it('list the few deliveries with one status among many, 1 or 100 at a time', async () => {
      const { listings, queue, newest } = await withDeliveries((of) =>
        spread(of, 60, (index) => (index % 20 === 7 ? 'exhausted' : 'retrying')),
      );
      const exhausted = newest.filter(({ status }) => status === 'exhausted');
      for (const more of [{}, { subscriptionId: 'odd' }])
        for (const limit of [1, 100]) {
          const selection: DeliverySelection = { queue, status: 'exhausted', ...more };
          const pages = await allPages(limit, (page) => listings.newest(selection, page));
          expect(pages.flat()).toEqual(exhausted.map(listed));
        }
    });

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

    it('read a record once whose key is given twice, as by two listings between which its status changed', async () => {
      const { listings, newest } = await withDeliveries((of) => spread(of, 2));
      const keys = newest.map(({ key }) => key);
      expect((await listings.records([...keys, ...keys])).deliveries).toHaveLength(2);
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

const QUEUE = 'orders.eu-1';

/** Contract of listings for one message: all of its deliveries, including delivered ones. */
const describeMessageDeliveries = (name: string, make: () => ListedDeliveries): void => {
  describe(`the deliveries of a message ${name}`, () => {
    const { deliveries, listings } = make();
    let message: { queue: string; messageId: string };
    beforeEach(() => {
      message = { queue: QUEUE, messageId: randomUUID() };
    });
    const ofMessage = (buckets: number, limit = 100) =>
      listings.ofMessage({ key: message, buckets }, { limit });

    const spread = async () => {
      const places: [number, string][] = [
        [1, 'b'],
        [0, 'z'],
        [2, 'a'],
        [0, 'B'],
        [0, 'a'],
        [1, 'a'],
      ];
      const all = places.map(([bucket, subscriptionId]) =>
        aDelivery({
          key: aDeliveryKey({ ...message, bucket, subscriptionId }),
          status: bucket === 0 ? 'delivered' : 'pending',
        }),
      );
      const elsewhere = aDelivery({ key: aDeliveryKey({ messageId: message.messageId, queue: 'other' }) });
      await createAll(deliveries, [...all, elsewhere, aDelivery()]);
      return all;
    };

    it('are listed by bucket and subscription, 1, 5, 6 or 7 at a time', async () => {
      const all = await spread();
      for (const limit of [1, 5, 6, 7]) {
        const pages = await allPages(limit, (page) => listings.ofMessage({ key: message, buckets: 3 }, page));
        const found = pages.flat().map(({ key }) => `${key.bucket}${key.subscriptionId}`);
        expect(found).toEqual(['0B', '0a', '0z', '1a', '1b', '2a']);
        expect(pages).toHaveLength(Math.ceil(6 / limit));
        expect(new Set(pages.flat())).toEqual(new Set(all));
      }
    });

    it('include only the buckets of the message', async () => {
      expect(await ofMessage(3)).toEqual({ items: [] });
      await spread();
      expect((await ofMessage(1)).items).toHaveLength(3);
    });

    it('are listed even if a page exceeds the 1 MB of a DynamoDB response', async () => {
      // About 16 KB each, so that 80 exceed 1 MB.
      const attempts = Array.from({ length: 60 }, (_, index) =>
        anAttempt({ number: index + 1, result: answered(503, 'x'.repeat(256)) }),
      );
      const ids = Array.from({ length: 80 }, (_, index) => String(index).padStart(3, '0'));
      const all = ids.map((subscriptionId) =>
        aDelivery({ key: aDeliveryKey({ ...message, subscriptionId }), attempts }),
      );
      await createAll(deliveries, all);
      expect(await ofMessage(1)).toEqual({ items: all });
      expect(await listings.tally({ key: message, buckets: 1 })).toMatchObject({ pending: 80 });
    });

    it('are not listed from the marker of another message', async () => {
      await spread();
      const { marker = '' } = await ofMessage(3, 2);
      const other = { ...message, messageId: randomUUID() };
      for (const ask of [
        () => listings.ofMessage({ key: other, buckets: 3 }, { limit: 2, marker }),
        () => listings.ofMessage({ key: message, buckets: 3 }, { limit: 2, marker: `${marker}x` }),
      ])
        await expect(ask()).rejects.toThrow(InvalidMarkerError);
    });

    it('are counted by status', async () => {
      const all = STATUSES.flatMap((status, index) =>
        Array.from({ length: index + 1 }, (_, bucket) =>
          aDelivery({ key: aDeliveryKey({ ...message, bucket: bucket % 2 }), status }),
        ),
      );
      await createAll(deliveries, all);
      const counts = { pending: 1, retrying: 2, delivered: 3, rejected: 4, exhausted: 5, cancelled: 6 };
      expect(await listings.tally({ key: message, buckets: 2 })).toEqual(counts);
      const second = { first: 1, end: 2 };
      expect(await listings.tally({ key: message, buckets: 2 }, second)).toMatchObject({
        pending: 0,
        cancelled: 3,
      });
      const none = await listings.tally({ key: { ...message, messageId: randomUUID() }, buckets: 2 });
      expect(none).toEqual(Object.fromEntries(STATUSES.map((status) => [status, 0])));
    });
  });
};

const HOUR_MS = 3_600_000;
const START = Date.UTC(2027, 0, 15, 22, 58);

/** Contract of message listings. Every test uses a separate queue, so `make` may return the same store again. */
export const describeMessageListingsContract = (
  name: string,
  make: () => { records: MessageRecords; listings: MessageListings },
): void => {
  const withMessages = async (times: readonly number[]) => {
    const { records, listings } = make();
    const queue = randomUUID();
    const all = times.map((acceptedAt) => ({ key: { queue, messageId: randomUUID() }, acceptedAt }));
    const other = { key: { queue: randomUUID(), messageId: randomUUID() }, acceptedAt: times[0] ?? START };
    for (const { key, acceptedAt } of [...all.toReversed(), other]) {
      await records.accept(aRecord({ key, acceptedAt }));
    }
    const sorted = all.toSorted((one, two) => (placeOf(one) < placeOf(two) ? -1 : 1));
    return { listings, queue, sorted };
  };

  const placeOf = ({ key, acceptedAt }: { key: { messageId: string }; acceptedAt: number }): string =>
    `${acceptedAt}#${key.messageId}`;

  describe(`the listing of messages ${name}`, () => {
    it('returns each message once, oldest or newest first, across hours, 5, 24 or 100 at a time', async () => {
      // Two messages every quarter of an hour, for about three hours.
      const times = Array.from({ length: 24 }, (_, index) => START + 900_000 * Math.floor(index / 2));
      const { listings, queue, sorted } = await withMessages(times);
      const window = { queue, since: START, until: START + 4 * HOUR_MS };
      for (const limit of [5, 24, 100]) {
        const pages = await allPages(limit, (page) => listings.accepted(window, page));
        expect(pages.flat()).toEqual(sorted);
        expect(Math.max(...pages.map(({ length }) => length))).toBeLessThanOrEqual(limit);
        expect((await allPages(limit, (page) => listings.newest(window, page))).flat()).toEqual(
          sorted.toReversed(),
        );
      }
    });

    it('continues after a message accepted on the hour, in either direction', async () => {
      const onTheHour = Math.ceil(START / HOUR_MS) * HOUR_MS;
      const times = [onTheHour, onTheHour, onTheHour, onTheHour - 1];
      const { listings, queue, sorted } = await withMessages(times);
      const window = { queue, since: START, until: onTheHour + 1 };
      expect((await allPages(1, (page) => listings.accepted(window, page))).flat()).toEqual(sorted);
      expect((await allPages(1, (page) => listings.newest(window, page))).flat()).toEqual(
        sorted.toReversed(),
      );
    });

    it('includes the start of a window and excludes its end', async () => {
      const times = [0, 1, 59_999, 60_000, 119_999, 120_000, 120_001].map((offset) => START + offset);
      const { listings, queue, sorted } = await withMessages(times);
      const window = { queue, since: START + 1, until: START + 120_000 };
      expect(await listings.accepted(window, { limit: 10 })).toEqual({ items: sorted.slice(1, 5) });
      expect(await listings.accepted({ ...window, until: START + 1 }, { limit: 10 })).toEqual({ items: [] });
      const newest = sorted.slice(1, 5).toReversed();
      expect(await listings.newest(window, { limit: 10 })).toEqual({ items: newest });
    });

    it('reaches a message more than a day after the previous one within a few pages', async () => {
      // A page looks through at most 31 hours.
      const later = START + 33 * HOUR_MS;
      const { listings, queue, sorted } = await withMessages([START, later]);
      const window = { queue, since: START, until: later + 1 };
      const pages = await allPages(40, (page) => listings.accepted(window, page));
      expect(pages.flat()).toEqual(sorted);
      expect(pages.length).toBeLessThanOrEqual(3);
      const back = await allPages(40, (page) => listings.newest(window, page));
      expect(back.flat()).toEqual(sorted.toReversed());
      expect(back.length).toBeLessThanOrEqual(3);
    });

    it('refuses a marker of another window and a forged marker', async () => {
      const { listings, queue } = await withMessages([START, START + 1, START + 2]);
      const window = { queue, since: START, until: START + HOUR_MS };
      const { marker = '' } = await listings.accepted(window, { limit: 1 });
      for (const ask of [
        () => listings.accepted({ ...window, queue: randomUUID() }, { limit: 1, marker }),
        () => listings.accepted({ ...window, since: START + 1 }, { limit: 1, marker }),
        () => listings.accepted({ ...window, until: START + 5 }, { limit: 1, marker }),
        () => listings.newest(window, { limit: 1, marker }),
        () => listings.accepted(window, { limit: 1, marker: `${marker}x` }),
        () => listings.accepted(window, { limit: 1, marker: marker.slice(0, -4) }),
      ])
        await expect(ask()).rejects.toThrow(InvalidMarkerError);
    });
  });
};

/** Contract of listings of deliveries. */
export const describeDeliveryListingsContract = (name: string, make: () => ListedDeliveries): void => {
  describeListings(name, make);
  describeMessageDeliveries(name, make);
};
