/** Places for records in flight, so that a worker never receives more than it can start. */
export type Slots = {
  /** Waits until at least one place is free; takes up to `most`, and returns how many. */
  take: (most: number) => Promise<number>;
  give: (count: number) => void;
};

export function countingSlots(limit: number): Slots {
  let free = limit;
  let waiting: (() => void)[] = [];
  const isFull = (): boolean => free === 0;
  return {
    take: async (most) => {
      while (isFull()) await new Promise<void>((resolve) => waiting.push(resolve));
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
