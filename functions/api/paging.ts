import * as z from 'zod';
import type { Page, PageRequest } from '../../shared/ports/subscription-registry.ts';
import { parsed } from './request-json.ts';

/** A page as long as Zaqar's by default. */
const DEFAULT_LIMIT = 10;
const MAX_LIMIT = 100;
const LIMIT_RULE = `must be an integer from 1 to ${MAX_LIMIT}`;
const MAX_MARKER_LENGTH = 2048;

const pageQuery = z.object({
  limit: z
    .string()
    .regex(/^\d{1,4}$/, LIMIT_RULE)
    .transform(Number)
    .pipe(z.number().min(1, LIMIT_RULE).max(MAX_LIMIT, LIMIT_RULE))
    .default(DEFAULT_LIMIT),
  marker: z.string().min(1).max(MAX_MARKER_LENGTH).exactOptional(),
});

/** @throws RefusedRequest `invalid_request` naming `limit` or `marker`. */
export const pageRequest = (query: Record<string, string>): PageRequest => parsed(pageQuery, query);

type Link = { rel: 'next'; href: string };

/** The way to the next page, in Zaqar's form; empty on the last page. */
export const nextLinks = (
  path: string,
  { marker }: Page<unknown>,
  { limit, ...query }: { limit: number; detailed?: 'true' },
): readonly Link[] => {
  if (marker === undefined) return [];
  const search = new URLSearchParams({ ...query, limit: String(limit), marker });
  return [{ rel: 'next', href: `${path}?${search.toString()}` }];
};
