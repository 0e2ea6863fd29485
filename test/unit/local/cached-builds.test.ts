import { mkdirSync, readFileSync, readdirSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { temporaryFolder } from '../../support/temporary-folder.ts';
import { cachedBuild } from '../../../local/cached-builds.ts';

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
