import { execFileSync } from 'node:child_process';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const project = fileURLToPath(new URL('..', import.meta.url));

/**
 * Builds the page of the portal into this folder: `index.html` and `assets/`, with names by a hash of the content. In a
 * separate process, because Vite sets NODE_ENV globally. The package has the built page instead.
 */
export function buildPortalPage(folder: string): void {
  const vite = createRequire(import.meta.url).resolve('vite/package.json');
  const { NODE_ENV: _, ...env } = process.env;
  execFileSync(
    process.execPath,
    [
      join(dirname(vite), 'bin/vite.js'),
      ...['build', 'portal', '--outDir', folder, '--emptyOutDir', '--configLoader', 'native'],
      ...['--logLevel', 'error'],
    ],
    { cwd: project, env, stdio: ['ignore', 'ignore', 'inherit'] },
  );
}
