import { beforeEach, describe, expect, it } from 'vitest';
import type { EventType, TypeViewer } from '../../shared/domain/event-type/event-type.ts';
import type { EventTypes } from '../../shared/ports/event-types.ts';
import { InvalidMarkerError, type Page } from '../../shared/ports/page.ts';
import { anEventType } from '../support/builders.ts';

/** With every field, and what a table may lose: empty names, numbers beyond its range, absent and false values. */
const FULL = anEventType({
  description: 'An order\nwas created.',
  schema: { type: 'object', properties: { '': {}, total: { maximum: 1e300 } } },
  example: { '': null, total: 12.5 },
  group: 'orders',
  deprecated: false,
  queues: ['orders', 'bills'],
});

const names = ({ items }: Page<EventType>) => items.map(({ name }) => name);

/** Contract of the catalogue. `make`: an empty one. */
export const describeEventTypesContract = (name: string, make: () => Promise<EventTypes>): void => {
  describe(`the catalogue of event types ${name}`, () => {
    let eventTypes: EventTypes;
    beforeEach(async () => {
      eventTypes = await make();
    });

    const putAll = (types: readonly EventType[]) => Promise.all(types.map((type) => eventTypes.put(type)));

    const allPages = async (limit: number, viewer?: TypeViewer) => {
      const pages = [await eventTypes.list({ limit }, viewer)];
      for (let marker = pages[0]?.marker; marker !== undefined; marker = pages.at(-1)?.marker)
        pages.push(await eventTypes.list({ limit, marker }, viewer));
      return pages;
    };

    it('shows a type as it was put, and nothing of one that was not', async () => {
      expect(await eventTypes.put(FULL)).toEqual({ kind: 'created' });
      expect(await eventTypes.find(FULL.name)).toEqual(FULL);
      expect(await eventTypes.find('order')).toBeUndefined();
      await eventTypes.put(anEventType({ name: 'bare', example: null }));
      expect(await eventTypes.find('bare')).toEqual(anEventType({ name: 'bare', example: null }));
    });

    it('replaces a type as a whole, except when it was created', async () => {
      await eventTypes.put(FULL);
      const bare = anEventType({ createdAt: 5, changedAt: 5 });
      expect(await eventTypes.put(bare)).toEqual({ kind: 'replaced', before: FULL });
      expect(await eventTypes.find(FULL.name)).toEqual({ ...bare, createdAt: FULL.createdAt });
    });

    it('returns what it deletes, once', async () => {
      await eventTypes.put(FULL);
      expect(await eventTypes.delete(FULL.name)).toEqual(FULL);
      expect(await eventTypes.delete(FULL.name)).toBeUndefined();
      expect(await eventTypes.list({ limit: 10 })).toEqual({ items: [] });
    });

    it('lists types by name, page by page', async () => {
      await putAll(['c', 'a.b', 'B', 'a'].map((one) => anEventType({ name: one })));
      expect((await allPages(2)).map(names)).toEqual([
        ['B', 'a'],
        ['a.b', 'c'],
      ]);
      expect((await allPages(3)).map(names)).toEqual([['B', 'a', 'a.b'], ['c']]);
    });

    it('lists for a queue what it may see: types without queues, and those that name it', async () => {
      await putAll([
        anEventType({ name: 'all' }),
        anEventType({ name: 'none', queues: [] }),
        anEventType({ name: 'orders', queues: ['bills', 'orders'] }),
        anEventType({ name: 'other', queues: ['orders-2', 'order'] }),
        anEventType({ name: 'rest' }),
      ]);
      const pages = await allPages(2, { queue: 'orders' });
      expect(pages.flatMap(names)).toEqual(['all', 'orders', 'rest']);
      expect(Math.max(...pages.map(({ items }) => items.length))).toBeLessThanOrEqual(2);
      const some = { queue: 'orders', names: ['other', 'rest', 'all'] };
      expect((await allPages(1, some)).map(names)).toEqual([['all'], ['rest']]);
    });

    it('refuses the marker of another listing', async () => {
      await putAll(['a', 'b'].map((one) => anEventType({ name: one })));
      const { marker } = await eventTypes.list({ limit: 1 }, { queue: 'orders' });
      await expect(eventTypes.list({ limit: 1, marker })).rejects.toThrow(InvalidMarkerError);
      await expect(eventTypes.list({ limit: 1, marker }, { queue: 'bills' })).rejects.toThrow(
        InvalidMarkerError,
      );
    });

    // Larger than the API takes, so that fewer fill a page.
    const schema = { description: 'x'.repeat(64_000) };

    it('ends a page at about 1 MB, and leaves out no type', async () => {
      const large = Array.from({ length: 36 }, (_, at) =>
        anEventType({ name: `type-${at}`, schema, queues: [`queue-${at % 2}`] }),
      );
      await putAll(large);
      for (const [viewer, count] of [[undefined, 36] as const, [{ queue: 'queue-1' }, 18] as const]) {
        const pages = await allPages(100, viewer);
        expect(pages.length).toBeGreaterThanOrEqual(3);
        for (const page of pages) expect(JSON.stringify(page).length).toBeLessThan(1.1e6);
        expect(new Set(pages.flatMap(names)).size).toBe(count);
      }
    });

    it('ends a page at a type that the queue sees, because its marker names the last one', async () => {
      const hidden = (from: number) =>
        Array.from({ length: 38 }, (_, at) =>
          anEventType({ name: `hidden-${from + at}`, schema, queues: ['bills'] }),
        );
      await putAll([
        ...hidden(100),
        anEventType({ name: 'hidden-300' }),
        ...hidden(400),
        anEventType({ name: 'z' }),
      ]);
      const pages = await allPages(100, { queue: 'orders' });
      expect(pages.flatMap(names)).toEqual(['hidden-300', 'z']);
      for (const { items, marker = '' } of pages.slice(0, -1))
        expect(Buffer.from(marker, 'base64url').toString()).toContain(`"${items.at(-1)?.name}"`);
    });
  });
};
