import * as z from 'zod';
import type { Queue } from '../../../shared/domain/subscription/subscription.ts';
import { findPauseInForce } from '../../../shared/domain/subscription/pause.ts';
import { toError } from '../../../shared/domain/errors.ts';
import { type Registry, REMOVAL_BUDGET_MS } from '../../../shared/ports/subscriptions.ts';
import { deletionHeaders, RESTORABLE_UNTIL } from '../../../shared/wire/views/archive.ts';
import { deletionQuery, findRestorableUntil, withDeletionHeaders } from '../archives/deletion.ts';
import { pausedView, pausedViewSchema } from '../../../shared/wire/views/subscription.ts';
import { pageWithinAnswerSize, linksSchema, nextLinks, zaqarPageQuery } from '../paging.ts';
import { queueDifference, queueDigest } from '../audit.ts';
import type { ApiDependencies, ChangeContext } from '../dependencies.ts';
import { type AddRoute, json, jsonAnswer, noBody, optionalJsonBody, withLocation } from '../route.ts';
import { notFound } from '../errors.ts';
import { presentQueue } from '../existing.ts';
import { flag } from '../fields.ts';
import { queuePath, QUEUES } from '../paths.ts';
import { requestsEndWithinSeconds } from '../pauses/pause.ts';
import {
  parseQueueFields,
  describedMetadata,
  shownMetadata,
  applyPatch,
  checkPatch,
  queuePatchSchema,
} from './metadata.ts';
import { readOptionalJson } from '../request-json.ts';

/** By the registered media type of JSON patches, Zaqar's, and plain JSON. All are read alike. */
const PATCH_CONTENT = {
  'application/json-patch+json': { schema: queuePatchSchema },
  'application/openstack-messaging-v2.0-json-patch': { schema: queuePatchSchema },
  'application/json': { schema: queuePatchSchema },
};

