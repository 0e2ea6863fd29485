import * as z from 'zod';
import { toError } from '../../../shared/domain/errors.ts';
import { REMOVAL_BUDGET_MS } from '../../../shared/ports/subscriptions.ts';
import {
  archivedQueueSchema,
  archivedQueueView,
  restoredQueueSchema,
} from '../../../shared/wire/views/archive.ts';
import type { ApiDependencies } from '../dependencies.ts';
import { notFound, RefusedRequest } from '../errors.ts';
import { timeField } from '../fields.ts';
import { linksSchema, nextLinks, pageQuery } from '../paging.ts';
import { queueName } from '../paths.ts';
import { parseWith, readOptionalJson } from '../request-json.ts';
import { type AddRoute, json, jsonAnswer, optionalJsonBody } from '../route.ts';
import { OPERATE_AFTER_SECONDS } from './routes.ts';

const ARCHIVED_QUEUES = '/v2/archived-queues';

const archivedQueuesSchema = z.object({ queues: z.array(archivedQueueSchema), links: linksSchema });

const restorationSchema = z.strictObject({
  until: timeField
    .describe(
      'Undoes the last deletion up to this time, where the queue was deleted more than once. By default now.',
    )
    .exactOptional(),
});

export function addQueueArchiveRoutes(addRoute: AddRoute, dependencies: ApiDependencies): void {
  const { registry, clock, audit, operations } = dependencies;

  addRoute(
    {
      method: 'GET',
      path: ARCHIVED_QUEUES,
      id: 'listArchivedQueues',
      tag: 'queues',
      summary: 'Lists deleted queues that can be restored, by name',
      query: pageQuery,
      answers: { 200: json('A page of deleted queues.', archivedQueuesSchema) },
      refuses: [400],
    },
    async (context) => {
      const request = parseWith(pageQuery, context.query);
      const page = await registry.listArchivedQueues(request, clock.now());
      return jsonAnswer({
        queues: page.items.map(archivedQueueView),
        links: nextLinks(ARCHIVED_QUEUES, page, { limit: request.limit }),
      } satisfies z.input<typeof archivedQueuesSchema>);
    },
  );

  addRoute(
    {
      method: 'POST',
      path: '/v2/queues/{queue}/restore',
      id: 'restoreQueue',
      tag: 'queues',
      summary: 'Restores a deleted queue with its subscriptions, their ids and secrets',
      description: 'A recovery then sends what the deletion cancelled.',
      body: optionalJsonBody(restorationSchema),
      answers: {
        200: json('The queue is restored.', restoredQueueSchema),
        202: json('The queue has many subscriptions; it appears once all are back.', restoredQueueSchema),
      },
    },
    async (context) => {
      const name = queueName(context.params.queue);
      const { until = clock.now() } = parseWith(restorationSchema, readOptionalJson(context.body).value);
      const result = await registry.restoreQueue(name, clock.now(), until);
      if (result === 'missing') throw notFound('deleted queue of this name that can be restored');
      if (result === 'exists') throw queueExists(name);
      await operations.send({ kind: 'restoration', queue: name }, OPERATE_AFTER_SECONDS);
      audit(context.caller, { change: 'queue_restored', queue: name });
      // If this fails, operate does the rest.
      const endsAt = clock.now() + REMOVAL_BUDGET_MS;
      const isComplete = await registry
        .completeRestoredQueue(name, () => clock.now() < endsAt)
        .catch((error: unknown) => {
          dependencies.reportFault(toError(error), { ...context.caller, queue: name });
          return false;
        });
      const answer: z.input<typeof restoredQueueSchema> = {
        name,
        state: isComplete ? 'restored' : 'restoring',
      };
      return jsonAnswer(answer, isComplete ? 200 : 202);
    },
  );
}

/** Its deletion would leave one more archive, which would then be the last one of the name. */
function queueExists(queue: string): RefusedRequest {
  return new RefusedRequest(
    'conflict',
    `the queue ${queue} exists: to restore the deleted one, delete this one with now=true first`,
  );
}
