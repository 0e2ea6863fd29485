import * as z from 'zod';
import type { Page, PageRequest } from '../../shared/ports/page.ts';
import { type Answer, jsonAnswer } from './route.ts';

/** Zaqar's default. */
const DEFAULT_LIMIT = 10;
const MAX_LIMIT = 100;
const LIMIT_RULE = `must be an integer from 1 to ${MAX_LIMIT}`;
const MAX_MARKER_LENGTH = 2048;

/** The query fields of every paged list. */
export const pageFields = {
  limit: z
    .string()
    .refine((text) => /^\d{1,4}$/.test(text), LIMIT_RULE)
    .transform(Number)
    .pipe(z.number().min(1, LIMIT_RULE).max(MAX_LIMIT, LIMIT_RULE))
    .default(DEFAULT_LIMIT)
    .meta({
      description: 'Maximum number of items on a page.',
      override: { type: 'integer', minimum: 1, maximum: MAX_LIMIT, default: DEFAULT_LIMIT },
    }),
  marker: z
    .string()
    .min(1)
    .max(MAX_MARKER_LENGTH)
    .describe('Start of the page: the marker in the `next` link of the previous page.')
    .exactOptional(),
};

export const pageQuery = z.strictObject(pageFields);

/** Zaqar's client sends further parameters with some lists. They are ignored. */
export const zaqarPageQuery = z.object(pageFields);

export const linksSchema = z.array(z.object({ rel: z.literal('next'), href: z.string() }));

/** The link to the next page, in Zaqar's form; empty on the last page. Omits flags that are false and filters that are undefined. */
export function nextLinks(
  path: string,
  { marker }: { marker?: string | undefined },
  query: Readonly<Record<string, string | number | boolean | undefined>>,
): z.infer<typeof linksSchema> {
  if (marker === undefined) return [];
  const search = new URLSearchParams();
  for (const [name, value] of Object.entries(query))
    if (value !== false && value !== undefined) search.set(name, String(value));
  search.set('marker', marker);
  return [{ rel: 'next', href: `${path}?${search.toString()}` }];
}

/** A list in pages, by the name of its items: its schema, and the answers with the link to the next page. */
export function listing<Item extends z.ZodType>(name: string, item: Item) {
  return {
    schema: z.object({ [name]: z.array(item), links: linksSchema }),
    answer: (path: string, page: Page<z.input<Item>>, query: Parameters<typeof nextLinks>[2]): Answer =>
      jsonAnswer({ [name]: page.items, links: nextLinks(path, page, query) }),
  };
}

/** Under Lambda's limit of 6 MB for the whole response (Lambda quotas, "Invocation payload"). */
export const MAX_ANSWER_BYTES = 5_000_000;

/** The bytes of a part in Lambda's response. Its body is a JSON string, so each quote takes two bytes. */
export function countAnswerBytes(part: unknown): number {
  return Buffer.byteLength(JSON.stringify(JSON.stringify(part)));
}

/**
 * A page with as many views as fit into a response. If some do not fit, it reads the page again with a smaller limit,
 * because only the listing can create the marker of a shorter page. One always fits: a record has at most 400 KB
 * (DynamoDB quotas).
 * @throws what `read` throws
 */
export async function pageWithinAnswerSize<Item, View>(
  request: PageRequest,
  read: (request: PageRequest) => Promise<Page<Item>>,
  viewOf: (item: Item) => View,
): Promise<Page<View> & { items: View[] }> {
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
  const first = items.findIndex((item) => (room -= countAnswerBytes(item)) < 0);
  return first === -1 ? items.length : first;
}
