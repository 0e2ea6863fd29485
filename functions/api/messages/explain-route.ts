import * as z from 'zod';
import { explainedSchema, explainedView } from '../../../shared/wire/views/explanation.ts';
import { messageSummary, messageSummarySchema } from '../../../shared/wire/views/message.ts';
import type { ApiDependencies } from '../dependencies.ts';
import { noSuchMessage, notFound } from '../errors.ts';
import { linksSchema, nextLinks, pageFields } from '../paging.ts';
import { messageKey, queuePath, subscriptionIdField } from '../paths.ts';
import { parseWith } from '../request-json.ts';
import { type AddRoute, json } from '../route.ts';
import { explainMessage } from './explain.ts';

export function addExplainRoute(addRoute: AddRoute, dependencies: ApiDependencies): void {
  addRoute(
    {
      method: 'GET',
      path: '/v2/queues/:queue/messages/:message/explain',
      id: 'explainMessage',
      tag: 'messages',
      summary: 'Explains for each subscription of the queue what became of a message',
      description:
        'Deleted subscriptions that have a delivery of the message follow after the others. A page can be shorter than `limit`.',
      query: explainQuery,
      answers: { 200: json('A page of subscriptions.', explanationSchema) },
      refuses: [400, 404],
    },
    async (context) => {
      const message = messageKey(context.req.param());
      const { subscription, ...request } = parseWith(explainQuery, context.req.query());
      const explained = await explainMessage(dependencies, message, {
        ...request,
        subscriptionId: subscription,
      });
      if (explained === undefined) throw noSuchMessage(dependencies.settings);
      if (subscription !== undefined && explained.page.items.length === 0)
        throw notFound('such subscription');
      const path = `${queuePath(message.queue)}/messages/${message.messageId}/explain`;
      const answer: z.input<typeof explanationSchema> = {
        message: messageSummary(explained.message),
        subscriptions: explained.page.items.map(explainedView),
        links: nextLinks(path, explained.page, { limit: request.limit }),
      };
      return context.json(answer);
    },
  );
}

const explainQuery = z.strictObject({
  ...pageFields,
  subscription: subscriptionIdField.describe('Explains only this subscription.').exactOptional(),
});

export const explanationSchema = z.object({
  message: messageSummarySchema,
  subscriptions: z.array(explainedSchema),
  links: linksSchema,
});
