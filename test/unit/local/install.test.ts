import { mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { installMinistack, ministackIn, ministackVersion } from '../../../local/install/ministack.mjs';
import { isInstalled } from '../../../local/install/npm-packages.mjs';
import { tooOldNode } from '../../../local/install/oldest-node.mjs';
import { choosePython } from '../../../local/install/python.mjs';

describe('Node', () => {
  it('is too old before 20', () => {
    expect(['18.20.4', '19.9.0', '20.0.0', '24.21.0'].map(tooOldNode)).toEqual([true, true, false, false]);
  });
});

describe('npm packages', () => {
  const zod = { version: '4.6.7', integrity: 'sha512-zod' };
  const wasm = { version: '1.0.0', integrity: 'sha512-wasm', optional: true };
  const locked = { '': { version: '0.1.0' }, 'node_modules/zod': zod, 'node_modules/wasm': wasm };

  it('are installed when npm has on record what the lock file asks for', () => {
    expect(isInstalled(locked, { 'node_modules/zod': zod, 'node_modules/wasm': wasm })).toBe(true);
  });

  it('may lack an optional one, which is for other machines', () => {
    expect(isInstalled(locked, { 'node_modules/zod': zod })).toBe(true);
  });

  it.each([
    ['one is missing', {}],
    ['one has another version', { 'node_modules/zod': { ...zod, version: '4.6.6' } }],
    ['one has other content', { 'node_modules/zod': { ...zod, integrity: 'sha512-other' } }],
    [
      'an optional one has another version',
      { 'node_modules/zod': zod, 'node_modules/wasm': { ...wasm, version: '2.0.0' } },
    ],
  ])('are to be installed when %s', (_, installed) => {
    expect(isInstalled(locked, installed)).toBe(false);
  });
});

describe('Python', () => {
  const python = (version: string, pip = true) => ({ executable: `/bin/python${version}`, version, pip });

  it('is the first that is recent enough and has pip', () => {
    expect(choosePython([python('3.9'), python('3.12', false), python('3.10'), python('3.13')])).toEqual(
      python('3.10'),
    );
  });

  it('is asked for when there is none', () => {
    expect(() => choosePython([])).toThrow(/Python is missing.*3\.10 or newer, with pip/);
  });

  it('is asked for anew when it is too old', () => {
    expect(() => choosePython([python('3.9')])).toThrow(/Python 3\.9 is too old/);
    expect(() => choosePython([python('2.7')])).toThrow(/Python 2\.7 is too old/);
  });

  it('needs pip, and says how to get it', () => {
    expect(() => choosePython([python('3.12', false)])).toThrow(
      /pip is missing.*ensurepip.*apt-get install python3-pip/,
    );
  });
});

describe('ministack', () => {
  let folder = '';
  beforeEach(() => (folder = mkdtempSync(join(tmpdir(), 'ministack-'))));
  afterEach(() => {
    rmSync(folder, { recursive: true });
  });
  const stamp = (ministack: string, python: string) => {
    writeFileSync(
      join(folder, 'posthaste-installed.json'),
      JSON.stringify({ ministack, python, executable: 'python3' }),
    );
  };

  it('is missing where nothing is installed', () => {
    expect(ministackIn(folder, { version: '3.12' })).toEqual({ kind: 'missing' });
    expect(ministackIn(join(folder, 'nowhere'), { version: '3.12' })).toEqual({ kind: 'missing' });
  });

  it('is ready when the pinned version was installed for this Python', () => {
    stamp(ministackVersion, '3.12');
    expect(ministackIn(folder, { version: '3.12' })).toEqual({ kind: 'ready' });
  });

  it('is replaced when another version is there, which is named', () => {
    stamp('1.5.0', '3.12');
    expect(ministackIn(folder, { version: '3.12' })).toEqual({ kind: 'other', what: 'ministack 1.5.0' });
  });

  it('is replaced when it was installed for another Python', () => {
    stamp(ministackVersion, '3.11');
    expect(ministackIn(folder, { version: '3.12' })).toEqual({
      kind: 'other',
      what: 'ministack for Python 3.11',
    });
  });

  it('is replaced when somebody installed it by hand', () => {
    mkdirSync(join(folder, 'ministack-1.4.2.dist-info'));
    expect(ministackIn(folder, { version: '3.12' })).toEqual({ kind: 'other', what: 'ministack 1.4.2' });
  });

  describe('while it is being installed', () => {
    /** Leaves things behind as pip does, then ends. */
    const pipThatEnds = (status: number) => {
      const pip = join(folder, 'python');
      writeFileSync(
        pip,
        `#!/bin/sh
while [ "$1" != --target ]; do shift; done
mkdir "$2" && mkdir "$TMPDIR/pip-unpack" && echo "$TMPDIR" && exit ${status}
`,
        { mode: 0o755 },
      );
      return { executable: pip, version: '3.12', pip: true };
    };
    const install = async (status: number) => {
      const log = join(folder, 'pip.log');
      writeFileSync(log, '');
      const installed = join(folder, 'ministack');
      const signal = new AbortController().signal;
      try {
        await installMinistack(installed, pipThatEnds(status), { log, signal });
      } finally {
        expect(readFileSync(log, 'utf8').trim()).toBe(`${installed}.tmp`);
      }
      return ministackIn(installed, { version: '3.12' });
    };

    it('is unpacked beside its folder, and nothing but the folder is left', async () => {
      expect(await install(0)).toEqual({ kind: 'ready' });
      expect(readdirSync(folder).toSorted()).toEqual(['ministack', 'pip.log', 'python']);
    });

    it('leaves nothing behind when it fails', async () => {
      await expect(install(1)).rejects.toThrow(/pip could not install ministack/);
      expect(readdirSync(folder).toSorted()).toEqual(['pip.log', 'python']);
    });
  });
});
