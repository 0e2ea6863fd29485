import { existsSync, mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { runFolder } from '../../bench/measured/deployed.ts';
import { localFolder } from '../../local/install/paths.mjs';

/** Above all ids that a system gives. */
const NOBODY = 99_999_999;

describe('the folder of a bench’s run', () => {
  const folders: string[] = [];
  const made = (name: string): string => {
    const folder = join(localFolder, name);
    mkdirSync(folder, { recursive: true });
    folders.push(folder);
    return folder;
  };
  afterEach(() => {
    for (const folder of folders.splice(0)) rmSync(folder, { recursive: true });
  });

  it('is its own, and takes the place of those of runs that are over', () => {
    const over = join(localFolder, `of-a-test-${NOBODY}`);
    mkdirSync(over, { recursive: true });
    expect(runFolder('of-a-test')).toBe(join(localFolder, `of-a-test-${process.pid}`));
    expect(existsSync(over)).toBe(false);
  });

  it('leaves alone those of runs under way, and of other benches', () => {
    const others = [`of-a-test-${process.ppid}`, `of-a-test-too-${NOBODY}`, 'of-a-test-'].map(made);
    runFolder('of-a-test');
    expect(others.map((folder) => existsSync(folder))).toEqual([true, true, true]);
  });
});
