import * as z from 'zod';
import {
  encodeMessageView,
  messageSummary,
  messageSummarySchema,
} from '../../../shared/wire/views/message.ts';
import { timeText } from '../../../shared/wire/fields.ts';
import { eraseBody, listMessages, messageStanding, publish } from './messages.ts';
import type { Api, ApiDependencies } from '../dependencies.ts';
import { notFound, RefusedRequest } from '../errors.ts';
import { messagesOf } from './request.ts';
import { linksSchema, nextLinks, pageFields } from '../paging.ts';
import { messageKey, queueName, queuePath } from '../paths.ts';
import { parsed, readJson } from '../request-json.ts';
import { isWindow, NO_WINDOW, windowFields, windowOf } from '../window.ts';

const MESSAGE = '/v2/queues/:queue/messages/:message';

export function addMessageRoutes(api: Api, dependencies: ApiDependencies): void {
  const { audit } = dependencies;

  api.post('/v2/queues/:queue/messages', async (context) => {
    const queue = queueName(context.req.param('queue'));
    const result = await publish(dependencies, queue, messagesOf(await readJson(context.req)));
    if (result.kind === 'too_large') throw tooLarge(result.index);
    const { ids } = result;
    audit(context.env.caller, { change: 'messages_posted', queue, messageIds: ids });
    const answer: z.input<typeof publishedSchema> = {
      resources: ids.map((id) => `${queuePath(queue)}/messages/${id}`),
      ids: [...ids],
    };
    return context.json(answer, 201);
  });

  api.get('/v2/queues/:queue/messages', async (context) => {
    const queue = queueName(context.req.param('queue'));
    const { limit, marker, ...asked } = parsed(messageListQuery, context.req.query());
    const window = { queue, ...windowOf(asked, dependencies.clock.now()) };
    const page = await listMessages(dependencies, window, {
      limit,
      ...(marker === undefined ? {} : { marker }),
    });
    const [since, until] = [timeText(window.since), timeText(window.until)];
    const answer: z.input<typeof messageListSchema> = {
      messages: page.items.map(messageSummary),
      links: [...nextLinks(`${queuePath(queue)}/messages`, page, { limit, since, until })],
    };
    return context.json(answer);
  });

  api.get(MESSAGE, async (context) => {
    const standing = await messageStanding(dependencies, messageKey(context.req.param()));
    if (standing === undefined) throw notFound('such message');
    return context.body(encodeMessageView(standing), 200, { 'content-type': 'application/json' });
  });

  api.delete(`${MESSAGE}/body`, async (context) => {
    const message = messageKey(context.req.param());
    if ((await eraseBody(dependencies, message)) === 'no_such_message') throw notFound('such message');
    audit(context.env.caller, { change: 'body_erased', ...message });
    return context.body(null, 204);
  });
}

export const messageListSchema = z.object({ messages: z.array(messageSummarySchema), links: linksSchema });

/** The query of the listing of a queue's messages: of the last 24 hours, unless it says otherwise. */
export const messageListQuery = z
  .strictObject({ ...pageFields, ...windowFields })
  .refine(isWindow, NO_WINDOW);

/** Answer to a post: where each message is found, in the order of the request. */
export const publishedSchema = z.object({ resources: z.array(z.string()), ids: z.array(z.string()) });

function tooLarge(index: number): RefusedRequest {
  return new RefusedRequest('too_large', `messages[${index}] does not fit into an SQS message of 1 MiB`, [
    { field: `messages[${index}].body`, message: 'is too large' },
  ]);
}
