import { createHash } from 'node:crypto';
import type { Jitter } from './vocabulary.ts';

/**
 * The jittered delay in seconds: from 0 (full) or half (equal) up to `delaySeconds`. The same seed gives the same
 * delay, so that a computation repeated after a crash keeps its due time.
 */
export function jitteredDelay(delaySeconds: number, jitter: Jitter, seed: string): number {
  switch (jitter) {
    case 'none':
      return delaySeconds;
    case 'full':
      return delaySeconds * pseudoRandom(seed);
    case 'equal':
      return delaySeconds * (0.5 + pseudoRandom(seed) / 2);
  }
}

const RANDOM_BYTES = 6;

/** Uniform in [0, 1) over 2^48 values. */
function pseudoRandom(seed: string): number {
  return createHash('sha256').update(seed).digest().readUIntBE(0, RANDOM_BYTES) / 2 ** (8 * RANDOM_BYTES);
}
