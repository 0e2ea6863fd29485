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
import { localFolder, projectRoot } from './install/paths.mjs';

/** All that the templates and bundles are made of; the packages by what the lock file pins. */
const SOURCES = [
  'infra',
  'functions',
  'shared',
  'cdk.json',
  'package.json',
  'package-lock.json',
  'tsconfig.json',
];

/** A start and a test run, each before and after a change. */
const KEPT = 4;

const cache = join(localFolder, 'assemblies');

export type Settings = Readonly<Record<string, string>>;

/**
 * The CDK's output for these settings, from an earlier run where nothing that goes into it has changed: synthesis is
 * most of a deployment's time.
 */
export const cachedAssembly = async (
  settings: Settings,
  synthesise: (folder: string) => Promise<void>,
): Promise<string> => {
  const folder = join(cache, fingerprint(projectRoot, settings));
  if (!existsSync(folder)) {
    const partial = `${folder}.${process.pid}.partial`;
    mkdirSync(cache, { recursive: true });
    try {
      await synthesise(partial);
      moveIntoPlace(partial, folder);
    } finally {
      rmSync(partial, { recursive: true, force: true });
    }
  }
  utimesSync(folder, new Date(), new Date());
  forgetOldest();
  return folder;
};

/** A run beside us may have made the same one first. */
const moveIntoPlace = (partial: string, folder: string): void => {
  try {
    renameSync(partial, folder);
  } catch (error) {
    if (!existsSync(folder)) throw error;
  }
};

const forgetOldest = (): void => {
  const newestFirst = readdirSync(cache)
    .filter((name) => !name.endsWith('.partial'))
    .map((name) => ({ folder: join(cache, name), usedAt: statSync(join(cache, name)).mtimeMs }))
    .toSorted((one, other) => other.usedAt - one.usedAt);
  for (const { folder } of newestFirst.slice(KEPT)) rmSync(folder, { recursive: true, force: true });
};

/** A name for the sources as they are and the settings: the same for the same, whatever the settings' order. */
export const fingerprint = (root: string, settings: Settings): string => {
  const hash = createHash('sha256');
  hash.update(
    JSON.stringify(Object.entries(settings).toSorted(([one], [other]) => one.localeCompare(other))),
  );
  for (const file of SOURCES.flatMap((source) => filesUnder(root, source))) {
    hash.update(`\0${file}\0`).update(readFileSync(join(root, file)));
  }
  return hash.digest('hex').slice(0, 24);
};

const filesUnder = (root: string, path: string): string[] => {
  const full = join(root, path);
  if (!existsSync(full)) return [];
  if (!statSync(full).isDirectory()) return [path];
  return readdirSync(full)
    .toSorted()
    .flatMap((name) => filesUnder(root, join(path, name)));
};
