import * as z from 'zod';
import { continuePause } from '../../../shared/steps/continue-pause.ts';
import { measureAmount } from '../../../shared/domain/subscription/room.ts';
import type { Subscription, SubscriptionKey } from '../../../shared/domain/subscription/subscription.ts';
import { archivedSubscriptionSchema, archivedSubscriptionView } from '../../../shared/wire/views/archive.ts';
import { subscriptionViewSchema } from '../../../shared/wire/views/subscription.ts';
import { subscriptionDigest } from '../audit.ts';
import type { ApiDependencies } from '../dependencies.ts';
import { notFound, subscriberTaken } from '../errors.ts';
import { existingQueue, viewOfSubscription } from '../existing.ts';
import { linksSchema, nextLinks, pageQuery } from '../paging.ts';
import { queuePath, subscriptionKey } from '../paths.ts';
import { CHANGED_WITHIN_SECONDS } from '../pauses/pause.ts';
import { parseWith } from '../request-json.ts';
import { type AddRoute, json, jsonAnswer } from '../route.ts';
import { takeRoom } from './subscribe.ts';

const archivedSubscriptionsSchema = z.object({
  subscriptions: z.array(archivedSubscriptionSchema),
  links: linksSchema,
});

export function addSubscriptionArchiveRoutes(addRoute: AddRoute, dependencies: ApiDependencies): void {
  const { registry, clock, audit } = dependencies;

  addRoute(
    {
      method: 'GET',
      path: '/v2/queues/{queue}/archived-subscriptions',
      id: 'listArchivedSubscriptions',
      tag: 'subscriptions',
      summary: 'Lists deleted subscriptions of a queue that can be restored',
      query: pageQuery,
      answers: { 200: json('A page of deleted subscriptions.', archivedSubscriptionsSchema) },
    },
    async (context) => {
      const request = parseWith(pageQuery, context.query);
      const queue = await existingQueue(dependencies, context.params.queue);
      const page = await registry.listArchivedSubscriptions(queue, request, clock.now());
      const path = `${queuePath(queue)}/archived-subscriptions`;
      return jsonAnswer({
        subscriptions: page.items.map(archivedSubscriptionView),
        links: nextLinks(path, page, { limit: request.limit }),
      } satisfies z.input<typeof archivedSubscriptionsSchema>);
    },
  );

  addRoute(
    {
      method: 'POST',
      path: '/v2/queues/{queue}/subscriptions/{subscription}/restore',
      id: 'restoreSubscription',
      tag: 'subscriptions',
      summary: 'Restores a deleted subscription, with its id and secrets',
      description: 'A recovery then sends what the deletion cancelled.',
      answers: { 200: json('The restored subscription.', subscriptionViewSchema) },
    },
    async (context) => {
      const key = subscriptionKey(context.params);
      await existingQueue(dependencies, key.queue);
      const restored = await restoreSubscription(dependencies, key);
      const after = subscriptionDigest(restored);
      audit(context.caller, { change: 'subscription_restored', ...key, after });
      return jsonAnswer(await viewOfSubscription(dependencies, restored));
    },
  );
}

type RestoreContext = Pick<ApiDependencies, 'registry' | 'clock' | 'settings' | 'operations'>;

/** @throws RefusedRequest if it cannot be restored, another subscription has its subscriber, or the queue is full */
async function restoreSubscription(context: RestoreContext, key: SubscriptionKey): Promise<Subscription> {
  const { registry, clock } = context;
  const target = { ...key, now: clock.now() };
  const archived = await registry.findArchivedSubscription(target);
  if (archived === undefined) throw notFound('deleted subscription that can be restored');
  // Until its record is removed, the deleted one still counts.
  const isCounted = (await registry.findSubscription(key.queue, key.subscriptionId)) !== undefined;
  if (!isCounted) await takeRoom(context, key.queue, measureAmount([archived.subscription]));
  // Sent first: a crash between the two must not leave deliveries waiting.
  await continuePause(context, key, archived.subscription, CHANGED_WITHIN_SECONDS);
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
