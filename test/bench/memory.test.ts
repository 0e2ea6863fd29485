import { spawnSync } from 'node:child_process';
import { describe, expect, it } from 'vitest';
import * as z from 'zod';
import { priceOf } from '../../bench/memory/price.ts';
import { ratiosIn } from '../../bench/measured/ratios.ts';

const entry = new URL('../../bench/memory/memory.ts', import.meta.url).pathname;

const run = (...args: string[]) =>
  spawnSync(process.execPath, [entry, ...args], { encoding: 'utf8', timeout: 100_000 });

const usage = z.object({ cpuMs: z.number().positive(), peaks: z.record(z.string(), z.number().positive()) });

const result = z.object({
  sizes: z.tuple([z.object({ memoryMegabytes: z.literal(512), dispatch: usage, deliver: usage })]),
});

describe('npm run bench:memory', () => {
  it(
    'measures what both functions hold, with large messages and with answers without end',
    { timeout: 120_000 },
    () => {
      const { status, stdout, stderr } = run('--short', '--json');
      expect([status, stderr]).toEqual([0, expect.stringContaining('Measuring at 512 MB')]);
      const json: unknown = JSON.parse(stdout);
      const [{ dispatch, deliver }] = result.parse(json).sizes;
      expect(Object.keys(dispatch.peaks)).toEqual(['usual', 'large']);
      expect(Object.keys(deliver.peaks)).toEqual(['usual', 'large', 'hostile']);
      for (const { ratio } of ratiosIn(json)) expect(ratio).toBeLessThan(1);
    },
  );

  it('answers what it does not know with a usage line, and measures nothing', () => {
    const { status, stdout, stderr } = run('--fast');
    expect([status, stdout]).toEqual([2, '']);
    expect(stderr).toMatch(/^usage: npm run bench:memory /);
  });
});

describe('the price of an invocation', () => {
  const ten = { deliveries: 10, cpuMs: 20, waitingMs: 110 };

  it('is that of its processor time, stretched by the share of a processor, and of its waiting', () => {
    const { invocationMs, usdPerMillion } = priceOf(ten, 512);
    expect(invocationMs).toBeCloseTo(20 / (512 / 1769) + 110);
    expect(usdPerMillion).toBeCloseTo(((invocationMs / 1000) * 0.5 * 1.33334e-5 * 1_000_000) / 10);
  });

  it('has less of it waiting the less memory it has, and the same of it working', () => {
    const working = { ...ten, waitingMs: 0 };
    expect(priceOf(working, 256).usdPerMillion).toBeCloseTo(priceOf(working, 1024).usdPerMillion);
    const waiting = { ...ten, cpuMs: 0 };
    expect(priceOf(waiting, 256).usdPerMillion).toBeCloseTo(priceOf(waiting, 1024).usdPerMillion / 4);
  });
});
