import * as z from 'zod';
import { booksView, booksViewSchema } from '../../../shared/messages/books-view.ts';
import { booksOfWindow } from '../../../shared/pipeline/administer-books.ts';
import type { Api, ApiDependencies } from '../dependencies.ts';
import { linksSchema, nextLinks, pageFields } from '../paging.ts';
import { queueName, queuePath } from '../paths.ts';
import { parsed } from '../request-json.ts';
import { isWindow, NO_WINDOW, windowFields, windowOf } from '../window.ts';

export const addBooksRoutes = (api: Api, dependencies: ApiDependencies): void => {
  api.get('/v2/queues/:queue/books', async (context) => {
    const queue = queueName(context.req.param('queue'));
    const { marker, ...asked } = parsed(booksQuery, context.req.query());
    const window = { queue, ...windowOf(asked, dependencies.clock.now()) };
    const { books, marker: next } = await booksOfWindow(dependencies, window, marker);
    const view = booksView(window, books);
    const links = nextLinks(
      `${queuePath(queue)}/books`,
      { ...(next === undefined ? {} : { marker: next }) },
      { since: view.since, until: view.until },
    );
    const answer: z.input<typeof booksAnswerSchema> = { ...view, links: [...links] };
    return context.json(answer);
  });
};

export const booksAnswerSchema = booksViewSchema.extend({ links: linksSchema });

/** The query of the books: of the last 24 hours, unless it says otherwise. */
export const booksQuery = z
  .strictObject({ marker: pageFields.marker, ...windowFields })
  .refine(isWindow, NO_WINDOW);
