import { expect, it } from 'vitest';
import { targets } from '../../fuzz/targets.ts';

/** A slice of `npm run fuzz`, always the same. */
const SEED = 1;
const INPUTS = 100;

it.each(targets)('nearly valid input breaks nothing: $name', async ({ run, weight }) => {
  expect(await run({ seed: SEED, runs: INPUTS * weight })).toMatchObject({ failed: false, error: null });
});
