import * as z from 'zod';
import { secretText } from '../../../shared/domain/subscription/signing-secret.ts';
import { MAX_SUBSCRIBER_URL_LENGTH } from '../../../shared/domain/subscription/subscriber-url.ts';
import { isPresent, type Subscription } from '../../../shared/domain/subscription/subscription.ts';
import {
  subscribedSchema,
  type SubscriptionView,
  subscriptionView,
  subscriptionViewSchema,
  confirmationView,
} from '../../../shared/wire/views/subscription.ts';
import { subscriptionDigest } from '../audit.ts';
import type { ApiDependencies } from '../dependencies.ts';
import { findTypeWarnings } from '../event-types/warnings.ts';
import { type AddRoute, json, jsonAnswer, jsonBody, withLinks, withLocation } from '../route.ts';
import { subscriberTaken } from '../errors.ts';
import { presentQueue, presentSubscription } from '../existing.ts';
import { pageWithinAnswerSize, linksSchema, nextLinks, pageQuery } from '../paging.ts';
import { queuePath, subscriptionKey } from '../paths.ts';
import { readJson } from '../request-json.ts';
import { sendOwedConfirmation } from './ask-confirmation.ts';
import { describedSubscription, subscriptionFields } from './request.ts';
import { subscribe } from './subscribe.ts';

const SUBSCRIPTIONS = '/v2/queues/{queue}/subscriptions';
const SUBSCRIPTION = `${SUBSCRIPTIONS}/{subscription}` as const;

const SUBSCRIPTION_OPERATIONS = [
  'getSubscription',
  'updateSubscription',
  'unsubscribe',
  'enableSubscription',
  'disableSubscription',
  'rotateSecret',
  'testSubscription',
];

/** `match`: may be a whole URL. */
const subscriptionListQuery = pageQuery.extend({
  match: z
    .string()
    .min(1)
    .max(MAX_SUBSCRIBER_URL_LENGTH)
    .describe(
      'Lists only subscriptions whose id starts with this text, or whose name or URL contains it (case-sensitive). ' +
        'A page may be short, even empty; follow its link.',
    )
    .exactOptional(),
});

const subscriptionListSchema = z.object({
  subscriptions: z.array(subscriptionViewSchema),
  links: linksSchema,
});

export function addSubscriptionRoutes(addRoute: AddRoute, dependencies: ApiDependencies): void {
  const { registry, clock, audit } = dependencies;

  addRoute(
    {
      method: 'POST',
      path: SUBSCRIPTIONS,
      id: 'subscribe',
      tag: 'subscriptions',
      summary: 'Creates a subscription',
      description:
        'Only this response contains the signing secret. Creates the queue if it does not exist. If `confirmation` is `owed`, the ' +
        'confirmation request could not be sent: PATCH the subscription with the same `subscriber` to send it again.',
      body: jsonBody(describedSubscription),
      answers: {
        201: withLinks(
          SUBSCRIPTION_OPERATIONS,
          { subscription: '$response.body#/subscription_id' },
          withLocation(json('The id and the signing secret of the subscription.', subscribedSchema)),
        ),
      },
    },
    async ({ params: { queue }, raw, caller, publicUrl, tenant }) => {
      const fields = subscriptionFields(readJson(raw.body).value, dependencies);
      const warned = await findTypeWarnings(dependencies, queue, fields.options);
      const result = await subscribe(dependencies, { queue, ...fields }, tenant);
      if (result.kind === 'conflict') {
        const holder = await registry.findSubscription(queue, result.subscriptionId);
        if (holder !== undefined) await sendOwedConfirmation(dependencies, holder, publicUrl);
        throw subscriberTaken(result.subscriptionId);
      }
      const { subscription, secret } = result;
      const { id } = subscription;
      audit(caller, {
        change: 'subscription_created',
        queue,
        subscriptionId: id,
        after: subscriptionDigest(subscription),
      });
      const answer: z.input<typeof subscribedSchema> = {
        subscription_id: id,
        ...(secret && { secret: secretText(secret) }),
        ...confirmationView(await sendOwedConfirmation(dependencies, subscription, publicUrl)),
        ...warned,
      };
      return jsonAnswer(answer, 201, { location: `${queuePath(queue)}/subscriptions/${id}` });
    },
  );

  addRoute(
    {
      method: 'GET',
      path: SUBSCRIPTIONS,
      id: 'listSubscriptions',
      tag: 'subscriptions',
      summary: 'Lists the subscriptions of a queue',
      query: subscriptionListQuery,
      answers: {
        200: withLinks(
          SUBSCRIPTION_OPERATIONS,
          { subscription: '$response.body#/subscriptions/0/id' },
          json('A page of subscriptions.', subscriptionListSchema),
        ),
      },
    },
    async ({ path, params, query: { match, ...request } }) => {
      const found = await presentQueue(dependencies, params.queue);
      const { name: queue } = found;
      const now = clock.now();
      const page = await pageWithinAnswerSize(
        request,
        async (asked) => {
          const { items, ...rest } = await registry.listSubscriptions(queue, asked, match);
          return { ...rest, items: items.filter((item) => isPresent(item, now)) };
        },
        (item) => subscriptionView(item, now, found),
      );
      return jsonAnswer({
        subscriptions: page.items,
        links: nextLinks(path, page, { limit: request.limit, match }),
      } satisfies z.input<typeof subscriptionListSchema>);
    },
  );

  addRoute(
    {
      method: 'GET',
      path: SUBSCRIPTION,
      id: 'getSubscription',
      tag: 'subscriptions',
      summary: 'Shows a subscription',
      answers: { 200: json('The current subscription.', subscriptionViewSchema) },
    },
    async ({ params }) => {
      const found = await presentSubscription(dependencies, subscriptionKey(params));
      return jsonAnswer(await viewOfSubscription(dependencies, found));
    },
  );
}

/** A subscription of a path as callers see it, with the pause of its queue. */
export async function viewOfSubscription(
  { registry, clock }: Pick<ApiDependencies, 'registry' | 'clock'>,
  subscription: Subscription,
): Promise<SubscriptionView> {
  return subscriptionView(subscription, clock.now(), await registry.findQueue(subscription.queue));
}
