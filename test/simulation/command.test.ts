import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';

const entry = new URL('simulate.ts', import.meta.url).pathname;

/** Runs the command and returns its output and exit code. */
const simulate = async (...args: string[]): Promise<{ code: unknown; stdout: string; stderr: string }> => {
  try {
    return { code: 0, ...(await promisify(execFile)(process.execPath, [entry, ...args])) };
  } catch (error) {
    if (error instanceof Error && 'code' in error && 'stdout' in error && 'stderr' in error)
      return { code: error.code, stdout: String(error.stdout), stderr: String(error.stderr) };
    throw error;
  }
};

it('npm run simulate prints one line of JSON', async () => {
  const { code, stdout, stderr } = await simulate(
    '--seed',
    '3',
    '--faults',
    '100',
    '--workers',
    '1',
    '--json',
  );
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  expect(stdout.trimEnd().split('\n')).toHaveLength(1);
  const { scenarios, faults, attempts, duplicates, ...rest } = JSON.parse(stdout) as Record<string, unknown>;
  expect(rest).toEqual({ seed: 3, unexplainedDuplicates: 0, lost: 0, violations: 0 });
  expect([scenarios, faults, attempts, duplicates]).not.toContain(undefined);
});
