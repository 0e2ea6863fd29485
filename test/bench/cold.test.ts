import { spawnSync } from 'node:child_process';
import { describe, expect, it } from 'vitest';
import * as z from 'zod';
import { functionNames } from '../../bench/cold/world.ts';
import { ratiosIn } from '../../bench/measured/ratios.ts';

const entry = new URL('../../bench/cold/cold.ts', import.meta.url).pathname;

const run = (...args: string[]) =>
  spawnSync(process.execPath, [entry, ...args], { encoding: 'utf8', timeout: 100_000 });

const result = z.object({
  functions: z.array(z.object({ ours: z.object({ bundleBytes: z.number().max(1_000_000) }) })),
});

describe('npm run bench:cold', () => {
  it(
    'starts every function beside a bare one that makes the same calls, in at most 1 MB',
    { timeout: 120_000 },
    () => {
      const { status, stdout, stderr } = run('--short', '--json');
      expect([status, stderr]).toEqual([0, expect.stringContaining('Starting api')]);
      const json: unknown = JSON.parse(stdout);
      expect(result.parse(json).functions).toHaveLength(functionNames.length);
      for (const { ratio } of ratiosIn(json)) expect(ratio).toBeGreaterThan(0);
    },
  );

  it('answers what it does not know with a usage line, and measures nothing', () => {
    const { status, stdout, stderr } = run('--fast');
    expect([status, stdout]).toEqual([2, '']);
    expect(stderr).toMatch(/^usage: npm run bench:cold /);
  });
});
