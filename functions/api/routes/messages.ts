import { messageIdOf } from '../../../shared/domain/message.ts';
import { deliveryView } from '../../../shared/messages/delivery-view.ts';
import { deliveriesOfMessage, publish } from '../../../shared/pipeline/administer-messages.ts';
import type { Api, ApiDependencies } from '../dependencies.ts';
import { notFound, RefusedRequest } from '../error-answers.ts';
import { messagesOf } from '../message-request.ts';
import { queueName, queuePath } from '../paths.ts';
import { readJson } from '../request-json.ts';

export const addMessageRoutes = (api: Api, dependencies: ApiDependencies): void => {
  const { audit } = dependencies;

  api.post('/v2/queues/:queue/messages', async (context) => {
    const queue = queueName(context.req.param('queue'));
    const result = await publish(dependencies, queue, messagesOf(await readJson(context.req)));
    if (result.kind === 'too_large') throw tooLarge(result.index);
    const { ids } = result;
    audit(context.env.caller, { change: 'messages_posted', queue, messageIds: ids });
    return context.json({ resources: ids.map((id) => `${queuePath(queue)}/messages/${id}`), ids }, 201);
  });

  api.get('/v2/queues/:queue/messages/:message/deliveries', async (context) => {
    const queue = queueName(context.req.param('queue'));
    // The producer's own id finds the message as well as the one that we made of it.
    const { id } = messageIdOf({ id: context.req.param('message') });
    const deliveries = await deliveriesOfMessage(dependencies, { queue, messageId: id });
    if (deliveries === undefined) throw notFound('such message');
    return context.json({ deliveries: deliveries.map(deliveryView) });
  });
};

const tooLarge = (index: number): RefusedRequest =>
  new RefusedRequest('too_large', `messages[${index}] does not fit into an SQS message of 1 MiB`, [
    { field: `messages[${index}].body`, message: 'is too large' },
  ]);
