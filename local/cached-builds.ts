import { createHash } from 'node:crypto';
import {
  existsSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
  utimesSync,
} from 'node:fs';
import { join } from 'node:path';

/** Enough for a start and a test run, each before and after a change. */
const MAX_KEPT = 4;

/**
 * The folder of the build for this fingerprint; an earlier build is used if there is one. A new build is moved into
 * place when complete, so several processes may build at the same time.
 */
export async function cachedBuild(
  builds: string,
  sources: string,
  build: (folder: string) => Promise<void>,
): Promise<string> {
  const folder = join(builds, sources);
  if (!existsSync(folder)) {
    const partial = `${folder}.${process.pid}.partial`;
    mkdirSync(builds, { recursive: true });
    try {
      await build(partial);
      renameSync(partial, folder);
    } catch (error) {
      // Another process may have finished the same build first.
      if (!existsSync(folder)) throw error;
    } finally {
      rmSync(partial, { recursive: true, force: true });
    }
  }
  utimesSync(folder, new Date(), new Date());
  forgetOldest(builds);
  return folder;
}

function forgetOldest(builds: string): void {
  const newestFirst = readdirSync(builds)
    .filter((name) => !name.endsWith('.partial'))
    .map((name) => ({ folder: join(builds, name), usedAt: statSync(join(builds, name)).mtimeMs }))
    .toSorted((one, other) => other.usedAt - one.usedAt);
  for (const { folder } of newestFirst.slice(MAX_KEPT)) rmSync(folder, { recursive: true, force: true });
}

/** A fingerprint of the current content of files and folders under `root`, and of `how` they are built. */
export function computeFingerprint(root: string, sources: readonly string[], how: string): string {
  const hash = createHash('sha256').update(how);
  for (const file of sources.flatMap((source) => filesUnder(root, source))) {
    hash.update(`\0${file}\0`).update(readFileSync(join(root, file)));
  }
  return hash.digest('hex').slice(0, 24);
}

function filesUnder(root: string, path: string): string[] {
  const full = join(root, path);
  if (!existsSync(full)) return [];
  if (!statSync(full).isDirectory()) return [path];
  return readdirSync(full)
    .toSorted()
    .flatMap((name) => filesUnder(root, join(path, name)));
}

/** The sources of templates and bundles; packages are covered by the lock file. */
const ASSEMBLY_SOURCES = [
  'infra',
  'functions',
  'assets/functions',
  'shared',
  'cdk.json',
  'package.json',
  'package-lock.json',
  'tsconfig.json',
];

export type Settings = Readonly<Record<string, string>>;

/** A fingerprint of the sources and the settings; the order of the settings does not matter. */
export function fingerprint(root: string, settings: Settings): string {
  const sorted = Object.entries(settings).toSorted(([one], [other]) => one.localeCompare(other));
  return computeFingerprint(root, ASSEMBLY_SOURCES, JSON.stringify(sorted));
}
