import { randomUUID } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { STATUSES } from '../../shared/domain/delivery/vocabulary.ts';
import { InvalidMarkerError } from '../../shared/ports/page.ts';
import { aDelivery, aDeliveryKey, anAttempt, answered } from '../support/delivery-builders.ts';
import { createAll, type ListedDeliveries } from './delivery-listings.contract.ts';

const QUEUE = 'orders.eu-1';

/** Contract of listings for one message: all of its deliveries, including delivered ones. */
export const describeMessageDeliveriesContract = (name: string, make: () => ListedDeliveries): void => {
  describe(`the deliveries of a message ${name}`, () => {
    const spread = async () => {
      const { deliveries, listings } = make();
      const message = { queue: QUEUE, messageId: randomUUID() };
      const places = [
        [1, 'b'],
        [0, 'z'],
        [2, 'a'],
        [0, 'B'],
        [0, 'a'],
        [1, 'a'],
      ] satisfies [number, string][];
      const all = places.map(([bucket, subscriptionId]) =>
        aDelivery({
          key: aDeliveryKey({ ...message, bucket, subscriptionId }),
          status: bucket === 0 ? 'delivered' : 'pending',
        }),
      );
      await createAll(deliveries, [
        ...all,
        aDelivery({ key: aDeliveryKey({ messageId: message.messageId, queue: 'other' }) }),
        aDelivery(),
      ]);
      return { listings, message, all };
    };

    it.each([1, 5, 6, 7])('are listed by bucket and subscription, %i at a time', async (limit) => {
      const { listings, message, all } = await spread();
      const found: unknown[] = [];
      const sizes: number[] = [];
      for (let marker: string | undefined, isFirst = true; isFirst || marker !== undefined; isFirst = false) {
        const page = await listings.ofMessage(
          { key: message, buckets: 3 },
          {
            limit,
            ...(marker === undefined ? {} : { marker }),
          },
        );
        found.push(...page.items.map(({ key }) => `${key.bucket}${key.subscriptionId}`));
        sizes.push(page.items.length);
        marker = page.marker;
      }
      expect(found).toEqual(['0B', '0a', '0z', '1a', '1b', '2a']);
      expect(sizes).toHaveLength(Math.ceil(6 / limit));
      const { items } = await listings.ofMessage({ key: message, buckets: 3 }, { limit: 100 });
      expect(new Set(items)).toEqual(new Set(all));
    });

    it('include only the buckets of the message', async () => {
      const { listings, message } = await spread();
      expect((await listings.ofMessage({ key: message, buckets: 1 }, { limit: 100 })).items).toHaveLength(3);
      const unknown = { queue: QUEUE, messageId: randomUUID() };
      expect(await listings.ofMessage({ key: unknown, buckets: 3 }, { limit: 100 })).toEqual({ items: [] });
    });

    it('are listed even if a page exceeds the 1 MB of a DynamoDB response', async () => {
      const { deliveries, listings } = make();
      const message = { queue: QUEUE, messageId: randomUUID() };
      // About 16 KB each, so that 80 exceed 1 MB.
      const attempts = Array.from({ length: 60 }, (_, index) =>
        anAttempt({ number: index + 1, result: answered(503, 'x'.repeat(256)) }),
      );
      const all = Array.from({ length: 80 }, (_, index) =>
        aDelivery({
          key: aDeliveryKey({ ...message, subscriptionId: String(index).padStart(3, '0') }),
          attempts,
        }),
      );
      await createAll(deliveries, all);
      expect(await listings.ofMessage({ key: message, buckets: 1 }, { limit: 100 })).toEqual({ items: all });
      expect(await listings.tally({ key: message, buckets: 1 })).toMatchObject({ pending: 80 });
    });

    it('are not listed from the marker of another message', async () => {
      const { listings, message } = await spread();
      const { marker = '' } = await listings.ofMessage({ key: message, buckets: 3 }, { limit: 2 });
      const other = { ...message, messageId: randomUUID() };
      for (const ask of [
        () => listings.ofMessage({ key: other, buckets: 3 }, { limit: 2, marker }),
        () => listings.ofMessage({ key: message, buckets: 3 }, { limit: 2, marker: `${marker}x` }),
      ])
        await expect(ask()).rejects.toThrow(InvalidMarkerError);
    });

    it('are counted by status', async () => {
      const { deliveries, listings } = make();
      const message = { queue: QUEUE, messageId: randomUUID() };
      const all = STATUSES.flatMap((status, index) =>
        Array.from({ length: index + 1 }, (_, bucket) =>
          aDelivery({ key: aDeliveryKey({ ...message, bucket: bucket % 2 }), status }),
        ),
      );
      await createAll(deliveries, all);
      expect(await listings.tally({ key: message, buckets: 2 })).toEqual({
        pending: 1,
        retrying: 2,
        delivered: 3,
        rejected: 4,
        exhausted: 5,
        cancelled: 6,
      });
      const second = { first: 1, end: 2 };
      expect(await listings.tally({ key: message, buckets: 2 }, second)).toMatchObject({
        pending: 0,
        cancelled: 3,
      });
      expect(await listings.tally({ key: { ...message, messageId: randomUUID() }, buckets: 2 })).toEqual({
        pending: 0,
        retrying: 0,
        delivered: 0,
        rejected: 0,
        exhausted: 0,
        cancelled: 0,
      });
    });
  });
};
