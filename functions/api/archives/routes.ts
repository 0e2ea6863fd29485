import * as z from 'zod';
import { toError } from '../../../shared/domain/errors.ts';
import { measureAmount } from '../../../shared/domain/subscription/room.ts';
import { renewPause } from '../../../shared/domain/subscription/pause.ts';
import type { Subscription, SubscriptionKey } from '../../../shared/domain/subscription/subscription.ts';
import { REMOVAL_BUDGET_MS } from '../../../shared/ports/subscriptions.ts';
import { continuePause } from '../../../shared/steps/continue-pause.ts';
import {
  archivedQueueSchema,
  archivedQueueView,
  archivedSubscriptionSchema,
  archivedSubscriptionView,
  restoredQueueSchema,
} from '../../../shared/wire/views/archive.ts';
import { subscriptionViewSchema } from '../../../shared/wire/views/subscription.ts';
import { subscriptionDigest } from '../audit.ts';
import type { ApiDependencies, ChangeContext } from '../dependencies.ts';
import { notFound, RefusedRequest, subscriberTaken } from '../errors.ts';
import { presentQueue } from '../existing.ts';
import { viewOfSubscription } from '../pauses/routes.ts';
import { timeField } from '../fields.ts';
import { listing, pageQuery } from '../paging.ts';
import { subscriptionKey } from '../paths.ts';
import { OPERATE_AFTER_SECONDS } from '../queues/routes.ts';
import { type Group, json, jsonAnswer, optionalJsonBody } from '../route.ts';
import { CHANGED_WITHIN_SECONDS } from '../subscriptions/change.ts';
import { takeRoom } from '../subscriptions/subscribe.ts';

const archivedQueues = listing('queues', archivedQueueSchema);
const archivedSubscriptions = listing('subscriptions', archivedSubscriptionSchema);

const restorationSchema = z.strictObject({
  until: timeField
    .describe(
      'Undoes the last deletion up to this time, where the queue was deleted more than once. By default now.',
    )
    .exactOptional(),
});

const RECOVERY_SENDS = 'A recovery then sends what the deletion cancelled.';

/** The routes that list and restore deleted queues and subscriptions. */
export function addArchiveRoutes(group: Group, dependencies: ApiDependencies): void {
  const [addQueueRoute, addSubscriptionRoute] = [group('queues'), group('subscriptions')];
  const { registry, clock, audit } = dependencies;

  addQueueRoute({
    key: 'GET /v2/archived-queues',
    id: 'listArchivedQueues',
    summary: 'Lists deleted queues that can be restored, by name',
    query: pageQuery,
    answers: { 200: json('A page of deleted queues.', archivedQueues.schema) },
    refuses: [400],
    handle: async ({ path, query }) => {
      const page = await registry.listArchivedQueues(query, clock.now());
      const items = page.items.map(archivedQueueView);
      return archivedQueues.answer(path, { ...page, items }, { limit: query.limit });
    },
  });

  addQueueRoute({
    key: 'POST /v2/queues/{queue}/restore',
    id: 'restoreQueue',
    summary: 'Restores a deleted queue with its subscriptions, their ids and secrets',
    description: RECOVERY_SENDS,
    body: optionalJsonBody(restorationSchema),
    answers: {
      200: json('The queue is restored.', restoredQueueSchema),
      202: json('The queue has many subscriptions; it appears once all are back.', restoredQueueSchema),
    },
    handle: async ({ params: { queue: name }, body, caller }) => {
      const { until = clock.now() } = body;
      await restoreQueue(dependencies, name, until);
      audit(caller, { change: 'queue_restored', queue: name });
      // If this fails, operate does the rest.
      const endsAt = clock.now() + REMOVAL_BUDGET_MS;
      const isComplete = await registry
        .completeRestoredQueue(name, () => clock.now() < endsAt)
        .catch((error: unknown) => {
          dependencies.reportFault(toError(error), { ...caller, queue: name });
          return false;
        });
      const state = isComplete ? 'restored' : 'restoring';
      const answer = { name, state } satisfies z.input<typeof restoredQueueSchema>;
      return jsonAnswer(answer, isComplete ? 200 : 202);
    },
  });

  addSubscriptionRoute({
    key: 'GET /v2/queues/{queue}/archived-subscriptions',
    id: 'listArchivedSubscriptions',
    summary: 'Lists deleted subscriptions of a queue that can be restored',
    query: pageQuery,
    answers: { 200: json('A page of deleted subscriptions.', archivedSubscriptions.schema) },
    handle: async ({ path, params, query }) => {
      const { name: queue, createdAt } = await presentQueue(dependencies, params.queue);
      const page = await registry.listArchivedSubscriptions(queue, query, clock.now());
      const items = page.items
        .filter(({ deletedAt }) => deletedAt >= createdAt)
        .map(archivedSubscriptionView);
      return archivedSubscriptions.answer(path, { ...page, items }, { limit: query.limit });
    },
  });

  addSubscriptionRoute({
    key: 'POST /v2/queues/{queue}/subscriptions/{subscription}/restore',
    id: 'restoreSubscription',
    summary: 'Restores a deleted subscription, with its id and secrets',
    description: RECOVERY_SENDS,
    answers: { 200: json('The restored subscription.', subscriptionViewSchema) },
    handle: async ({ params, caller }) => {
      const key = subscriptionKey(params);
      const restored = await restoreSubscription(dependencies, key);
      const after = subscriptionDigest(restored);
      audit(caller, { change: 'subscription_restored', ...key, after });
      return jsonAnswer(await viewOfSubscription(dependencies, restored));
    },
  });
}

/** @throws RefusedRequest if it cannot be restored, or the queue exists */
export async function restoreQueue(context: ChangeContext, name: string, until: number): Promise<void> {
  const { registry, clock, operations } = context;
  const result = await registry.restoreQueue(name, clock.now(), until);
  if (result === 'missing') throw notFound('deleted queue of this name that can be restored');
  // Its deletion would leave one more archive, which would then be the last one of the name.
  if (result === 'exists')
    throw new RefusedRequest(
      'conflict',
      `the queue ${name} exists: to restore the deleted one, delete this one with now=true first`,
    );
  await operations.send({ kind: 'restoration', queue: name }, OPERATE_AFTER_SECONDS);
}

/** @throws RefusedRequest if it cannot be restored, another subscription has its subscriber, or the queue is full */
export async function restoreSubscription(
  context: ChangeContext,
  key: SubscriptionKey,
): Promise<Subscription> {
  const { registry, clock } = context;
  const { createdAt } = await presentQueue(context, key.queue);
  const target = { ...key, now: clock.now() };
  const archived = await registry.findArchivedSubscription(target);
  // That of an earlier queue of the name, perhaps of another customer, would get messages of this one.
  if (archived === undefined || archived.deletedAt < createdAt)
    throw notFound('deleted subscription that can be restored');
  // Until its record is removed, the deleted one still counts.
  const isCounted = (await registry.findSubscription(key.queue, key.subscriptionId)) !== undefined;
  if (!isCounted) await takeRoom(context, key.queue, measureAmount([archived.subscription]));
  // Sent first: a crash between the two must not leave deliveries waiting.
  const renewed = renewPause(archived.subscription, target.now);
  await continuePause(context, key, renewed, CHANGED_WITHIN_SECONDS);
  const result = await registry.restoreSubscription(target);
  switch (result.kind) {
    case 'missing':
      throw notFound('deleted subscription that can be restored');
    case 'conflict':
      throw subscriberTaken(result.subscriptionId);
    case 'restored':
      return result.subscription;
  }
}
