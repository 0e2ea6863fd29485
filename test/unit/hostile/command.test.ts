import { spawnSync } from 'node:child_process';
import { describe, expect, it } from 'vitest';

const entry = new URL('../../hostile/hostile.ts', import.meta.url).pathname;

describe('npm run hostile', () => {
  it.each([
    ['a seed that is too large', ['--seed', '4294967296']],
    ['a timeout that is no number', ['--timeout', 'long']],
    ['a timeout longer than an attempt may have', ['--timeout', '31']],
    ['an option it does not know', ['--kinds', '1']],
    ['a stray word', ['15']],
  ])('answers %s with a usage line and starts nothing', (_what, args) => {
    const { status, stdout, stderr } = spawnSync(process.execPath, [entry, ...args], { encoding: 'utf8' });
    expect(status).toBe(2);
    expect(stdout).toBe('');
    expect(stderr).toMatch(/^usage: npm run hostile .*\n$/);
  });
});
