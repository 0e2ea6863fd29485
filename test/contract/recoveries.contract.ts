import { randomUUID } from 'node:crypto';
import { beforeEach, describe, expect, it } from 'vitest';
import type { DeliveryKey } from '../../shared/domain/delivery/delivery.ts';
import { buildRecoveryId, newRecovery, type Recovery } from '../../shared/domain/recovery/recovery.ts';
import type { Recoveries } from '../../shared/ports/deliveries.ts';
import { InvalidMarkerError } from '../../shared/ports/page.ts';
import { allPages } from '../support/all-pages.ts';
import { aDeliveryKey, SOME_TIME } from '../support/delivery-builders.ts';

const DAY_MS = 24 * 60 * 60 * 1000;

/** A recovery of a queue that no other test uses. */
export const aRecovery = (overrides: Partial<Recovery> = {}): Recovery => ({
  ...newRecovery(
    buildRecoveryId(overrides.createdAt ?? SOME_TIME, randomUUID()),
    { queue: randomUUID(), since: SOME_TIME - DAY_MS, until: SOME_TIME },
    { now: SOME_TIME, retentionMs: 30 * DAY_MS },
  ),
  ...overrides,
});

const after = (recovery: Recovery, change: Partial<Recovery> = {}): Recovery => ({
  ...recovery,
  ...change,
  version: recovery.version + 1,
});

const idsOf = (recoveries: readonly Recovery[]) => recoveries.map(({ id }) => id);

export const describeRecoveriesContract = (name: string, make: () => Recoveries): void => {
  describe(`recoveries ${name}`, () => {
    const recoveries = make();
    let recovery: Recovery;
    let queue: string;
    beforeEach(async () => {
      recovery = aRecovery();
      ({ queue } = recovery.selection);
      await recoveries.create(recovery);
    });

    it('finds a recovery as it was created, with and without optional fields', async () => {
      expect(await recoveries.find(queue, recovery.id)).toEqual(recovery);
      const keys = Array.from({ length: 50 }, () => aDeliveryKey({ queue }));
      const full = aRecovery({
        selection: { ...recovery.selection, acceptedSince: 4, subscriptionId: 's-1', status: 'exhausted' },
        state: 'stopped',
        found: 3,
        reopened: 1,
        skipped: { body_gone: 1, subscription_absent: 1 },
        batch: keys,
        deferred: keys,
        looks: 2,
        cursor: 'somewhere',
        listed: true,
        pages: 7,
      });
      await recoveries.create(full);
      expect(await recoveries.find(queue, full.id)).toEqual(full);
    });

    it('finds no recovery of another queue, and none that was never created', async () => {
      expect(await recoveries.find(randomUUID(), recovery.id)).toBeUndefined();
      expect(await recoveries.find(queue, 'none')).toBeUndefined();
    });

    it('does not create a recovery over an existing one', async () => {
      await expect(recoveries.create({ ...recovery, found: 7 })).rejects.toThrow();
      expect(await recoveries.find(queue, recovery.id)).toEqual(recovery);
    });

    it('saves the next version, and removes fields that are left out', async () => {
      const bare = aRecovery();
      await recoveries.create({ ...bare, cursor: 'a', batch: [aDeliveryKey()] });
      const next = after(bare, { found: 2 });
      expect(await recoveries.save(next)).toEqual({ kind: 'saved' });
      expect(await recoveries.find(bare.selection.queue, bare.id)).toEqual(next);
    });

    it.each([0, 1, 3])(
      'refuses version %i if 1 is stored, and returns the stored recovery',
      async (version) => {
        const wrong = { ...recovery, found: 9, version };
        expect(await recoveries.save(wrong)).toEqual({ kind: 'refused', current: recovery });
        expect(await recoveries.find(queue, recovery.id)).toEqual(recovery);
      },
    );

    it('refuses to save a missing recovery', async () => {
      const missing = aRecovery();
      expect(await recoveries.save(after(missing))).toEqual({ kind: 'refused', current: undefined });
      expect(await recoveries.find(missing.selection.queue, missing.id)).toBeUndefined();
    });

    it('saves one of 20 concurrent versions', async () => {
      const savings = await Promise.all(
        Array.from({ length: 20 }, (_, found) => recoveries.save(after(recovery, { found }))),
      );
      const winner = savings.findIndex(({ kind }) => kind === 'saved');
      expect(savings.filter(({ kind }) => kind === 'saved')).toHaveLength(1);
      expect(await recoveries.find(queue, recovery.id)).toEqual(after(recovery, { found: winner }));
    });

    it.each([1, 3, 4])('lists the recoveries of a queue, newest first, %i at a time', async (limit) => {
      const { selection } = aRecovery();
      const all = [3, 1, 2].map((age) => aRecovery({ selection, createdAt: SOME_TIME - age }));
      for (const one of [...all, aRecovery()]) await recoveries.create(one);
      const pages = await allPages(limit, (page) => recoveries.list(selection.queue, page));
      for (const page of pages) expect(page.length).toBeLessThanOrEqual(limit);
      expect(idsOf(pages.flat())).toEqual(idsOf(all).toSorted().toReversed());
    });

    it('keeps the first content of each page, and returns the pages in their order', async () => {
      const keys = Array.from({ length: 12 }, () => aDeliveryKey({ queue, bucket: 3 }));
      // Numbers of one and two digits: 10 comes after 9.
      const keep = (batchOf: (key: DeliveryKey) => DeliveryKey[]) =>
        Promise.all(
          keys.map((key, index) =>
            recoveries.keepPage({ ...recovery, pages: index + 1, batch: batchOf(key) }),
          ),
        );
      await keep((key) => [key, aDeliveryKey({ queue })]);
      await keep(() => []);
      const other = { ...aRecovery({ selection: recovery.selection }), pages: 1, batch: keys };
      await recoveries.keepPage(other);
      for (const limit of [5, 12, 20]) {
        const listed = await allPages(limit, (page) => recoveries.keptPages(queue, recovery.id, page));
        const pages = listed.flat();
        expect(pages.map(({ number }) => number)).toEqual(keys.map((_, index) => index + 1));
        expect(pages.map((page) => page.keys[0])).toEqual(keys);
        expect(pages.every((page) => page.keys.length === 2)).toBe(true);
      }
    });

    it('does not list the pages of a recovery as recoveries, and has none of an unknown one', async () => {
      await recoveries.keepPage({ ...recovery, pages: 1, batch: [aDeliveryKey({ queue })] });
      expect(await recoveries.list(queue, { limit: 5 })).toEqual({ items: [recovery] });
      expect(await recoveries.find(queue, recovery.id)).toEqual(recovery);
      expect(await recoveries.keptPages(queue, 'none', { limit: 5 })).toEqual({ items: [] });
      expect(await recoveries.keptPages(randomUUID(), recovery.id, { limit: 5 })).toEqual({ items: [] });
      await expect(
        recoveries.keptPages(queue, recovery.id, { limit: 5, marker: 'tampered' }),
      ).rejects.toThrow(InvalidMarkerError);
    });

    it('lists nothing for a queue without recoveries, and refuses a marker of another listing', async () => {
      await recoveries.create(aRecovery({ selection: recovery.selection }));
      expect(await recoveries.list(randomUUID(), { limit: 5 })).toEqual({ items: [] });
      const { marker = '' } = await recoveries.list(queue, { limit: 1 });
      const other = recoveries.list(randomUUID(), { limit: 1, marker });
      await expect(other).rejects.toThrow(InvalidMarkerError);
      await expect(recoveries.list(queue, { limit: 1, marker: 'x' })).rejects.toThrow(InvalidMarkerError);
    });
  });
};
