import { readdir, readFile } from 'node:fs/promises';
import { extname, join, relative, sep } from 'node:path';
import type { PageFiles } from '../wire/page.ts';

const TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
};

/** Files in this folder are named by a hash of their content, so browsers may cache them. */
const HASHED_FOLDER = '/assets/';

/** Reads the whole built page into memory, so that a later build does not change it during the run. */
export async function readPage(folder: string): Promise<PageFiles> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const files = entries
    .filter((entry) => entry.isFile())
    .map(async ({ parentPath, name }) => {
      const file = join(parentPath, name);
      const path = `/${relative(folder, file).split(sep).join('/')}`;
      const bytes = await readFile(file);
      const headers = {
        'content-type': TYPES[extname(file)] ?? 'application/octet-stream',
        'content-length': String(bytes.length),
        'cache-control': path.startsWith(HASHED_FOLDER) ? 'private, max-age=31536000, immutable' : 'no-cache',
      };
      return [path === '/index.html' ? '/' : path, { bytes, headers }] as const;
    });
  return new Map(await Promise.all(files));
}
