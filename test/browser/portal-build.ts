import { join } from 'node:path';
import { buildPortalPage } from '../../infra/portal-page.ts';
import { cachedBuild, computeFingerprint } from '../../local/cached-builds.ts';
import { localFolder, projectRoot } from '../../local/install/paths.mjs';

const SOURCES = ['portal', 'console', 'api-client', 'shared/domain', 'shared/wire', 'package-lock.json'];

/** The folder of the built page. */
export const builtPortal = (): Promise<string> =>
  cachedBuild(
    join(localFolder, 'portal'),
    computeFingerprint(projectRoot, SOURCES, 'vite build'),
    (folder) => {
      buildPortalPage(folder);
      return Promise.resolve();
    },
  );
