import { mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { isPackaged, localFolder, projectRoot } from '../../../local/install/paths.mjs';
import { runToSuccess } from '../../../local/install/process-group.mjs';
import { computeFingerprint, cachedBuild } from '../../../local/cached-builds.ts';
import { plainEnvironment } from '../../../local/local-aws.ts';

/** The sources of the page; packages are covered by the lock file. */
const SOURCES = [
  'console',
  'api-client',
  'shared/domain',
  'shared/wire',
  'package-lock.json',
  'tsconfig.json',
];

const builds = join(localFolder, 'console');

type PageBuild = { signal: AbortSignal; show: (work: () => Promise<void>) => Promise<void> };

/**
 * The folder of the built page: of the package, or in the repository a build that is reused while the sources are unchanged.
 * `show` wraps the build, to show progress; it is not called if a build is cached.
 * @throws Problem with the end of Vite's output when the build fails.
 */
export async function builtPage({ signal, show }: PageBuild): Promise<string> {
  if (isPackaged) return join(projectRoot, 'assets/console');
  return cachedBuild(builds, computeFingerprint(projectRoot, SOURCES, 'vite build'), (folder) =>
    show(() => viteBuild(folder, signal)),
  );
}

/** Runs Vite in a separate process, because it sets NODE_ENV globally. */
async function viteBuild(folder: string, signal: AbortSignal): Promise<void> {
  const log = `${folder}.log`;
  mkdirSync(builds, { recursive: true });
  rmSync(log, { force: true });
  const args = ['build', 'console', '--outDir', folder, '--emptyOutDir', '--configLoader', 'native'];
  await runToSuccess('vite', args, {
    env: { ...plainEnvironment(), NO_COLOR: '1' },
    cwd: projectRoot,
    log,
    signal,
    failure: 'The console could not be built.',
    missing:
      'The console cannot be built because Vite is not installed. Run npm ci in the project folder first.',
  });
  rmSync(log, { force: true });
}
