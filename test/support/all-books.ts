import { z } from 'zod';
import { type Books, EMPTY_BOOKS, sumOfBooks } from '../../shared/domain/delivery/books.ts';
import { booksViewSchema } from '../../shared/wire/views/books.ts';

const booksPage = booksViewSchema.extend({ links: z.array(z.object({ rel: z.string(), href: z.string() })) });

/** The sum of all pages of the books of a queue. `get`: the answer of the API. */
export const allBooks = async (
  get: (path: string) => Promise<unknown>,
  queue: string,
  since: string,
): Promise<Books> => {
  let books = EMPTY_BOOKS;
  for (let path: string | undefined = `/v2/queues/${queue}/books?since=${since}`; path !== undefined;) {
    const page: z.output<typeof booksPage> = booksPage.parse(await get(path));
    books = sumOfBooks(books, page.books);
    path = page.links.find(({ rel }) => rel === 'next')?.href;
  }
  return books;
};
