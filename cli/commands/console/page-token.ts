import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';
import type { IncomingMessage } from 'node:http';

/** A random token of 256 bits, valid for one run of the command. */
export function newToken(): string {
  return randomBytes(32).toString('base64url');
}

/** Whether the request carries the token; compared in constant time. */
export function hasToken({ headers }: Pick<IncomingMessage, 'headers'>, token: string): boolean {
  return timingSafeEqual(digest(headers.authorization ?? ''), digest(`Bearer ${token}`));
}

function digest(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}
