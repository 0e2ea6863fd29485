import { mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { stripVTControlCharacters } from 'node:util';
import { localFolder, projectRoot } from '../../../local/install/paths.mjs';
import { Problem } from '../../../local/install/problem.mjs';
import { runGroup, tailOf } from '../../../local/install/process-group.mjs';
import { fingerprintOf, keptBuild } from '../../../local/kept-builds.ts';
import { plainEnvironment } from '../../../local/local-aws.ts';

/** All that the page is made of; the packages by what the lock file pins. */
const SOURCES = ['console', 'cli/api', 'shared/domain', 'shared/wire', 'package-lock.json', 'tsconfig.json'];

const builds = join(localFolder, 'console');

export type PageBuild = {
  signal: AbortSignal;
  /** Shows that it is being built, where it is: it takes a few seconds. */
  show: (work: () => Promise<void>) => Promise<void>;
};

/**
 * The folder of the built page, from an earlier run where its sources are the same.
 * @throws Problem with the end of what Vite says, when it cannot be built.
 */
export function builtPage({ signal, show }: PageBuild): Promise<string> {
  return keptBuild(builds, fingerprintOf(projectRoot, SOURCES, 'vite build'), (folder) =>
    show(() => viteBuild(folder, signal)),
  );
}

/** In a process of its own: Vite sets NODE_ENV for all of the one that it runs in. */
async function viteBuild(folder: string, signal: AbortSignal): Promise<void> {
  const log = `${folder}.log`;
  mkdirSync(builds, { recursive: true });
  rmSync(log, { force: true });
  const args = ['build', 'console', '--outDir', folder, '--emptyOutDir', '--configLoader', 'native'];
  const surroundings = { env: { ...plainEnvironment(), NO_COLOR: '1' }, cwd: projectRoot, log, signal };
  const { code } = await runGroup('vite', args, surroundings).catch((cause: unknown) => {
    if (signal.aborted) throw cause;
    throw new Problem('Vite, which builds the console, is not installed. Run npm ci in the project first.', {
      cause,
    });
  });
  if (code !== 0)
    throw new Problem(
      `The console could not be built. The end of what Vite says:\n${stripVTControlCharacters(tailOf(log))}`,
    );
  rmSync(log, { force: true });
}
