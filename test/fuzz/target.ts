import * as fc from 'fast-check';

/** `accepted`, `refused`: inputs until the first failure. `input`: the smallest that failed. */
export type Outcome = { accepted: number; refused: number; failed: boolean; input: unknown; error: unknown };

/** Something that reads what others wrote. */
export type Target = {
  name: string;
  /** Runs of the property in one round, relative to others. */
  weight: number;
  run: (options: { seed: number; runs: number }) => Promise<Outcome>;
};

type Options = {
  weight?: number;
  /** Milliseconds that one input may take. */
  hangMs?: number;
  /** Whether a failure is searched for the smallest input: not where each input changes what the next one meets. */
  shrinks?: boolean;
};

/** Longer than any reader of one input may take, in milliseconds. */
export const HANG_MS = 2_000;

export class HangError extends Error {
  override readonly name = 'HangError';
}

/** `check` returns whether the input was accepted, and throws if the reader has a fault. */
export const target = <Input>(
  name: string,
  input: fc.Arbitrary<Input>,
  check: (input: Input) => boolean | Promise<boolean>,
  { weight = 1, hangMs = HANG_MS, shrinks = true }: Options = {},
): Target => ({
  name,
  weight,
  run: async ({ seed, runs }) => {
    const counts = { accepted: 0, refused: 0 };
    let hasFailed = false;
    let hasHung = false;
    const property = fc.asyncProperty(input, async (given) => {
      // Each smaller input might hang as long.
      if (hasHung) return;
      const startedAt = performance.now();
      try {
        const isAccepted = await check(given);
        const tookMs = performance.now() - startedAt;
        if (tookMs > hangMs) throw new HangError(`took ${Math.round(tookMs)} ms`);
        if (!hasFailed) counts[isAccepted ? 'accepted' : 'refused'] += 1;
      } catch (error) {
        hasFailed = true;
        hasHung = error instanceof HangError;
        throw error;
      }
    });
    const { failed, counterexample, errorInstance } = await fc.check(property, {
      seed,
      numRuns: runs,
      endOnFailure: !shrinks,
    });
    return { ...counts, failed, input: counterexample?.[0], error: errorInstance };
  },
});
