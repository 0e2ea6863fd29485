import * as z from 'zod';
import { booksView, booksViewSchema } from '../../../shared/messages/books-view.ts';
import { booksOfWindow } from '../../../shared/pipeline/administer-books.ts';
import type { Api, ApiDependencies } from '../dependencies.ts';
import { invalidFields } from '../error-answers.ts';
import { linksSchema, nextLinks, pageFields } from '../paging.ts';
import { queueName, queuePath } from '../paths.ts';
import { parsed } from '../request-json.ts';
import { isWindow, NO_WINDOW, windowFields } from '../window.ts';
import { DAY_MS } from '../../../shared/domain/duration.ts';

/** Every hour of a window is looked at, whether there is something in it or not. */
const MOST_DAYS = 400;

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

/** @throws RefusedRequest naming `since`, for a window that ends before it begins, or has no end. */
const windowOf = (
  asked: { since?: number; until?: number },
  now: number,
): { since: number; until: number } => {
  const until = asked.until ?? now;
  const since = asked.since ?? until - DAY_MS;
  if (since >= until) throw invalidFields([{ field: 'since', message: 'must be in the past' }]);
  if (until - since > MOST_DAYS * DAY_MS) {
    throw invalidFields([{ field: 'since', message: `must be at most ${MOST_DAYS} days before until` }]);
  }
  return { since, until };
};
