import { mkdirSync, readFileSync, readdirSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { cachedBuild, fingerprint } from '../../../local/cached-builds.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';

let builds: string;
beforeEach(() => (builds = temporaryFolder()));

/** A build that writes a file with this text. */
const building = (text: string) => (folder: string) => {
  mkdirSync(folder);
  writeFileSync(join(folder, 'file'), text);
  return Promise.resolve();
};

const textIn = (folder: string): string => readFileSync(join(folder, 'file'), 'utf8');

describe('a cached build', () => {
  it('runs once for the same sources', async () => {
    const first = await cachedBuild(builds, 'sources', building('one'));
    const again = await cachedBuild(builds, 'sources', building('two'));
    expect(again).toBe(first);
    expect(textIn(again)).toBe('one');
    expect(textIn(await cachedBuild(builds, 'others', building('two')))).toBe('two');
  });

  it('leaves nothing behind if it fails, and runs again the next time', async () => {
    const failing = async (folder: string): Promise<void> => {
      await building('half')(folder);
      throw new Error('no room');
    };
    await expect(cachedBuild(builds, 'sources', failing)).rejects.toThrow('no room');
    expect(readdirSync(builds)).toEqual([]);
    expect(textIn(await cachedBuild(builds, 'sources', building('one')))).toBe('one');
  });

  it('is replaced by the build that another process completed first', async () => {
    const beaten = async (folder: string): Promise<void> => {
      await building('second')(folder);
      await building('first')(join(builds, 'sources'));
    };
    expect(textIn(await cachedBuild(builds, 'sources', beaten))).toBe('first');
    expect(readdirSync(builds)).toEqual(['sources']);
  });

  it('is deleted once four others have been used more recently', async () => {
    for (const [age, name] of ['a', 'b', 'c', 'd', 'e'].entries()) {
      await cachedBuild(builds, name, building(name));
      // Several builds may have the same time stamp in the file system.
      utimesSync(join(builds, name), age, age);
    }
    await cachedBuild(builds, 'f', building('f'));
    expect(readdirSync(builds).toSorted()).toEqual(['c', 'd', 'e', 'f']);
  });
});

describe('the fingerprint of a CDK assembly', () => {
  let root = '';
  beforeEach(() => {
    root = temporaryFolder();
    mkdirSync(join(root, 'infra', 'stacks'), { recursive: true });
    writeFileSync(join(root, 'infra', 'stacks', 'state-stack.ts'), 'one');
    writeFileSync(join(root, 'package-lock.json'), '{}');
  });
  const settings = { local: 'true', retentionDays: '20' };

  it('changes with a setting, but not with the order of the settings', () => {
    expect(fingerprint(root, { retentionDays: '20', local: 'true' })).toBe(fingerprint(root, settings));
    expect(fingerprint(root, { ...settings, retentionDays: '21' })).not.toBe(fingerprint(root, settings));
  });

  it.each([
    ['changes with a source', 'infra/stacks/state-stack.ts', true],
    ['changes for a new source', 'infra/app.ts', true],
    ['changes with the pinned packages', 'package-lock.json', true],
    ['stays with other files', 'README.md', false],
  ])('%s: %s', (_, file, changes) => {
    const before = fingerprint(root, settings);
    writeFileSync(join(root, file), 'two');
    expect(fingerprint(root, settings) !== before).toBe(changes);
  });
});
