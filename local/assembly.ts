import { join } from 'node:path';
import { localFolder, projectRoot } from './install/paths.mjs';
import { fingerprintOf, keptBuild } from './kept-builds.ts';

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

const cache = join(localFolder, 'assemblies');

export type Settings = Readonly<Record<string, string>>;

/**
 * The CDK's output for these settings, from an earlier run where nothing that goes into it has changed: synthesis is
 * most of a deployment's time.
 */
export function cachedAssembly(
  settings: Settings,
  synthesise: (folder: string) => Promise<void>,
): Promise<string> {
  return keptBuild(cache, fingerprint(projectRoot, settings), synthesise);
}

/** A name for the sources as they are and the settings: the same for the same, whatever the settings' order. */
export function fingerprint(root: string, settings: Settings): string {
  return fingerprintOf(
    root,
    SOURCES,
    JSON.stringify(Object.entries(settings).toSorted(([one], [other]) => one.localeCompare(other))),
  );
}
