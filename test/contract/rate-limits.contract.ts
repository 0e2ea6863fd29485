import { randomUUID } from 'node:crypto';
import fc from 'fast-check';
import { beforeEach, describe, expect, it } from 'vitest';
import { DAY_MS } from '../../shared/domain/duration.ts';
import {
  type RateLimit,
  type Slot,
  SLOT_LEAD_MS,
  slotIntervalMs,
} from '../../shared/domain/subscription/rate-limit.ts';
import type { SubscriptionKey } from '../../shared/domain/subscription/subscription.ts';
import type { CountingWindows, RateLimits, SlotConstraints } from '../../shared/ports/pace.ts';
import { SOME_TIME } from '../support/delivery-builders.ts';
import { NO_COUNTS } from '../../shared/domain/subscription/back-pressure.ts';

type UnderTest = { rateLimits: RateLimits; setTime: (now: number) => void };

const aSubscriptionKey = (): SubscriptionKey => ({ queue: 'orders', subscriptionId: randomUUID() });
const limit: RateLimit = { intervalMs: 100, epoch: 'e' };
const byTime = (one: Slot, other: Slot): number => one.at - other.at;

/** Contract of rate limits: a slot is given to one caller only, and never before its time. */
export const describeRateLimitsContract = (name: string, make: () => UnderTest): void => {
  describe(`rate limits ${name}`, () => {
    let rateLimits: RateLimits;
    let setTime: UnderTest['setTime'];
    let limited: SubscriptionKey;
    beforeEach(() => {
      ({ rateLimits, setTime } = make());
      setTime(SOME_TIME);
      limited = aSubscriptionKey();
    });

    const reserve = (wanted = limit, constraints?: SlotConstraints): Promise<Slot> =>
      rateLimits.reserve(limited, wanted, constraints);
    const reserved = (count: number, wanted = limit): Promise<Slot[]> =>
      Promise.all(Array.from({ length: count }, () => reserve(wanted)));
    const giveBack = async (...slots: readonly (Slot | undefined)[]): Promise<void> => {
      for (const slot of slots) await rateLimits.returnSlot(limited, slot ?? { at: 0 });
    };

    const after = (slots: readonly Slot[]): number[] =>
      slots.map(({ at }) => at - SOME_TIME).sort((a, b) => a - b);

    it('give the first caller a slot at once, and later callers the following slots', async () => {
      const slots = [await reserve(), ...(await reserved(4))];
      expect(after(slots)).toEqual([0, 100, 200, 300, 400]);
      expect(slots.every(({ epoch }) => epoch === 'e')).toBe(true);
    });

    it('begin a new line once all slots of the old one have passed', async () => {
      await reserved(3);
      setTime(SOME_TIME + 299);
      expect(after([await reserve()])).toEqual([300]);
      setTime(SOME_TIME + 400);
      expect(after([await reserve()])).toEqual([400]);
    });

    it('keep a separate line for each subscription', async () => {
      await reserved(5);
      const others = [aSubscriptionKey(), { ...limited, queue: 'other' }];
      for (const other of others) expect(after([await rateLimits.reserve(other, limit)])).toEqual([0]);
    });

    it('begin a new line for a new limit, regardless of reservations under the old one', async () => {
      await reserved(50);
      const slot = await reserve({ intervalMs: 10, epoch: 'f' });
      expect(slot).toEqual({ at: SOME_TIME, epoch: 'f' });
    });

    it('give no slot more than a week ahead, but a time to ask again', async () => {
      const slow = { intervalMs: 7 * DAY_MS + 1, epoch: 'slow' };
      expect(await reserve(slow)).toEqual({ at: SOME_TIME, epoch: 'slow' });
      expect(await reserve(slow)).toEqual({ at: SOME_TIME + DAY_MS / 2, spreadMs: DAY_MS / 2 });
      setTime(SOME_TIME + 1);
      expect(await reserve(slow)).toEqual({ at: SOME_TIME + slow.intervalMs, epoch: 'slow' });
    });

    it('refuse callers that still have the previous limit, until the line is over', async () => {
      const later = { ...limit, epoch: 'f' };
      await reserved(5, later);
      expect(await reserve()).toEqual({ at: SOME_TIME + 2_000 });
      expect(await reserve(later)).toEqual({ at: SOME_TIME + 500, epoch: 'f' });
      setTime(SOME_TIME + 600);
      expect(await reserve()).toEqual({ at: SOME_TIME + 600, epoch: 'e' });
    });

    it('give a returned slot to the next caller at any rate, and continue the line behind it', async () => {
      const rates = fc.sample(fc.double({ min: 0.5, max: 1_000, noNaN: true }), { numRuns: 8, seed: 7 });
      for (const perSecond of [3, 7, 30, 70, 99, ...rates]) {
        limited = aSubscriptionKey();
        const paced = { intervalMs: slotIntervalMs(perSecond), epoch: 'e' };
        const slots: Slot[] = [];
        for (let batch = 0; batch < 4; batch += 1) slots.push(...(await reserved(10, paced)));
        const last = slots.toSorted(byTime).at(-1);
        await giveBack(last);
        expect(await reserve(paced)).toEqual(last);
        const next = await reserve(paced);
        expect(next.at - SOME_TIME).toBe(Math.ceil(Math.round(1_000 * 40 * paced.intervalMs) / 1_000));
      }
    });

    it('give no slot after the deadline of a delivery, so that it delays no other', async () => {
      await reserved(3);
      const until = SOME_TIME + 299;
      const none = await reserve(limit, { until });
      expect(none.epoch).toBeUndefined();
      expect(none.at - SLOT_LEAD_MS).toBe(until);
      expect(await reserve(limit, { until: until + 1 })).toEqual({ at: SOME_TIME + 300, epoch: 'e' });
    });

    it('give no slot before the wanted time; if the line is shorter, a time to ask again', async () => {
      const at = (seconds: number) => ({ from: SOME_TIME + seconds * 1_000 });
      expect(await reserve(limit, at(1))).toEqual({ at: SOME_TIME + 1_000 });
      const slots = await reserved(30);
      expect(await reserve(limit, at(4))).toEqual({ at: SOME_TIME + 4_000 });
      expect(await reserve(limit, at(3))).toEqual({ at: SOME_TIME + 3_000, epoch: 'e' });
      await giveBack(...slots.filter((slot) => [500, 2_500].includes(slot.at - SOME_TIME)));
      expect(await reserve(limit, at(1))).toEqual({ at: SOME_TIME + 2_500, epoch: 'e' });
      expect(await reserve(limit, at(1))).toEqual({ at: SOME_TIME + 3_100, epoch: 'e' });
      expect(await reserve()).toEqual({ at: SOME_TIME + 500, epoch: 'e' });
    });

    it('give no slot before a closed line opens, and the next ones from then on', async () => {
      const closed = { ...limit, opensAt: SOME_TIME + 2_000, reason: 'receiver_throttled' as const };
      const slots = await reserved(3, closed);
      expect(after(slots)).toEqual([2_000, 2_100, 2_200]);
      expect(slots.every(({ reason }) => reason === 'receiver_throttled')).toBe(true);
      setTime(SOME_TIME + 2_150);
      expect(after([await reserve(closed)])).toEqual([2_300]);
      setTime(SOME_TIME + 5_000);
      expect(after([await reserve(closed)])).toEqual([5_000]);
    });

    it('give no slot of a closed line to a delivery that expires before, so that another one gets the first', async () => {
      const closed = { ...limit, opensAt: SOME_TIME + 2_000, longestMs: 0, askAgainMs: 10_000 };
      const until = SOME_TIME + 1_999;
      const none = await reserve(closed, { until });
      expect(none).toEqual({ at: until + SLOT_LEAD_MS, spreadMs: 0 });
      expect(await reserve(closed)).toEqual({ at: SOME_TIME + 2_000, epoch: 'e' });
    });

    it('give as many slots as the longest line holds; the other callers ask again', async () => {
      const short = { ...limit, opensAt: SOME_TIME + 1_000, longestMs: 250, askAgainMs: 10_000 };
      const asked = await reserved(5, short);
      const [slots, others] = [true, false].map((is) => asked.filter(({ epoch }) => (epoch === 'e') === is));
      expect(after(slots ?? [])).toEqual([1_000, 1_100, 1_200]);
      expect(others).toEqual([1, 2].map(() => ({ at: SOME_TIME + 6_000, spreadMs: 5_000 })));
      expect(await reserve(short)).toEqual({ at: SOME_TIME + 6_000, spreadMs: 5_000 });
    });

    it('give a line of one slot to one of many concurrent callers, and to the next one after its end', async () => {
      const opens = { opensAt: SOME_TIME + 5_000, longestMs: 0, askAgainMs: 10_000 };
      const probing = { intervalMs: 30_000, epoch: 'p', ...opens };
      const slots = await reserved(20, probing);
      expect(after(slots.filter(({ epoch }) => epoch === 'p'))).toEqual([5_000]);
      setTime(SOME_TIME + 34_999);
      expect((await reserve(probing)).epoch).toBeUndefined();
      setTime(SOME_TIME + 35_000);
      expect(await reserve(probing)).toEqual({ at: SOME_TIME + 35_000, epoch: 'p' });
    });

    it('give returned slots to the next callers, earliest first, each once', async () => {
      const slots = (await reserved(10)).sort(byTime);
      await giveBack(slots[7], slots[3]);
      const next = [];
      for (let count = 0; count < 4; count += 1) next.push(await reserve());
      expect(next.map(({ at }) => at - SOME_TIME)).toEqual([300, 700, 1_000, 1_100]);
      expect(next.every(({ epoch }) => epoch === 'e')).toBe(true);
    });

    it('give ten concurrent callers the returned slots and those after the line', async () => {
      const slots = (await reserved(10)).sort(byTime);
      await giveBack(...slots.slice(2, 8));
      expect(after(await reserved(10))).toEqual([200, 300, 400, 500, 600, 700, 1_000, 1_100, 1_200, 1_300]);
    });

    it('give no returned slot that has passed, is too late for the caller, or is of another limit', async () => {
      const slots = (await reserved(10)).sort(byTime);
      await giveBack(slots[3], slots[8]);
      setTime(SOME_TIME + 500);
      expect((await reserve(limit, { until: SOME_TIME + 799 })).epoch).toBeUndefined();
      expect(after([await reserve()])).toEqual([800]);
      await giveBack(slots[9]);
      const later = { ...limit, epoch: 'f' };
      expect(await reserve(later)).toEqual({ at: SOME_TIME + 500, epoch: 'f' });
      await giveBack(slots[7]);
      expect(await reserve(later)).toEqual({ at: SOME_TIME + 600, epoch: 'f' });
    });

    it('give thirty concurrent callers thirty different slots', async () => {
      expect(after(await reserved(30))).toEqual(Array.from({ length: 30 }, (_, index) => index * 100));
    });
  });
};

const counts = { ...NO_COUNTS, deliveries: 2, requests: 3, answered: 1, down: 2 };

/** Contract of counting windows: the sum of one version, which nothing earlier changes. */
export const describeCountingWindowsContract = (name: string, windows: CountingWindows): void => {
  describe(`counting windows ${name}`, () => {
    it('have the sum of what concurrent instances added, and how often they did', async () => {
      const key = { queue: 'orders', subscriptionId: randomUUID() };
      expect(await windows.find(key)).toBeUndefined();
      await Promise.all(Array.from({ length: 8 }, () => windows.add(key, SOME_TIME, counts)));
      const sums = { deliveries: 16, requests: 24, answered: 8, refused: 0, down: 16 };
      expect(await windows.find(key)).toEqual({ version: SOME_TIME, writes: 8, ...sums });
    });

    it('begin anew with a later version, and ignore an earlier one', async () => {
      const key = { queue: 'orders', subscriptionId: randomUUID() };
      for (const version of [2, 3, 2]) await windows.add(key, SOME_TIME + version, counts);
      expect(await windows.find(key)).toEqual({ ...counts, version: SOME_TIME + 3, writes: 1 });
    });
  });
};
