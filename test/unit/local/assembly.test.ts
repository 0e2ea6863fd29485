import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { temporaryFolder } from '../../support/temporary-folder.ts';
import { fingerprint } from '../../../local/assembly.ts';

describe('the fingerprint of a CDK assembly', () => {
  let root = '';
  beforeEach(() => {
    root = temporaryFolder();
    mkdirSync(join(root, 'infra', 'stacks'), { recursive: true });
    writeFileSync(join(root, 'infra', 'stacks', 'state-stack.ts'), 'one');
    writeFileSync(join(root, 'package-lock.json'), '{}');
  });
  const settings = { local: 'true', retentionDays: '20' };

  it('is the same for the same sources and settings, in any order of the settings', () => {
    expect(fingerprint(root, { retentionDays: '20', local: 'true' })).toBe(fingerprint(root, settings));
  });

  it('changes with a setting', () => {
    expect(fingerprint(root, { ...settings, retentionDays: '21' })).not.toBe(fingerprint(root, settings));
  });

  it.each([
    ['a source changes', () => join('infra', 'stacks', 'state-stack.ts')],
    ['a source is added', () => join('infra', 'app.ts')],
    ['the pinned packages change', () => 'package-lock.json'],
  ])('changes when %s', (_, file) => {
    const before = fingerprint(root, settings);
    writeFileSync(join(root, file()), 'two');
    expect(fingerprint(root, settings)).not.toBe(before);
  });

  it('does not change with files that are not sources of the stacks', () => {
    const before = fingerprint(root, settings);
    writeFileSync(join(root, 'README.md'), 'text');
    expect(fingerprint(root, settings)).toBe(before);
  });
});
