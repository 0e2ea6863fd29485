import { readFile, readdir } from 'node:fs/promises';
import { extname, join, relative, sep } from 'node:path';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { hostRefusalOf, refuse } from '../../loopback/refusal.ts';

export type PageFile = { bytes: Buffer; headers: Readonly<Record<string, string>> };

/** Files by URL path. */
export type PageFiles = ReadonlyMap<string, PageFile>;

const TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.png': 'image/png',
  '.ico': 'image/x-icon',
  '.json': 'application/json',
  '.woff2': 'font/woff2',
};

/**
 * The page may only load files from this server and call it. A second defence against injected markup: inline scripts
 * do not run, and Trusted Types prevent text from becoming HTML.
 */
const CONTENT_SECURITY_POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "connect-src 'self'",
  "img-src 'self' data:",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
  "trusted-types 'none'",
].join('; ');

/** Headers of every response. */
export const STRICT_HEADERS = {
  'content-security-policy': CONTENT_SECURITY_POLICY,
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
} as const;

/** Files in this folder are named by a hash of their content, so browsers may cache them. */
const HASHED_FOLDER = '/assets/';

/** Reads the whole built page into memory, so that a later build does not change it during the run. */
export async function readPage(folder: string): Promise<PageFiles> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const files = entries
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name }) => join(parentPath, name));
  return new Map(
    await Promise.all(
      files.map(async (file) => {
        const path = `/${relative(folder, file).split(sep).join('/')}`;
        return [path === '/index.html' ? '/' : path, await pageFile(file, path)] as const;
      }),
    ),
  );
}

async function pageFile(file: string, path: string): Promise<PageFile> {
  const bytes = await readFile(file);
  return {
    bytes,
    headers: {
      'content-type': TYPES[extname(file)] ?? 'application/octet-stream',
      'content-length': String(bytes.length),
      'cache-control': path.startsWith(HASHED_FOLDER) ? 'private, max-age=31536000, immutable' : 'no-cache',
    },
  };
}

/** Serves the page without a token, since it contains no secret; only the host name is checked. */
export function servePage(
  page: PageFiles,
  { request, response, port }: { request: IncomingMessage; response: ServerResponse; port: number },
): void {
  const { method = '', url = '/' } = request;
  const refusal = hostRefusalOf(request, port);
  const file = page.get(url.split('?', 1)[0] ?? '/');
  if (refusal !== undefined) refuse(response, refusal);
  else if (method !== 'GET' && method !== 'HEAD') {
    const message = 'the page supports GET and HEAD only';
    refuse(response, { status: 405, code: 'method_not_allowed', message, allow: 'GET, HEAD' });
  } else if (file === undefined) {
    refuse(response, { status: 404, code: 'not_found', message: 'there is no such page' });
  } else response.writeHead(200, file.headers).end(file.bytes);
}
