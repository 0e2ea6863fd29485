import * as z from 'zod';
import type { ApiClient, ApiRequest } from './api-request.ts';

/** Links of a listing; the one with rel `next` leads to the next page. */
export const linksSchema = z.array(z.object({ rel: z.string(), href: z.string() })).default([]);

export type ListedPage<Item> = { items: Item[]; links: z.infer<typeof linksSchema> };

/** The API's maximum page size. */
const MOST_ON_A_PAGE = 100;

/** `most`: by default all. */
export type Limits = { most?: number | undefined; signal?: AbortSignal | undefined };

type ListingRequest<Item> = Limits &
  Pick<ApiRequest, 'path' | 'query'> & { schema: z.ZodType<ListedPage<Item>> };

/** All items of a listing; fetches page after page as they are read. Returns whether it ended at `most`, with more to come. */
export const listing = async function* <Item>(
  api: ApiClient,
  { path, query, signal, schema, most = Infinity }: ListingRequest<Item>,
): AsyncGenerator<Item, boolean> {
  let room = most;
  let marker: string | undefined;
  do {
    const limit = Math.min(MOST_ON_A_PAGE, room);
    const request = { path, query: { ...query, limit, marker }, signal };
    const { items, links } = await api.call({ method: 'GET', ...request }, schema);
    yield* items.slice(0, room);
    room -= items.length;
    marker = markerIn(links);
  } while (marker !== undefined && room > 0);
  return marker !== undefined;
};

/** `more`: there are further items. */
export type Listed<Item> = { items: Item[]; more: boolean };

/** The items of a listing, up to its `most`. */
export async function itemsOf<Item>(list: AsyncGenerator<Item, boolean>): Promise<Listed<Item>> {
  const items: Item[] = [];
  for (;;) {
    const next = await list.next();
    if (next.done === true) return { items, more: next.value };
    items.push(next.value);
  }
}

/** The marker in the link to the next page; undefined on the last page. */
export function markerIn(links: ListedPage<unknown>['links']): string | undefined {
  const next = links.find(({ rel }) => rel === 'next');
  if (next === undefined) return undefined;
  return URL.parse(next.href, 'https://api.invalid')?.searchParams.get('marker') ?? undefined;
}
