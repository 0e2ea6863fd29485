import { z } from 'zod';
import { EMPTY_BOOKS, type Books, sumOfBooks } from '../../shared/domain/message/books.ts';
import { booksViewSchema } from '../../shared/wire/views/books.ts';

const page = booksViewSchema.extend({ links: z.array(z.object({ href: z.string() })) });

/** All pages of the books of a queue, added up. `get` asks the API. @throws when it does not give them */
export const allBooks = async (
  queue: string,
  since: string,
  get: (path: string) => Promise<Response>,
): Promise<Books> => {
  let books = EMPTY_BOOKS;
  let path: string | undefined = `/v2/queues/${queue}/books?since=${since}`;
  while (path !== undefined) {
    const response = await get(path);
    const answer: unknown = await response.json();
    if (!response.ok) throw new Error(`${path}: ${response.status} ${JSON.stringify(answer)}`);
    const view = page.parse(answer);
    books = sumOfBooks(books, view.books);
    path = view.links[0]?.href;
  }
  return books;
};
