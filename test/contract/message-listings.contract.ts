import { randomUUID } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import type { MessageListings } from '../../shared/ports/message-listings.ts';
import type { MessageRecords } from '../../shared/ports/message-records.ts';
import { InvalidMarkerError } from '../../shared/ports/page.ts';

const HOUR_MS = 3_600_000;
const START = Date.UTC(2027, 0, 15, 22, 58);

/** Every test has a queue of its own, so `make` may give the same store again. */
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

  /** To the end, however short the pages are. */
  const walk = async (
    listings: MessageListings,
    window: { queue: string; since: number; until: number },
    limit: number,
  ) => {
    const found: unknown[] = [];
    let pages = 0;
    for (let marker: string | undefined, isFirst = true; isFirst || marker !== undefined; isFirst = false) {
      const page = await listings.accepted(window, { limit, ...(marker === undefined ? {} : { marker }) });
      expect(page.items.length).toBeLessThanOrEqual(limit);
      found.push(...page.items);
      pages += 1;
      marker = page.marker;
    }
    return { found, pages };
  };

  describe(`listing of messages ${name}`, () => {
    it.each([1, 5, 23, 24, 100])(
      'gives each once, the oldest first, over hours, %i at a time',
      async (limit) => {
        // A quarter of an hour from one to the next, two at each time: some three hours.
        const times = Array.from({ length: 24 }, (_, index) => START + 900_000 * Math.floor(index / 2));
        const { listings, queue, sorted } = await withMessages(times);
        const { found } = await walk(listings, { queue, since: START, until: START + 4 * HOUR_MS }, limit);
        expect(found).toEqual(sorted);
      },
    );

    it('takes the begin of a window in, and its end not', async () => {
      const times = [0, 1, 59_999, 60_000, 119_999, 120_000, 120_001].map((offset) => START + offset);
      const { listings, queue, sorted } = await withMessages(times);
      const window = { queue, since: START + 1, until: START + 120_000 };
      expect(await listings.accepted(window, { limit: 10 })).toEqual({ items: sorted.slice(1, 5) });
      expect(await listings.accepted({ ...window, until: START + 1 }, { limit: 10 })).toEqual({ items: [] });
    });

    it('comes to a message that lies days behind the one before, in few pages', async () => {
      const later = START + 4 * 24 * HOUR_MS;
      const { listings, queue, sorted } = await withMessages([START, later]);
      const { found, pages } = await walk(listings, { queue, since: START, until: later + 1 }, 40);
      expect(found).toEqual(sorted);
      expect(pages).toBeLessThanOrEqual(3);
    });

    it('refuses a marker of another window, and one that was tampered with', async () => {
      const { listings, queue } = await withMessages([START, START + 1, START + 2]);
      const window = { queue, since: START, until: START + HOUR_MS };
      const { marker = '' } = await listings.accepted(window, { limit: 1 });
      for (const ask of [
        () => listings.accepted({ ...window, queue: randomUUID() }, { limit: 1, marker }),
        () => listings.accepted({ ...window, since: START + 1 }, { limit: 1, marker }),
        () => listings.accepted({ ...window, until: START + 5 }, { limit: 1, marker }),
        () => listings.accepted(window, { limit: 1, marker: `${marker}x` }),
        () => listings.accepted(window, { limit: 1, marker: marker.slice(0, -4) }),
      ])
        await expect(ask()).rejects.toThrow(InvalidMarkerError);
    });
  });
};