export function addQueueRoutes(addRoute: AddRoute, dependencies: ApiDependencies): void {
  const { registry, clock, audit, settings } = dependencies;

  addRoute({
    key: `GET ${QUEUES}`,
    id: 'listQueues',
    summary: 'Lists queues by name',
    query: queueListQuery,
    answers: { 200: json('A page of queues.', queueListSchema) },
    refuses: [400],
    handle: async ({ path, query: { detailed, with_count, name, ...request } }) => {
      const [page, count] = await Promise.all([
        pageWithinAnswerSize(
          request,
          (asked) => registry.listQueues(asked, name),
          ({ name: listed, metadata, ...queue }) => ({
            name: listed,
            href: queuePath(listed),
            ...(detailed && { metadata }),
            ...pausedView(findPauseInForce({ queue, subscription: undefined }, clock.now())),
          }),
        ),
        with_count && request.marker === undefined ? registry.countQueues(name) : undefined,
      ]);
      return jsonAnswer({
        queues: page.items,
        links: nextLinks(path, page, { limit: request.limit, detailed, with_count, name }),
        ...(count === undefined ? {} : { count }),
      } satisfies z.input<typeof queueListSchema>);
    },
  });

  addRoute({
    key: 'PUT /v2/queues/{queue}',
    id: 'putQueue',
    summary: 'Creates a queue, or replaces its metadata',
    body: optionalJsonBody(describedMetadata),
    answers: {
      201: withLocation(noBody('The queue is created.')),
      204: withLocation(noBody('The queue existed; its metadata is replaced.')),
    },
    handle: async ({ params: { queue: name }, raw, caller }) => {
      const fields = parseQueueFields(readOptionalJson(raw.body).value, settings);
      const queue: Queue = { name, createdAt: clock.now(), ...fields };
      const result = await registry.putQueue(queue);
      audit(caller, {
        queue: name,
        ...(result.kind === 'created'
          ? { change: 'queue_created', after: queueDigest(queue) }
          : { change: 'queue_replaced', ...queueDifference(result.before, queue) }),
      });
      return { status: result.kind === 'created' ? 201 : 204, headers: { location: queuePath(name) } };
    },
  });

  addRoute({
    key: 'PATCH /v2/queues/{queue}',
    id: 'patchQueue',
    summary: 'Changes the metadata of a queue with a JSON patch (RFC 6902)',
    body: { required: true, content: PATCH_CONTENT },
    answers: { 200: json('The metadata after the patch.', shownMetadata) },
    handle: async ({ params: { queue: name }, body: patch, caller }) => {
      checkPatch(patch);
      const result = await registry.changeQueue(name, (current) => {
        const { retryPolicy: _, ...kept } = current;
        return { ...kept, ...parseQueueFields(applyPatch(kept.metadata, patch), settings) };
      });
      if (result.kind === 'missing') throw notFound('such queue');
      if (result.kind === 'left') return jsonAnswer(result.current.metadata);
      const { before, after } = result;
      audit(caller, { change: 'queue_changed', queue: name, ...queueDifference(before, after) });
      return jsonAnswer(after.metadata);
    },
  });

  addRoute({
    key: 'GET /v2/queues/{queue}',
    id: 'getQueue',
    summary: 'Shows the metadata of a queue',
    answers: { 200: json('The metadata.', shownMetadata) },
    handle: async ({ params }) => jsonAnswer((await presentQueue(dependencies, params.queue)).metadata),
  });

  addRoute({
    key: 'DELETE /v2/queues/{queue}',
    id: 'deleteQueue',
    summary: 'Deletes a queue with its subscriptions',
    description: `Cancels its pending deliveries. Until the time in the header \`${RESTORABLE_UNTIL}\` it can be restored.`,
    query: deletionQuery,
    answers: { 204: withDeletionHeaders(noBody('The queue is deleted, or did not exist.')) },
    handle: async ({ params: { queue: name }, query, caller }) => {
      const deleted = await deleteQueue(dependencies, name, findRestorableUntil(dependencies, query));
      if (deleted !== undefined) audit(caller, { change: 'queue_deleted', queue: name });
      // So that a small queue can be created again at once. If this fails, operate removes the rest.
      const until = clock.now() + REMOVAL_BUDGET_MS;
      await registry
        .removeDeletedQueue(name, () => clock.now() < until)
        .catch((error: unknown) => {
          dependencies.reportFault(toError(error), { ...caller, queue: name });
        });
      const requestsEnd = requestsEndWithinSeconds(dependencies.settings, {});
      return { status: 204, headers: deletionHeaders(requestsEnd, deleted?.restorableUntil) };
    },
  });
}

/** Keeps operate from moving the same subscriptions while the request does. */
export const OPERATE_AFTER_SECONDS = 2;

/**
 * Deletes a queue with its subscriptions. operate then removes the subscriptions that the request left, and cancels
 * pending deliveries. Idempotent: a repeat completes a deletion that a crash interrupted.
 * @throws when the operation could not be sent; a repeat sends it
 */
export async function deleteQueue(
  { registry, clock, operations }: ChangeContext,
  queue: string,
  restorableUntil?: number,
): ReturnType<Registry['deleteQueue']> {
  const deletedAt = clock.now();
  const deleted = await registry.deleteQueue(queue, deletedAt, restorableUntil);
  await operations.send({ kind: 'cancellation', queue, deletedAt }, OPERATE_AFTER_SECONDS);
  return deleted;
}

/** As in Zaqar. `name`: a part of the name. `with_count`: the first page contains the number of all queues. */
const queueListQuery = zaqarPageQuery.extend({
  detailed: flag.describe('Whether to include the metadata of the queues.'),
  with_count: flag.describe('Whether the first page contains the number of all queues.'),
  name: z
    .string()
    .min(1)
    .max(64)
    .describe('Lists only queues whose names contain this text.')
    .exactOptional(),
});

const queueListSchema = z.object({
  queues: z.array(
    z.object({
      name: z.string(),
      href: z.string(),
      metadata: shownMetadata.exactOptional(),
      paused: pausedViewSchema.exactOptional(),
    }),
  ),
  links: linksSchema,
  count: z.int().exactOptional(),
});
