import { existsSync, mkdirSync, readdirSync, readFileSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import {
  CDK_COMMAND,
  CDK_LIBRARY,
  cdkLibraryOptions,
  cdkProgram,
  npmArguments,
} from '../../../local/install/npm.mjs';
import { takeLock } from '../../../local/install/lock.mjs';
import { nodeProblem } from '../../../local/install/node-version.mjs';
import { projectRoot } from '../../../local/install/paths.mjs';
import {
  arePipPackagesReady,
  choosePython,
  localAwsPackages,
  pipInstallWith,
} from '../../../local/install/pip.mjs';
import { runToSuccess } from '../../../local/install/process-group.mjs';
import packageJson from '../../../package.json' with { type: 'json' };
import { temporaryFolder } from '../../support/temporary-folder.ts';

describe('the installation', () => {
  let folder = '';

  beforeEach(() => (folder = temporaryFolder()));

  it.each([
    ['19.9.0', undefined, /needs Node 20 or newer; this is 19\.9\.0/],
    ['20.0.0', undefined, undefined],
    ['24.21.0', undefined, undefined],
    ['22.9.0', '22.15', /needs Node 22\.15 or newer; this is 22\.9\.0/],
    ['22.15.0', '22.15', undefined],
  ])('takes or refuses Node %s, where the oldest is %s', (version, needed, problem) => {
    if (problem === undefined) expect(nodeProblem(version, needed)).toBeUndefined();
    else expect(nodeProblem(version, needed)).toMatch(problem);
  });

  describe('npm packages', () => {
    const written = (file: string, at: number, content: object = {}): void => {
      mkdirSync(join(folder, 'node_modules'), { recursive: true });
      writeFileSync(join(folder, file), JSON.stringify(content));
      utimesSync(join(folder, file), at, at);
    };
    const installed = (packages: string[], lockFileAt: number) => {
      const [dependencies, devDependencies] = [{ zod: '1.0.0' }, { vitest: '1.0.0' }];
      written('package.json', 1_000, { dependencies, devDependencies });
      written('package-lock.json', lockFileAt);
      const record = Object.fromEntries(packages.map((name) => [`node_modules/${name}`, {}]));
      written('node_modules/.package-lock.json', 1_001, { packages: record });
    };

    const WITH_DEV = ['ci', '--include=dev'];
    const WITHOUT_DEV = ['ci', '--omit=dev'];
    const BESIDE = ['install', '--no-save', '--include=dev'];

    it.each<[string, string, { lockFileAt: number; start?: string[]; tests?: string[] }]>([
      ['are there after the last change of the lock file', 'zod vitest', { lockFileAt: 1_000 }],
      ['get the others beside those of a start', 'zod', { lockFileAt: 1_000, tests: BESIDE }],
      [
        'are all replaced when it changed',
        'zod vitest',
        { lockFileAt: 1_002, start: WITH_DEV, tests: WITH_DEV },
      ],
      ['stay without others for a start', 'zod', { lockFileAt: 1_002, start: WITHOUT_DEV, tests: WITH_DEV }],
    ])('%s', (_, packages, { lockFileAt, start, tests }) => {
      installed(packages.split(' '), lockFileAt);
      expect(npmArguments(folder, 'product')).toEqual(start);
      expect(npmArguments(folder, 'all')).toEqual(tests);
    });

    it('are installed anew after an interrupted npm, which leaves no record', () => {
      written('package-lock.json', 1_000);
      expect(npmArguments(folder, 'product')).toEqual(WITHOUT_DEV);
      expect(npmArguments(folder, 'all')).toEqual(WITH_DEV);
    });
  });

  describe('the CDK of a start of the installed package', () => {
    it('is of the versions that the repository is tested with', () => {
      const tested = Object.entries(packageJson.dependencies).map(([name, version]) => [name, `^${version}`]);
      expect(Object.fromEntries(tested)).toMatchObject({ ...CDK_COMMAND, ...CDK_LIBRARY });
    });

    it('has the version of the command that the page of the construct names', () => {
      const page = readFileSync(join(projectRoot, 'docs/construct.md'), 'utf8');
      expect(page).toContain(`npm install --save-dev aws-cdk@${packageJson.dependencies['aws-cdk']}\n`);
    });

    it('is the one of the repository there', () => {
      expect(cdkProgram()).toBe(join(projectRoot, 'node_modules/aws-cdk/bin/cdk'));
      expect(cdkLibraryOptions()).toEqual([]);
    });
  });

  it.each([
    ['is missing', 'no-such-program', 'It is missing.'],
    ['fails', 'sh', /^It failed\. The end of its output \(full log: .*log\):\n {4}no room$/],
  ])('tells why a program that must succeed %s, without control characters', async (_, program, reason) => {
    const { signal } = new AbortController();
    const how = { env: process.env, cwd: folder, log: join(folder, 'log'), signal };
    const texts = { failure: 'It failed.', missing: 'It is missing.' };
    const args = ['-c', "printf '\\033[31mno room\\n'; exit 3"];
    const running = runToSuccess(program, args, { ...how, ...texts });
    await expect(running).rejects.toMatchObject({
      name: 'Problem',
      message: expect.stringMatching(reason) as unknown,
    });
  });

  describe('Python', () => {
    const python = (version: string, pip = true) => ({ executable: `/bin/python${version}`, version, pip });

    it('is the first installation that is recent enough and has pip', () => {
      const found = [python('3.9'), python('3.12', false), python('3.10'), python('3.13')];
      expect(choosePython(found)).toEqual(python('3.10'));
    });

    it.each([
      ['is missing', [], /Python is missing.*3\.10 or newer, with pip/],
      ['is too old', [python('3.9')], /Python 3\.9 is too old/],
      ['is the one before', [python('2.7')], /Python 2\.7 is too old/],
      ['has no pip', [python('3.12', false)], /pip is missing.*ensurepip.*apt-get install .* python3-pip/],
    ])('is requested with the cause if it %s', (_cause, found, message) => {
      expect(() => choosePython(found)).toThrow(message);
    });
  });

  describe('pip packages', () => {
    /** A substitute for Python: creates the target folder as pip does, then exits with this status. */
    const pythonThatEnds = (status: number, version = '3.12') => {
      const executable = join(folder, 'python');
      const script = `#!/bin/sh\nwhile [ "$1" != --target ]; do shift; done\nmkdir "$2" && exit ${status}\n`;
      writeFileSync(executable, script, { mode: 0o755 });
      return { executable, version, pip: true };
    };
    const requiring = (requirement: string) => {
      const requirements = join(folder, 'requirements.txt');
      writeFileSync(requirements, requirement);
      return { folder: 'packages', names: 'some packages', requirements };
    };
    const signal = new AbortController().signal;
    const target = () => join(folder, 'packages');

    it('are ready after installation, only for this list and this Python version', async () => {
      const packages = requiring('six==1.16.0');
      const python = pythonThatEnds(0);
      expect(arePipPackagesReady(target(), packages, python)).toBe(false);
      await pipInstallWith(python, packages, target(), signal);
      expect(arePipPackagesReady(target(), packages, python)).toBe(true);
      expect(arePipPackagesReady(target(), packages, { ...python, version: '3.13' })).toBe(false);
      expect(arePipPackagesReady(target(), requiring('six==1.17.0'), python)).toBe(false);
      expect(readdirSync(folder).toSorted()).toEqual(['packages', 'python', 'requirements.txt']);
    });

    it('leave no files behind if pip fails', async () => {
      const failing = pipInstallWith(pythonThatEnds(1), requiring('six==1.16.0'), target(), signal);
      await expect(failing).rejects.toThrow(/pip could not install some packages/);
      expect(readdirSync(folder).toSorted()).toEqual(['python', 'requirements.txt']);
    });

    it('of the local AWS are pinned by hashes, and none is built from source', () => {
      const list = readFileSync(localAwsPackages.requirements, 'utf8').replaceAll('\\\n', ' ');
      const lines = list.split('\n').filter((line) => line !== '' && !line.startsWith('#'));
      expect(lines.slice(0, 2)).toEqual(['--require-hashes', '--only-binary :all:']);
      const packages = lines.slice(2);
      expect(packages.map((line) => line.split('=')[0])).toContain('ministack');
      const hashed =
        /^[a-z0-9-]+==[\d.a-z]+( ; python_full_version < '3\.11')?( +--hash=sha256:[0-9a-f]{64})+$/;
      for (const line of packages) expect(line).toMatch(hashed);
    });
  });
});

describe('the lock of a start', () => {
  let file = '';
  beforeEach(() => (file = join(temporaryFolder(), 'deeper', 'start.json')));
  const taken = (isAlive?: () => boolean) => {
    const lock = takeLock(file, isAlive);
    if (lock.kind !== 'taken') throw new Error('the lock is held');
    return lock;
  };

  it('names the process that holds it to a second one, and is deleted when released', () => {
    const lock = taken();
    expect(JSON.parse(readFileSync(file, 'utf8'))).toMatchObject({ pid: process.pid });
    expect(takeLock(file, () => true)).toMatchObject({ kind: 'held', by: { pid: process.pid } });
    expect(existsSync(file)).toBe(true);
    lock.release();
    expect(existsSync(file)).toBe(false);
  });

  const reused = '{"pid":1,"since":"2026-01-01T00:00:00.000Z"}';

  it.each([
    ['a process that has ended', undefined, false],
    ['a running process that is not a start, because its id was reused', reused, undefined],
    ['a crash that left an incomplete file', '{"pid":', true],
  ])('is taken over from %s', (_, left, alive) => {
    const isAlive = alive === undefined ? undefined : () => alive;
    const first = taken();
    if (left !== undefined) writeFileSync(file, left);
    taken(isAlive).release();
    expect(existsSync(file)).toBe(false);
    first.release();
  });
});
