import { createHash } from 'node:crypto';
import type { Jitter } from './retry-policy.ts';

/**
 * The delay in seconds once chance has its part: anywhere from 0 (full) or from half of it (equal) up to the delay
 * itself. The same seed gives the same delay, so that a computation repeated after a crash does not move a due time.
 */
export const jitteredDelay = (delaySeconds: number, jitter: Jitter, seed: string): number => {
  switch (jitter) {
    case 'none':
      return delaySeconds;
    case 'full':
      return delaySeconds * chance(seed);
    case 'equal':
      return delaySeconds * (0.5 + chance(seed) / 2);
  }
};

const CHANCE_BYTES = 6;

/** Uniform in [0, 1) over 2^48 values. */
const chance = (seed: string): number =>
  createHash('sha256').update(seed).digest().readUIntBE(0, CHANCE_BYTES) / 2 ** (8 * CHANCE_BYTES);
