import { spawnSync } from 'node:child_process';
import { describe, expect, it } from 'vitest';
import { hostileRequestOf } from '../../hostile/campaign.ts';

const entry = new URL('../../hostile/hostile.ts', import.meta.url).pathname;

describe('npm run hostile', () => {
  it.each([
    ['a seed that is too large', ['--seed', '4294967296']],
    ['a timeout that is no number', ['--timeout', 'long']],
    ['a timeout longer than an attempt may have', ['--timeout', '31']],
    ['an option it does not know', ['--kinds', '1']],
    ['a stray word', ['15']],
  ])('does not understand %s', (_what, args) => {
    expect(hostileRequestOf(args)).toBeUndefined();
  });

  it('answers what it does not understand with a usage line and starts nothing', () => {
    const { status, stdout, stderr } = spawnSync(process.execPath, [entry, 'wrong'], { encoding: 'utf8' });
    expect(status).toBe(2);
    expect(stdout).toBe('');
    expect(stderr).toMatch(/^usage: npm run hostile .*\n$/);
  });
});
