import { spawnSync } from 'node:child_process';
import { describe, expect, it } from 'vitest';
import { chaosRequestOf } from '../../chaos/run.ts';

const entry = new URL('../../chaos/chaos.ts', import.meta.url).pathname;

describe('npm run chaos', () => {
  it.each([
    ['no messages', ['--messages', '0']],
    ['more messages than the local AWS can take', ['--messages', '5001']],
    ['a count that is no number', ['--messages', 'many']],
    ['a seed that is too large', ['--seed', '4294967296']],
    ['an option it does not know', ['--faults', '1']],
    ['a stray word', ['100']],
  ])('does not understand %s', (_what, args) => {
    expect(chaosRequestOf(args)).toBeUndefined();
  });

  it('answers what it does not understand with a usage line and starts nothing', () => {
    const { status, stdout, stderr } = spawnSync(process.execPath, [entry, 'wrong'], { encoding: 'utf8' });
    expect(status).toBe(2);
    expect(stdout).toBe('');
    expect(stderr).toMatch(/^usage: npm run chaos .*\n$/);
  });
});
