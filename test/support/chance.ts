/** Randomness from a seed: the same seed gives the same sequence on every machine. */
export type Chance = ReturnType<typeof seededChance>;

const RANGE = 2 ** 32;

export const seededChance = (seed: number) => {
  let state = mixed(seed ^ 0x9e3779b9);
  /** Uniform in [0, 1). */
  const next = (): number => {
    state = (state + 0x6d2b79f5) >>> 0;
    return mixed(state) / RANGE;
  };
  /** An integer from `least` to `most`, both inclusive. */
  const int = (least: number, most: number): number => least + Math.floor(next() * (most - least + 1));
  return {
    next,
    int,
    happens: (probability: number): boolean => next() < probability,
    pick: <T>(items: readonly T[]): T => {
      const item = items[int(0, items.length - 1)];
      if (item === undefined) throw new RangeError('Nothing to pick from.');
      return item;
    },
  };
};

/**
 * Uniform in [0, 1), from a seed and a name alone. It does not depend on other draws, so removing a fault from a
 * run leaves the rest much the same.
 */
export const chanceAt = (seed: number, name: string): number => hash(seed, name) / RANGE;

/** FNV-1a with a final mix. */
const hash = (seed: number, name: string): number => {
  let value = (0x811c9dc5 ^ seed) >>> 0;
  for (let index = 0; index < name.length; index += 1) {
    value = Math.imul(value ^ name.charCodeAt(index), 0x01000193);
  }
  return mixed(value >>> 0);
};

/** The finaliser of MurmurHash3: every input bit affects every output bit. */
const mixed = (value: number): number => {
  let bits = value;
  bits = Math.imul(bits ^ (bits >>> 16), 0x85ebca6b);
  bits = Math.imul(bits ^ (bits >>> 13), 0xc2b2ae35);
  return (bits ^ (bits >>> 16)) >>> 0;
};
