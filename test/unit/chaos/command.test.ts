import { spawnSync } from 'node:child_process';
import { describe, expect, it } from 'vitest';
import { chaosRequestOf } from '../../chaos/run.ts';

const entry = new URL('../../chaos/chaos.ts', import.meta.url).pathname;

describe('npm run chaos', () => {
  it.each([
    ['no messages', ['--messages', '0']],
    ['more messages than the local AWS can handle', ['--messages', '5001']],
    ['a count that is not a number', ['--messages', 'many']],
    ['more workers than the machine can run', ['--workers', '6']],
    ['a seed that is too large', ['--seed', '4294967296']],
    ['an unknown option', ['--faults', '1']],
    ['an extra argument', ['100']],
  ])('rejects %s', (_what, args) => {
    expect(chaosRequestOf(args)).toBeUndefined();
  });

  it('prints the usage for invalid arguments and starts nothing', () => {
    const { status, stdout, stderr } = spawnSync(process.execPath, [entry, 'wrong'], { encoding: 'utf8' });
    expect(status).toBe(2);
    expect(stdout).toBe('');
    expect(stderr).toMatch(/^usage: npm run chaos .*\n$/);
  });
});
