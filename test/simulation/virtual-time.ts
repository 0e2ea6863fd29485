export type VirtualTime = {
  /** Milliseconds since the epoch, as nobody's clock shows it exactly. */
  now(): number;
  /** Calls back at a time, in the order of times, then of calls. */
  at(time: number, callback: () => void): void;
  /** Runs until nothing is left to happen; `endless` where something still happens after `limit`, or far too much does. */
  run(limit: number): Promise<'quiet' | 'endless'>;
};

type Entry = { time: number; order: number; callback: () => void };

/** More happenings than any scenario has whose wake-ups do not multiply. */
const MOST_HAPPENINGS = 2_000_000;

/**
 * When every promise that can go on has done so. A tick asked for by a microtask comes after all of them, and needs no
 * turn of the event loop; ticks asked for by a tick would all come first.
 */
const afterwards = (callback: () => void): void => {
  queueMicrotask(() => {
    process.nextTick(callback);
  });
};

/** Time that passes only when everybody waits. */
export const virtualTime = (start: number): VirtualTime => {
  const heap: Entry[] = [];
  let now = start;
  let order = 0;
  let happened = 0;

  return {
    now: () => now,
    at: (time, callback) => {
      order += 1;
      push(heap, { time: Math.max(time, now), order, callback });
    },
    run: (limit) =>
      new Promise((resolve, reject) => {
        const step = (): void => {
          const next = pop(heap);
          if (next === undefined) {
            resolve('quiet');
            return;
          }
          happened += 1;
          if (next.time > limit || happened > MOST_HAPPENINGS) {
            resolve('endless');
            return;
          }
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
      }),
  };
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

const pop = (heap: Entry[]): Entry | undefined => {
  const first = heap[0];
  const last = heap.pop();
  if (first === undefined || last === undefined || heap.length === 0) return first;
  let index = 0;
  for (let below = 1; below < heap.length; below = 2 * index + 1) {
    const child = earlierOf(heap, below);
    const entry = heap[child];
    if (entry === undefined || isBefore(last, entry)) break;
    heap[index] = entry;
    index = child;
  }
  heap[index] = last;
  return first;
};

const earlierOf = (heap: readonly Entry[], left: number): number => {
  const [one, other] = [heap[left], heap[left + 1]];
  return one !== undefined && other !== undefined && isBefore(other, one) ? left + 1 : left;
};
