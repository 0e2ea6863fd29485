import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';

const entry = new URL('simulate.ts', import.meta.url).pathname;

it('npm run simulate prints one line of JSON', async () => {
  const line = '--seed 3 --faults 100 --workers 1 --json';
  const { stdout, stderr } = await promisify(execFile)(process.execPath, [entry, ...line.split(' ')]);
  expect(stderr).toBe('');
  expect(stdout.trimEnd().split('\n')).toHaveLength(1);
  const { scenarios, faults, attempts, duplicates, ...rest } = JSON.parse(stdout) as Record<string, unknown>;
  expect(rest).toEqual({ seed: 3, unexplainedDuplicates: 0, lost: 0, violations: 0 });
  expect([scenarios, faults, attempts, duplicates]).not.toContain(undefined);
});
