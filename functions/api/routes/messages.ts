import * as z from 'zod';
import { encodeMessageView } from '../../../shared/messages/message-view.ts';
import { eraseBody, messageStanding, publish } from '../../../shared/pipeline/administer-messages.ts';
import type { Api, ApiDependencies } from '../dependencies.ts';
import { notFound, RefusedRequest } from '../error-answers.ts';
import { messagesOf } from '../message-request.ts';
import { messageKey, queueName, queuePath } from '../paths.ts';
import { readJson } from '../request-json.ts';

const MESSAGE = '/v2/queues/:queue/messages/:message';

export const addMessageRoutes = (api: Api, dependencies: ApiDependencies): void => {
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
};

/** Answer to a post: where each message is found, in the order of the request. */
export const publishedSchema = z.object({ resources: z.array(z.string()), ids: z.array(z.string()) });

const tooLarge = (index: number): RefusedRequest =>
  new RefusedRequest('too_large', `messages[${index}] does not fit into an SQS message of 1 MiB`, [
    { field: `messages[${index}].body`, message: 'is too large' },
  ]);
