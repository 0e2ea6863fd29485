/** Virtual time, which advances when all work waits for it. Milliseconds since the epoch. */
export type VirtualClock = ReturnType<typeof virtualClock>;

type Entry = { time: number; order: number; callback: () => void };

/** More callbacks than any scenario has unless its wake-ups multiply. */
const MAX_CALLBACKS = 2_000_000;

export const virtualClock = (start = Date.UTC(2026, 0, 1), mostCallbacks = MAX_CALLBACKS) => {
  const pending: Entry[] = [];
  let now = start;
  let order = 0;
  let called = 0;

  /** Calls back at a time. Callbacks run in order of time, then of registration. */
  const at = (time: number, callback: () => void): void => {
    order += 1;
    push(pending, { time: Math.max(time, now), order, callback });
  };

  /** Runs until nothing is pending. `endless`: callbacks remain after `limit`, or there are far too many. */
  const runOut = (limit: number): Promise<'quiet' | 'endless'> =>
    new Promise((resolve, reject) => {
      const step = (): void => {
        const [next] = pending;
        if (next === undefined) {
          resolve('quiet');
          return;
        }
        if (next.time > limit || called === mostCallbacks) {
          resolve('endless');
          return;
        }
        pop(pending);
        called += 1;
        now = next.time;
        try {
          next.callback();
        } catch (error) {
          reject(error instanceof Error ? error : new Error(String(error)));
          return;
        }
        afterwards(step);
      };
      afterwards(step);
    });

  return {
    now: () => now,
    sleep: (milliseconds: number) =>
      new Promise<void>((resolve) => {
        at(now + milliseconds, resolve);
      }),
    at,
    /** Runs callbacks until none is left, or until `deadline`. */
    run: async (deadline = Number.POSITIVE_INFINITY) => {
      await runOut(deadline);
      if (called === mostCallbacks) throw new Error('There are too many callbacks.');
      if (Number.isFinite(deadline)) now = Math.max(now, deadline);
    },
    runOut,
  };
};

/**
 * Calls back once all promises that can settle have settled. A tick requested by a microtask runs after all of
 * them without a turn of the event loop; ticks requested by a tick would all run first.
 */
const afterwards = (callback: () => void): void => {
  queueMicrotask(() => {
    process.nextTick(callback);
  });
};

const isBefore = (one: Entry, other: Entry): boolean =>
  one.time < other.time || (one.time === other.time && one.order < other.order);

/** A binary heap: a scenario has thousands of callbacks, hundreds of them pending at once. */
const push = (heap: Entry[], entry: Entry): void => {
  let index = heap.length;
  heap.push(entry);
  while (index > 0) {
    const above = (index - 1) >> 1;
    const parent = heap[above];
    if (parent === undefined || isBefore(parent, entry)) break;
    heap[index] = parent;
    index = above;
  }
  heap[index] = entry;
};

const pop = (heap: Entry[]): void => {
  const last = heap.pop();
  if (last === undefined || heap.length === 0) return;
  let index = 0;
  for (let below = 1; below < heap.length; below = 2 * index + 1) {
    const child = earlierOf(heap, below);
    const entry = heap[child];
    if (entry === undefined || isBefore(last, entry)) break;
    heap[index] = entry;
    index = child;
  }
  heap[index] = last;
};

const earlierOf = (heap: readonly Entry[], left: number): number => {
  const [one, other] = [heap[left], heap[left + 1]];
  return one !== undefined && other !== undefined && isBefore(other, one) ? left + 1 : left;
};
