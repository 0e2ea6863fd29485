import { join } from 'node:path';
import { localFolder, projectRoot } from './install/paths.mjs';
import { fingerprintOf, cachedBuild } from './cached-builds.ts';

/** The sources of templates and bundles; packages are covered by the lock file. */
const SOURCES = [
  'infra',
  'functions',
  'assets/functions',
  'shared',
  'cdk.json',
  'package.json',
  'package-lock.json',
  'tsconfig.json',
];

const cache = join(localFolder, 'assemblies');

export type Settings = Readonly<Record<string, string>>;

/**
 * The folder with the CDK's output for these settings. An earlier one is reused while its sources are unchanged, because
 * synthesis takes most of a deployment's time.
 */
export function cachedAssembly(
  settings: Settings,
  synthesise: (folder: string) => Promise<void>,
): Promise<string> {
  return cachedBuild(cache, fingerprint(projectRoot, settings), synthesise);
}

/** A fingerprint of the sources and the settings; the order of the settings does not matter. */
export function fingerprint(root: string, settings: Settings): string {
  return fingerprintOf(
    root,
    SOURCES,
    JSON.stringify(Object.entries(settings).toSorted(([one], [other]) => one.localeCompare(other))),
  );
}
