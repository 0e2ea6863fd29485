import { spawnSync } from 'node:child_process';
import { describe, expect, it } from 'vitest';
import { hostileRequestOf } from '../../hostile/campaign.ts';

const entry = new URL('../../hostile/hostile.ts', import.meta.url).pathname;

describe('npm run hostile', () => {
  it.each([
    ['a seed that is too large', ['--seed', '4294967296']],
    ['a timeout that is not a number', ['--timeout', 'long']],
    ['a timeout above the maximum of an attempt', ['--timeout', '31']],
    ['an unknown option', ['--kinds', '1']],
    ['an extra argument', ['15']],
  ])('rejects %s', (_what, args) => {
    expect(hostileRequestOf(args)).toBeUndefined();
  });

  it('prints the usage for invalid arguments and starts nothing', () => {
    const { status, stdout, stderr } = spawnSync(process.execPath, [entry, 'wrong'], { encoding: 'utf8' });
    expect(status).toBe(2);
    expect(stdout).toBe('');
    expect(stderr).toMatch(/^usage: npm run hostile .*\n$/);
  });
});
