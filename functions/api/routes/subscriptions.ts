import { absenceOf } from '../../../shared/domain/subscription.ts';
import type { Subscription } from '../../../shared/domain/subscription.ts';
import { subscribe } from '../../../shared/pipeline/administer-subscriptions.ts';
import type { Api, ApiDependencies } from '../dependencies.ts';
import { notFound, RefusedRequest } from '../error-answers.ts';
import { nextLinks, pageRequest } from '../paging.ts';
import { isSubscriptionId, queueName, queuePath } from '../paths.ts';
import { readJson } from '../request-json.ts';
import { subscriptionFields } from '../subscription-request.ts';

const SUBSCRIPTIONS = '/v2/queues/:queue/subscriptions';
const SUBSCRIPTION = `${SUBSCRIPTIONS}/:subscription` as const;

export const addSubscriptionRoutes = (api: Api, dependencies: ApiDependencies): void => {
  const { registry, clock, audit } = dependencies;

  api.post(SUBSCRIPTIONS, async (context) => {
    const queue = queueName(context.req.param('queue'));
    const fields = subscriptionFields((await readJson(context.req)).value, dependencies);
    const result = await subscribe(dependencies, { queue, ...fields });
    if (result.kind === 'conflict') {
      throw new RefusedRequest(
        'conflict',
        `the queue has this subscriber: subscription ${result.subscriptionId}`,
        [{ field: 'subscriber', message: 'is on this queue already' }],
      );
    }
    const { id } = result.subscription;
    audit(context.env.caller, { change: 'subscription_created', queue, subscriptionId: id });
    return context.json({ subscription_id: id }, 201, { location: `${subscriptionsPath(queue)}/${id}` });
  });

  api.get(SUBSCRIPTIONS, async (context) => {
    const queue = queueName(context.req.param('queue'));
    const request = pageRequest(context.req.query());
    if ((await registry.findQueue(queue)) === undefined) throw notFound('such queue');
    const page = await registry.listSubscriptions(queue, request);
    const now = clock.now();
    return context.json({
      subscriptions: page.items
        .filter((item) => isThere(item, now))
        .map((item) => subscriptionView(item, now)),
      links: nextLinks(subscriptionsPath(queue), page, { limit: request.limit }),
    });
  });

  api.get(SUBSCRIPTION, async (context) => {
    const queue = queueName(context.req.param('queue'));
    const id = context.req.param('subscription');
    const found = isSubscriptionId(id) ? await registry.findSubscription(queue, id) : undefined;
    if (found === undefined || !isThere(found, clock.now())) throw notFound('such subscription');
    return context.json(subscriptionView(found, clock.now()));
  });

  api.delete(SUBSCRIPTION, async (context) => {
    const queue = queueName(context.req.param('queue'));
    const id = context.req.param('subscription');
    if (isSubscriptionId(id)) {
      await registry.deleteSubscription(queue, id);
      audit(context.env.caller, { change: 'subscription_deleted', queue, subscriptionId: id });
    }
    return context.body(null, 204);
  });
};

const subscriptionsPath = (queue: string): string => `${queuePath(queue)}/subscriptions`;

/** The table forgets an expired one within days; for callers it is gone at once. */
const isThere = (subscription: Subscription, now: number): boolean =>
  absenceOf(subscription, now) !== 'subscription_expired';

/** Zaqar's form; `ttl` and `age` are seconds, and a `ttl` of null is for ever. */
const subscriptionView = (subscription: Subscription, now: number) => {
  const { id, queue, subscriber, ttl, options, createdAt, disabled } = subscription;
  return {
    id,
    source: queue,
    subscriber,
    ttl: ttl ?? null,
    age: Math.max(0, Math.floor((now - createdAt) / 1000)),
    options,
    ...(disabled && { disabled: { reason: disabled.reason, at: new Date(disabled.at).toISOString() } }),
  };
};
