import { readFile, readdir } from 'node:fs/promises';
import { extname, join, relative, sep } from 'node:path';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { hostRefusalOf, refuse } from '../../loopback/refusal.ts';

export type PageFile = { bytes: Buffer; headers: Readonly<Record<string, string>> };

/** By the path that a browser asks for. */
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
 * What the page may do: run our files and call us. What subscribers and producers wrote stays text, even where our own
 * code were wrong: no inline script runs, and no text becomes markup (Trusted Types).
 */
const POLICY = [
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

/** Of everything that we answer. */
export const STRICT_HEADERS = {
  'content-security-policy': POLICY,
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
} as const;

/** Vite names them by their content. */
const HASHED = '/assets/';

/** All of a built page: it is small, and stays as it was when it is built anew meanwhile. */
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
      'cache-control': path.startsWith(HASHED) ? 'private, max-age=31536000, immutable' : 'no-cache',
    },
  };
}

/** There is no secret in the page, so that it may be opened by a link; but not under another name. */
export function servePage(
  page: PageFiles,
  { request, response, port }: { request: IncomingMessage; response: ServerResponse; port: number },
): void {
  const { method = '', url = '/' } = request;
  const refusal = hostRefusalOf(request, port);
  const file = page.get(url.split('?', 1)[0] ?? '/');
  if (refusal !== undefined) refuse(response, refusal);
  else if (method !== 'GET' && method !== 'HEAD') {
    const message = 'the page is only read';
    refuse(response, { status: 405, code: 'method_not_allowed', message, allow: 'GET, HEAD' });
  } else if (file === undefined) {
    refuse(response, { status: 404, code: 'not_found', message: 'the console has no such page' });
  } else response.writeHead(200, file.headers).end(file.bytes);
}
