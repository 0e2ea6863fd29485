import * as z from 'zod';
import type { Page, PageRequest } from '../../shared/ports/page.ts';
import { parseWith } from './request-json.ts';

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
  return parseWith(pageQuery, query);
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

/** Lambda answers with 6 MB at most (Lambda quotas, "Invocation payload"); what is around the body takes a little of it. */
export const MAX_ANSWER_BYTES = 5_000_000;

/** What a part of an answer takes of that: it travels as text within JSON, where each of its quotes is two bytes. */
export function answerBytesOf(part: unknown): number {
  return Buffer.byteLength(JSON.stringify(JSON.stringify(part)));
}

/**
 * A page as it is shown, of as many items as an answer has room for; its marker leads on behind the last of them. Where not all
 * of them have room the page is read again with a smaller limit, because only the listing can say where a shorter one ends.
 * One item always has room: a record has 400 KB at most (DynamoDB quotas, "Item size"), and is shown in less than ten times that.
 * @throws what `read` throws
 */
export async function fittingPage<Item, View>(
  request: PageRequest,
  read: (request: PageRequest) => Promise<Page<Item>>,
  viewOf: (item: Item) => View,
): Promise<Page<View>> {
  for (let { limit } = request; ;) {
    const page = await read({ ...request, limit });
    const items = page.items.map(viewOf);
    const fitting = countFitting(items);
    if (fitting === items.length || limit === 1) return { ...page, items };
    limit = Math.max(1, fitting);
  }
}

function countFitting(items: readonly unknown[]): number {
  let room = MAX_ANSWER_BYTES;
  const first = items.findIndex((item) => (room -= answerBytesOf(item)) < 0);
  return first === -1 ? items.length : first;
}
