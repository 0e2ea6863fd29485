import type { Clock } from '../ports/clock.ts';

type Entry<Value> = { value: Value; readAt: number; weight: number };

type ReadCacheOptions<Value> = {
  clock: Pick<Clock, 'now'>;
  /** Milliseconds that an answer may be old. 0: every read is made. */
  maxAgeMs: number;
  /** What all entries may weigh together; the oldest go first. */
  maxWeight: number;
  /** 0: not to be kept. */
  weightOf: (value: Value) => number;
};

type ReadCache<Value> = {
  /** From the cache, or by the read, which those who ask meanwhile share. */
  cached(name: string, read: () => Promise<Value | undefined>): Promise<Value | undefined>;
  /** By a read that begins after it was asked for, and that all share who ask before; its answer is what the cache holds from then on. */
  fresh(name: string, read: () => Promise<Value | undefined>): Promise<Value | undefined>;
  forget(name: string): void;
  /** All whose names begin so. */
  forgetAll(prefix: string): void;
};

/** Answers of a while ago, shared by all who ask. `undefined` – nothing there – is never kept, and drops what was. */
export function readCache<Value>(options: ReadCacheOptions<Value>): ReadCache<Value> {
  const entries = new Map<string, Entry<Value>>();
  const underWay = new Map<string, Promise<Value | undefined>>();
  const aboutToBegin = new Map<string, Promise<Value | undefined>>();
  let total = 0;

  const forget = (name: string): void => {
    total -= entries.get(name)?.weight ?? 0;
    entries.delete(name);
  };

  /** Inserted anew, so that a Map's order is the order of age. */
  const keep = (name: string, value: Value, readAt: number): void => {
    const weight = options.weightOf(value);
    if (weight === 0 || weight > options.maxWeight) return;
    entries.set(name, { value, readAt, weight });
    total += weight;
    for (const oldest of entries.keys()) {
      if (total <= options.maxWeight) return;
      forget(oldest);
    }
  };

  const readNow: ReadCache<Value>['fresh'] = async (name, read) => {
    const readAt = options.clock.now();
    const value = await read();
    // A slow read does not replace the answer of one that began after it.
    if ((entries.get(name)?.readAt ?? readAt) > readAt) return value;
    forget(name);
    if (value !== undefined) keep(name, value, readAt);
    return value;
  };

  /** The messages of a batch are handled in step, and ask for the same one after the other: the read begins behind them. */
  const fresh: ReadCache<Value>['fresh'] = (name, read) => {
    const awaited = aboutToBegin.get(name);
    if (awaited !== undefined) return awaited;
    const reading = Promise.resolve().then(() => {
      aboutToBegin.delete(name);
      return readNow(name, read);
    });
    aboutToBegin.set(name, reading);
    return reading;
  };

  const shared: ReadCache<Value>['fresh'] = (name, read) => {
    const reading = underWay.get(name);
    if (reading !== undefined) return reading;
    const started = readNow(name, read).finally(() => underWay.delete(name));
    underWay.set(name, started);
    return started;
  };

  return {
    cached: async (name, read) => {
      const entry = entries.get(name);
      const oldest = options.clock.now() - options.maxAgeMs;
      return entry !== undefined && entry.readAt > oldest ? entry.value : await shared(name, read);
    },
    fresh,
    forget,
    forgetAll: (prefix) => {
      for (const name of entries.keys()) if (name.startsWith(prefix)) forget(name);
    },
  };
}

/** Of V8 with 64-bit pointers, rounded up: what a string, an object or a property takes beside its content. */
const STRING = 32;
const OBJECT = 64;
const PROPERTY = 16;
const NUMBER = 16;

/** Two bytes a character, as V8 keeps any text that has one beyond Latin-1. */
const CHARACTER = 2;

/**
 * About how many bytes a value that was read from JSON takes in memory, rather too many than too few. Without recursion:
 * what users nest may be deeper than the stack.
 */
export function heapBytesOf(value: unknown): number {
  const open = [value];
  let bytes = 0;
  while (open.length > 0) {
    const next = open.pop();
    if (typeof next === 'string') bytes += STRING + CHARACTER * next.length;
    else if (typeof next !== 'object' || next === null) bytes += NUMBER;
    else {
      bytes += OBJECT;
      for (const [name, member] of Object.entries(next)) {
        bytes += PROPERTY + (Array.isArray(next) ? 0 : STRING + CHARACTER * name.length);
        open.push(member);
      }
    }
  }
  return bytes;
}
