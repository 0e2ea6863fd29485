import { expect, it } from 'vitest';
import { targets } from '../../fuzz/targets.ts';

/** A slice of `npm run fuzz`, always the same. */
const SEED = 1;
const INPUTS = 100;

/** Below, the generator of a target no longer reaches what it is for. */
const LEAST_SHARE = 0.05;

it.each(targets)('nearly valid input breaks nothing; some is accepted: $name', async ({ run, weight }) => {
  const runs = INPUTS * weight;
  const { accepted, refused, ...outcome } = await run({ seed: SEED, runs });
  expect(outcome).toMatchObject({ failed: false, error: null });
  expect(Math.min(accepted, refused)).toBeGreaterThan(runs * LEAST_SHARE);
});
