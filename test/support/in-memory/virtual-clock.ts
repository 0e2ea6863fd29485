import type { Clock } from '../../../shared/ports/clock.ts';

/** Time in which nothing waits for real: it passes when everybody waits for it. Milliseconds since the epoch. */
export type VirtualClock = Clock & {
  /** Calls back at a time, in the order of times, then of calls. */
  at(time: number, callback: () => void): void;
  /** Runs what is due until nothing is left, or until it is `deadline`. */
  run(deadline?: number): Promise<void>;
  /** Runs until nothing is left to happen; `endless` where something still happens after `limit`, or far too much does. */
  runOut(limit: number): Promise<'quiet' | 'endless'>;
};

type Entry = { time: number; order: number; callback: () => void };

/** More happenings than any scenario has whose wake-ups do not multiply. */
const MOST_HAPPENINGS = 2_000_000;

export const virtualClock = (start = Date.UTC(2026, 0, 1)): VirtualClock => {
  const pending: Entry[] = [];
  let now = start;
  let order = 0;
  let happened = 0;

  const at = (time: number, callback: () => void): void => {
    order += 1;
    push(pending, { time: Math.max(time, now), order, callback });
  };

  const runOut = (limit: number): Promise<'quiet' | 'endless'> =>
    new Promise((resolve, reject) => {
      const step = (): void => {
        const [next] = pending;
        if (next === undefined) {
          resolve('quiet');
          return;
        }
        if (next.time > limit || happened === MOST_HAPPENINGS) {
          resolve('endless');
          return;
        }
        pop(pending);
        happened += 1;
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
    sleep: (milliseconds) =>
      new Promise((resolve) => {
        at(now + milliseconds, resolve);
      }),
    at,
    run: async (deadline = Number.POSITIVE_INFINITY) => {
      await runOut(deadline);
      if (happened === MOST_HAPPENINGS) throw new Error('Far too much happens.');
      if (Number.isFinite(deadline)) now = Math.max(now, deadline);
    },
    runOut,
  };
};

/**
 * When every promise that can go on has done so. A tick asked for by a microtask comes after all of them, and needs no
 * turn of the event loop; ticks asked for by a tick would all come first.
 */
const afterwards = (callback: () => void): void => {
  queueMicrotask(() => {
    process.nextTick(callback);
  });
};

const isBefore = (one: Entry, other: Entry): boolean =>
  one.time < other.time || (one.time === other.time && one.order < other.order);

/** A binary heap: a scenario has thousands of happenings, and hundreds waiting at a time. */
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
