import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';
import type { IncomingMessage } from 'node:http';

/** 256 bits, for one run of the command. */
export const newToken = (): string => randomBytes(32).toString('base64url');

/** In a time that says nothing about the token. */
export const hasToken = ({ headers }: Pick<IncomingMessage, 'headers'>, token: string): boolean =>
  timingSafeEqual(digest(headers.authorization ?? ''), digest(`Bearer ${token}`));

const digest = (text: string): Buffer => createHash('sha256').update(text).digest();
