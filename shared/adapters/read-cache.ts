import type { Clock } from '../ports/clock.ts';

type ReadCacheOptions<Value> = {
  clock: Pick<Clock, 'now'>;
  /** Maximum age of a cached value in milliseconds. 0 disables the cache. */
  maxAgeMs: number;
  /** Limit on the total weight of all entries. The oldest entries are evicted first. */
  maxWeight: number;
  /** 0 means: do not cache this value. */
  weightOf: (value: Value) => number;
};

type NamedRead<Value> = (name: string, read: () => Promise<Value | undefined>) => Promise<Value | undefined>;

/** A cache of read results. `undefined` (not found) is never cached, and removes an earlier entry. */
export function readCache<Value>(options: ReadCacheOptions<Value>) {
  const entries = new Map<string, { value: Value; readAt: number; weight: number }>();
  const inFlight = new Map<string, Promise<Value | undefined>>();
  const deferred = new Map<string, Promise<Value | undefined>>();
  let total = 0;

  const forget = (name: string): void => {
    total -= entries.get(name)?.weight ?? 0;
    entries.delete(name);
  };

  /** Reinserts the entry, so that the Map's order is the order of age. */
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

  const readNow: NamedRead<Value> = async (name, read) => {
    const readAt = options.clock.now();
    const value = await read();
    // A slow read must not replace the result of a read that started later.
    if ((entries.get(name)?.readAt ?? readAt) > readAt) return value;
    forget(name);
    if (value !== undefined) keep(name, value, readAt);
    return value;
  };

  /**
   * The result of a read that starts after this call, and replaces the cached value. The messages of a batch are handled
   * in step and request the same read one after the other. It is deferred by one microtask, so that they share it.
   */
  const fresh: NamedRead<Value> = (name, read) => {
    const awaited = deferred.get(name);
    if (awaited !== undefined) return awaited;
    const reading = Promise.resolve().then(() => {
      deferred.delete(name);
      return readNow(name, read);
    });
    deferred.set(name, reading);
    return reading;
  };

  const shared: NamedRead<Value> = (name, read) => {
    const reading = inFlight.get(name);
    if (reading !== undefined) return reading;
    const started = readNow(name, read).finally(() => inFlight.delete(name));
    inFlight.set(name, started);
    return started;
  };

  return {
    /** The cached value, or the result of `read`. Concurrent callers share one read. */
    cached: async (name: string, read: () => Promise<Value | undefined>): Promise<Value | undefined> => {
      const entry = entries.get(name);
      const oldest = options.clock.now() - options.maxAgeMs;
      return entry !== undefined && entry.readAt > oldest ? entry.value : await shared(name, read);
    },
    fresh,
    forget,
    /** Forgets all entries whose names start with the prefix. */
    forgetAll: (prefix: string): void => {
      for (const name of entries.keys()) if (name.startsWith(prefix)) forget(name);
    },
  };
}

/** Overhead in bytes of a string, an object or a property in V8 with 64-bit pointers, rounded up. */
const STRING = 32;
const OBJECT = 64;
const PROPERTY = 16;
const NUMBER = 16;

/** Two bytes a character: V8 stores a string this way if it has any character beyond Latin-1. */
const CHARACTER = 2;

/**
 * Estimated heap size in bytes of a value that was parsed from JSON, rather too high than too low. Iterative,
 * because user data may be nested deeper than the stack allows.
 */
export function estimateHeapBytes(value: unknown): number {
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
