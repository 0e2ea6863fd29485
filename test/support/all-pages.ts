import type { Page, PageRequest } from '../../shared/ports/page.ts';

/** All pages in order, up to the last one. */
export const allPages = async <T>(
  limit: number,
  ask: (request: PageRequest) => Promise<Page<T>>,
): Promise<(readonly T[])[]> => {
  const pages: (readonly T[])[] = [];
  for (let request: PageRequest | undefined = { limit }; request !== undefined;) {
    const { items, marker }: Page<T> = await ask(request);
    pages.push(items);
    request = marker === undefined ? undefined : { limit, marker };
  }
  return pages;
};
