import { spawnSync } from 'node:child_process';
import { describe, expect, it } from 'vitest';
import * as z from 'zod';
import { median } from '../../bench/measured/figures.ts';
import { ratiosIn } from '../../bench/measured/ratios.ts';

const entryOf = (name: string): string => new URL(`../../bench/${name}/${name}.ts`, import.meta.url).pathname;

const run = (name: string, ...args: string[]) =>
  spawnSync(process.execPath, [entryOf(name), ...args], { encoding: 'utf8', timeout: 100_000 });

const delivered = z.object({
  fanOuts: z.array(
    z.object({ deliver: z.object({ calls: z.record(z.string(), z.number()) }), logBytes: z.number() }),
  ),
});

describe('npm run bench:deliver', () => {
  it('measures the real function beside a bare one that makes the same calls', { timeout: 120_000 }, () => {
    const { status, stdout, stderr } = run('deliver', '--short', '--json');
    expect([status, stderr]).toEqual([0, expect.stringContaining('Comparing')]);
    const result: unknown = JSON.parse(stdout);
    for (const { ratio } of ratiosIn(result)) expect(ratio).toBeGreaterThan(0);
    const [first] = delivered.parse(result).fanOuts;
    expect(first?.deliver.calls).toMatchObject({ PutItem: 1, POST: 1, UpdateItem: 1 });
    expect(first?.logBytes).toBeGreaterThan(100);
  });
});

describe.each(['deliver', 'dispatch'])('npm run bench:%s', (name) => {
  it('answers what it does not know with a usage line, and measures nothing', () => {
    const { status, stdout, stderr } = run(name, '--fast');
    expect([status, stdout]).toEqual([2, '']);
    expect(stderr).toMatch(new RegExp(`^usage: npm run bench:${name} `));
  });
});

describe('the median', () => {
  it.each([
    [[3], 3],
    [[9, 1, 2], 2],
    [[4, 1, 3, 100], 3.5],
  ])('of %j is %d', (values, middle) => {
    expect(median(values)).toBe(middle);
  });
});
