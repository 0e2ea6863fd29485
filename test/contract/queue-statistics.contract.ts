import { randomUUID } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { type Counters, noCounters } from '../../shared/domain/delivery/statistics.ts';
import type { QueueStatistics } from '../../shared/ports/statistics.ts';

const MINUTE = 60_000;
const BEFORE_MIDNIGHT = Date.UTC(2026, 10, 21, 23, 59);

const someCounters: Counters = {
  counts: {
    messages: 2,
    matched: 3,
    filtered: 4,
    attempts: 5,
    attemptsFailed: 6,
    attemptsRejected: 7,
    delivered: 8,
    exhausted: 9,
    rejected: 10,
    cancelled: 11,
  },
  timeToDelivery: new Map([
    [0, 1],
    [17, 5],
  ]),
  response: new Map([
    [0, 3],
    [113, 1],
  ]),
};

const messages = (count: number): Counters => ({
  ...noCounters(),
  counts: { ...noCounters().counts, messages: count },
});

/** Contract of the counters of a queue: sums per minute. */
export const describeQueueStatisticsContract = (name: string, make: () => QueueStatistics): void => {
  const counted = async (queue: string, minutes: readonly (readonly [at: number, counters: Counters])[]) => {
    const statistics = make();
    for (const [at, counters] of minutes)
      await statistics.add({ queue, at, counters, expiresAt: Date.now() + MINUTE });
    return statistics;
  };
  const read = async (statistics: QueueStatistics, window: Parameters<QueueStatistics['minutes']>[0]) => {
    const found = [];
    for await (const minute of statistics.minutes(window)) found.push(minute);
    return found;
  };

  describe(`statistics of a queue ${name}`, () => {
    it('reads every counter as it was added', async () => {
      const queue = randomUUID();
      const statistics = await counted(queue, [[BEFORE_MIDNIGHT, someCounters]]);
      const window = { queue, since: BEFORE_MIDNIGHT, until: BEFORE_MIDNIGHT + MINUTE };
      expect(await read(statistics, window)).toEqual([{ at: BEFORE_MIDNIGHT, counters: someCounters }]);
    });

    it('adds to what a minute has', async () => {
      const queue = randomUUID();
      const statistics = await counted(queue, [
        [BEFORE_MIDNIGHT, messages(1)],
        [BEFORE_MIDNIGHT, someCounters],
      ]);
      const window = { queue, since: BEFORE_MIDNIGHT, until: BEFORE_MIDNIGHT + MINUTE };
      const [minute] = await read(statistics, window);
      expect(minute?.counters).toEqual({
        ...someCounters,
        counts: { ...someCounters.counts, messages: 3 },
      });
    });

    it('reads the minutes of a window in order, also past midnight, and none outside of it', async () => {
      const queue = randomUUID();
      const at = (minute: number): number => BEFORE_MIDNIGHT + minute * MINUTE;
      const day = 24 * 60;
      const statistics = await counted(
        queue,
        [-1, 0, 1, day, day + 1, day + 2].map((minute) => [at(minute), messages(1)] as const),
      );
      await statistics.add({
        queue: `${queue}2`,
        at: at(0),
        counters: someCounters,
        expiresAt: Date.now() + MINUTE,
      });
      const found = await read(statistics, { queue, since: at(0), until: at(day + 2) });
      expect(found.map((minute) => minute.at)).toEqual([at(0), at(1), at(day), at(day + 1)]);
      expect(await read(statistics, { queue, since: at(1), until: at(2) })).toHaveLength(1);
      expect(await read(statistics, { queue, since: at(2), until: at(9) })).toEqual([]);
    });
  });
};
