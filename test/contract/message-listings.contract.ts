import { randomUUID } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import type { MessageListings, MessageRecords } from '../../shared/ports/messages.ts';
import { InvalidMarkerError } from '../../shared/ports/page.ts';

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
      await records.accept({
        key,
        acceptedAt,
        listedAt: 0,
        matched: 0,
        filtered: 0,
        duplicates: 0,
        buckets: 1,
        expiresAt: acceptedAt + 1,
      });
    }
    const sorted = all.toSorted((one, two) => (placeOf(one) < placeOf(two) ? -1 : 1));
    return { listings, queue, sorted };
  };

  const placeOf = ({ key, acceptedAt }: { key: { messageId: string }; acceptedAt: number }): string =>
    `${acceptedAt}#${key.messageId}`;

  /** Lists up to the end, however short the pages are. */
  const walk = async (
    listings: MessageListings,
    window: { queue: string; since: number; until: number },
    limit: number,
    direction: 'accepted' | 'newest' = 'accepted',
  ) => {
    const found: unknown[] = [];
    let pages = 0;
    for (let marker: string | undefined, isFirst = true; isFirst || marker !== undefined; isFirst = false) {
      const page = await listings[direction](window, {
        limit,
        ...(marker === undefined ? {} : { marker }),
      });
      expect(page.items.length).toBeLessThanOrEqual(limit);
      found.push(...page.items);
      pages += 1;
      marker = page.marker;
    }
    return { found, pages };
  };

  describe(`the listing of messages ${name}`, () => {
    it.each([5, 24, 100])(
      'returns each message once, oldest or newest first, across hours, %i at a time',
      async (limit) => {
        // Two messages every quarter of an hour, for about three hours.
        const times = Array.from({ length: 24 }, (_, index) => START + 900_000 * Math.floor(index / 2));
        const { listings, queue, sorted } = await withMessages(times);
        const window = { queue, since: START, until: START + 4 * HOUR_MS };
        expect((await walk(listings, window, limit)).found).toEqual(sorted);
        expect((await walk(listings, window, limit, 'newest')).found).toEqual(sorted.toReversed());
      },
    );

    it('continues after a message accepted on the hour, in either direction', async () => {
      const onTheHour = Math.ceil(START / HOUR_MS) * HOUR_MS;
      const { listings, queue, sorted } = await withMessages([
        onTheHour,
        onTheHour,
        onTheHour,
        onTheHour - 1,
      ]);
      const window = { queue, since: START, until: onTheHour + 1 };
      expect((await walk(listings, window, 1)).found).toEqual(sorted);
      expect((await walk(listings, window, 1, 'newest')).found).toEqual(sorted.toReversed());
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

    it('reaches a message days after the previous one within a few pages', async () => {
      // A page looks through at most 31 hours.
      const later = START + 66 * HOUR_MS;
      const { listings, queue, sorted } = await withMessages([START, later]);
      const window = { queue, since: START, until: later + 1 };
      const { found, pages } = await walk(listings, window, 40);
      expect(found).toEqual(sorted);
      expect(pages).toBeLessThanOrEqual(3);
      const back = await walk(listings, window, 40, 'newest');
      expect(back.found).toEqual(sorted.toReversed());
      expect(back.pages).toBeLessThanOrEqual(3);
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
