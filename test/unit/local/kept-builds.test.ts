import {
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  rmSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { keptBuild } from '../../../local/kept-builds.ts';

let builds: string;
beforeEach(() => {
  builds = mkdtempSync(join(tmpdir(), 'builds-'));
});
afterEach(() => {
  rmSync(builds, { recursive: true });
});

/** Builds a file with this text. */
const building = (text: string) => (folder: string) => {
  mkdirSync(folder);
  writeFileSync(join(folder, 'file'), text);
  return Promise.resolve();
};

const textIn = (folder: string): string => readFileSync(join(folder, 'file'), 'utf8');

describe('a build that is kept', () => {
  it('is made once for the same sources', async () => {
    const first = await keptBuild(builds, 'sources', building('one'));
    const again = await keptBuild(builds, 'sources', building('two'));
    expect(again).toBe(first);
    expect(textIn(again)).toBe('one');
    expect(textIn(await keptBuild(builds, 'others', building('two')))).toBe('two');
  });

  it('leaves nothing of one that fails, which is made again the next time', async () => {
    const failing = async (folder: string): Promise<void> => {
      await building('half')(folder);
      throw new Error('no room');
    };
    await expect(keptBuild(builds, 'sources', failing)).rejects.toThrow('no room');
    expect(readdirSync(builds)).toEqual([]);
    expect(textIn(await keptBuild(builds, 'sources', building('one')))).toBe('one');
  });

  it('is the one that a run beside it has made first', async () => {
    const beaten = async (folder: string): Promise<void> => {
      await building('mine')(folder);
      await building('theirs')(join(builds, 'sources'));
    };
    expect(textIn(await keptBuild(builds, 'sources', beaten))).toBe('theirs');
    expect(readdirSync(builds)).toEqual(['sources']);
  });

  it('is forgotten when four others have been used since', async () => {
    for (const [age, name] of ['a', 'b', 'c', 'd', 'e'].entries()) {
      await keptBuild(builds, name, building(name));
      // Later ones may come within the same tick of the file system's clock.
      utimesSync(join(builds, name), age, age);
    }
    await keptBuild(builds, 'f', building('f'));
    expect(readdirSync(builds).toSorted()).toEqual(['c', 'd', 'e', 'f']);
  });
});
