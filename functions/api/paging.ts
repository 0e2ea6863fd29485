import * as z from 'zod';
import type { Page, PageRequest } from '../../shared/ports/page.ts';
import { parsed } from './request-json.ts';

/** A page as long as Zaqar's by default. */
const DEFAULT_LIMIT = 10;
const MAX_LIMIT = 100;
const LIMIT_RULE = `must be an integer from 1 to ${MAX_LIMIT}`;
const MAX_MARKER_LENGTH = 2048;

/** The query of every long listing. */
export const pageFields = {
  limit: z
    .string()
    .refine((text) => /^\d{1,4}$/.test(text), LIMIT_RULE)
    .transform(Number)
    .pipe(z.number().min(1, LIMIT_RULE).max(MAX_LIMIT, LIMIT_RULE))
    .default(DEFAULT_LIMIT)
    .meta({ override: { type: 'integer', minimum: 1, maximum: MAX_LIMIT, default: DEFAULT_LIMIT } }),
  marker: z.string().min(1).max(MAX_MARKER_LENGTH).exactOptional(),
};

/** Zaqar's client sends more with some listings, to no effect. */
export const pageQuery = z.object(pageFields);

/** @throws RefusedRequest `invalid_request` naming `limit` or `marker`. */
export function pageRequest(query: Record<string, string>): PageRequest {
  return parsed(pageQuery, query);
}

export const linksSchema = z.array(z.object({ rel: z.literal('next'), href: z.string() }));

type Link = z.infer<typeof linksSchema>[number];

/** The way to the next page of what `query` asked for, in Zaqar's form; empty on the last page. */
export function nextLinks(
  path: string,
  { marker }: Pick<Page<unknown>, 'marker'>,
  query: Readonly<Record<string, string | number>>,
): readonly Link[] {
  if (marker === undefined) return [];
  const search = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) search.set(name, String(value));
  search.set('marker', marker);
  return [{ rel: 'next', href: `${path}?${search.toString()}` }];
}
