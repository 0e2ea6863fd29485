import * as z from 'zod';
import type { ApiClient, ApiRequest } from './api-request.ts';

/** The way to the next page, as every listing gives it. */
export const linksSchema = z.array(z.object({ rel: z.string(), href: z.string() })).default([]);

export type ListedPage<Item> = { items: Item[]; links: z.infer<typeof linksSchema> };

/** The most that one page holds. */
const MOST_ON_A_PAGE = 100;

export type ListingRequest<Item> = Pick<ApiRequest, 'path' | 'query' | 'signal'> & {
  schema: z.ZodType<ListedPage<Item>>;
  /** @default all */
  most?: number;
};

/** Everything in a listing, page after page, as it comes. */
export const listing = async function* <Item>(
  api: ApiClient,
  { path, query, signal, schema, most = Infinity }: ListingRequest<Item>,
): AsyncGenerator<Item> {
  let room = most;
  let marker: string | undefined;
  do {
    const limit = Math.min(MOST_ON_A_PAGE, room);
    const request = { path, query: { ...query, limit, marker }, ...(signal && { signal }) };
    const { items, links } = await api.call({ method: 'GET', ...request }, schema);
    yield* items.slice(0, room);
    room -= items.length;
    marker = markerIn(links);
  } while (marker !== undefined && room > 0);
};

/** What stands in the link to the next page. */
export function markerIn(links: ListedPage<unknown>['links']): string | undefined {
  const next = links.find(({ rel }) => rel === 'next');
  if (next === undefined) return undefined;
  return URL.parse(next.href, 'https://api.invalid')?.searchParams.get('marker') ?? undefined;
}
