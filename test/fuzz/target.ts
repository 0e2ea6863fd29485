import * as fc from 'fast-check';

/** `input`: the smallest that failed. */
export type Outcome = { failed: boolean; input: unknown; error: unknown };

/** Something that reads what others wrote. `check` throws if it does not hold. */
export type Target = {
  name: string;
  /** Runs of the property in one round, relative to others. */
  weight: number;
  run: (options: { seed: number; runs: number }) => Promise<Outcome>;
};

/** Longer than any reader of one input may take, in milliseconds. */
const HANG_MS = 2_000;

class HangError extends Error {
  override readonly name = 'HangError';
}

export const target = <Input>(
  name: string,
  input: fc.Arbitrary<Input>,
  check: (input: Input) => unknown,
  weight = 1,
): Target => ({
  name,
  weight,
  run: async ({ seed, runs }) => {
    const property = fc.asyncProperty(input, async (given) => {
      const startedAt = performance.now();
      await check(given);
      const tookMs = performance.now() - startedAt;
      if (tookMs > HANG_MS) throw new HangError(`took ${Math.round(tookMs)} ms`);
    });
    const { failed, counterexample, errorInstance } = await fc.check(property, { seed, numRuns: runs });
    return { failed, input: counterexample?.[0], error: errorInstance };
  },
});
