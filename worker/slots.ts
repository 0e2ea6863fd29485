import type { WorkerClock } from './timing.ts';

/** Places for records in flight, so that a worker never receives more than it can start. */
export type Slots = {
  /** Waits until a place is free, and where none was, for a moment more; takes up to `most`, and returns how many. */
  take: (most: number) => Promise<number>;
  give: (count: number) => void;
};

/** Milliseconds. Places of a busy worker become free one by one; a receive for each would cost as much as their work. */
const GATHER_MS = 25;

export function countingSlots(limit: number, { sleep }: Pick<WorkerClock, 'sleep'>): Slots {
  let free = limit;
  let waiting: (() => void)[] = [];
  const isFull = (): boolean => free === 0;
  return {
    take: async (most) => {
      while (isFull()) {
        await new Promise<void>((resolve) => waiting.push(resolve));
        await sleep(GATHER_MS);
      }
      const count = Math.min(free, most);
      free -= count;
      return count;
    },
    give: (count) => {
      free += count;
      if (isFull()) return;
      const woken = waiting;
      waiting = [];
      for (const resolve of woken) resolve();
    },
  };
}
