import { existsSync } from 'node:fs';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { runBench, type Bench } from '../../bench/measured/command.ts';
import { Problem } from '../../local/install/problem.mjs';

type Result = { name: string; milliseconds: number };

/** Not one of ours, so that nothing that is kept can be overwritten. */
const name = 'of-a-test';

const kept = new URL(`../../bench/results/${name}.json`, import.meta.url);

const bench = (overrides: Partial<Bench<Result>> = {}): Bench<Result> => ({
  name,
  measure: () => Promise.resolve({ name, milliseconds: 1.23456 }),
  text: ({ milliseconds }) => `${milliseconds} ms`,
  ...overrides,
});

describe('a bench', () => {
  const written: string[] = [];
  const said: string[] = [];
  beforeEach(() => {
    written.length = 0;
    said.length = 0;
    vi.spyOn(process.stdout, 'write').mockImplementation((text) => {
      written.push(String(text));
      return true;
    });
    vi.spyOn(process.stderr, 'write').mockImplementation((text) => {
      said.push(String(text));
      return true;
    });
  });
  afterEach(() => {
    vi.restoreAllMocks();
  });

  it('shows its result, rounded where it is JSON', async () => {
    expect(await runBench(bench(), ['--dry', '--json'])).toBe(0);
    expect(written).toEqual([`{"name":"${name}","milliseconds":1.235}\n`]);
    expect(existsSync(kept)).toBe(false);
  });

  it('that finds what must not be shows its result and says so, does not keep it, and ends with status 1', async () => {
    const faults = ({ milliseconds }: Result) => [`It took ${milliseconds} ms.`];
    expect(await runBench(bench({ faults }), [])).toBe(1);
    expect(written).toEqual(['1.23456 ms\n']);
    expect(said).toEqual(['It took 1.23456 ms.\n']);
    expect(existsSync(kept)).toBe(false);
  });

  it('that cannot measure says why, shows nothing, and ends with status 2', async () => {
    const measure = () => Promise.reject(new Problem('There is no memory.'));
    expect(await runBench(bench({ measure }), ['--dry'])).toBe(2);
    expect([written, said]).toEqual([[], ['There is no memory.\n']]);
  });

  it('that is asked for what it does not know says what it does, and ends with status 2', async () => {
    const measure = vi.fn(bench().measure);
    expect(await runBench(bench({ measure }), ['--fast'])).toBe(2);
    expect(said.join('')).toContain(`usage: npm run bench:${name}`);
    expect(measure).not.toHaveBeenCalled();
  });
});
