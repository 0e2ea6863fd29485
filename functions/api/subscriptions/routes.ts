import type * as z from 'zod';
import { isThere, type Subscription } from '../../../shared/domain/subscription/subscription.ts';
import { secretText } from '../../../shared/domain/subscription/signing-secret.ts';
import { subscriptionView, waitingView } from '../../../shared/wire/views/subscription.ts';
import { subscribe } from './subscribe.ts';
import { askIfOwed } from './ask-confirmation.ts';
import { disableByHand, enable, unsubscribe, updateSubscription, type ChangeResult } from './change.ts';
import { tellDisabledByHand } from '../../../shared/steps/notify-operator.ts';
import { fittingPage } from '../answer-size.ts';
import { subscriptionDifference, subscriptionDigest } from '../audit-digest.ts';
import type { Caller, Change } from '../audit.ts';
import type { Api, ApiDependencies } from '../dependencies.ts';
import { notFound } from '../errors.ts';
import { nextLinks, pageRequest } from '../paging.ts';
import { isSubscriptionId, queueName, queuePath, subscriptionName } from '../paths.ts';
import { readJson } from '../request-json.ts';
import { type subscribedSchema, subscriberTaken, type subscriptionListSchema } from './answers.ts';
import { subscriptionFields, subscriptionPatch } from './request.ts';

const SUBSCRIPTIONS = '/v2/queues/:queue/subscriptions';
const SUBSCRIPTION = `${SUBSCRIPTIONS}/:subscription` as const;

export function addSubscriptionRoutes(api: Api, dependencies: ApiDependencies): void {
  const { registry, clock, audit } = dependencies;

  api.post(SUBSCRIPTIONS, async (context) => {
    const queue = queueName(context.req.param('queue'));
    const fields = subscriptionFields((await readJson(context.req)).value, dependencies);
    const { caller, publicUrl } = context.env;
    const result = await subscribe(dependencies, { queue, ...fields });
    if (result.kind === 'conflict') {
      const holder = await registry.findSubscription(queue, result.subscriptionId);
      if (holder !== undefined) await askIfOwed(dependencies, holder, publicUrl);
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
      secret: secretText(secret),
      ...waitingView(await askIfOwed(dependencies, subscription, publicUrl)),
    };
    return context.json(answer, 201, { location: `${subscriptionsPath(queue)}/${id}` });
  });

  api.get(SUBSCRIPTIONS, async (context) => {
    const queue = queueName(context.req.param('queue'));
    const request = pageRequest(context.req.query());
    if ((await registry.findQueue(queue)) === undefined) throw notFound('such queue');
    const now = clock.now();
    const page = await fittingPage(
      request,
      async (asked) => {
        const { items, ...rest } = await registry.listSubscriptions(queue, asked);
        return { ...rest, items: items.filter((item) => isThere(item, now)) };
      },
      (item) => subscriptionView(item, now),
    );
    const answer: z.input<typeof subscriptionListSchema> = {
      subscriptions: [...page.items],
      links: [...nextLinks(subscriptionsPath(queue), page, { limit: request.limit })],
    };
    return context.json(answer);
  });

  api.get(SUBSCRIPTION, async (context) => {
    const { queue, subscriptionId } = subscriptionName(context.req.param());
    const found = await registry.findSubscription(queue, subscriptionId);
    const now = clock.now();
    if (!isThere(found, now)) throw notFound('such subscription');
    return context.json(subscriptionView(found, now));
  });

  api.patch(SUBSCRIPTION, async (context) => {
    const { caller, publicUrl } = context.env;
    const patch = subscriptionPatch((await readJson(context.req)).value, dependencies);
    const name = subscriptionName(context.req.param());
    const result = await updateSubscription(dependencies, name, patch);
    const { after } = noted(caller, 'subscription_changed', result);
    const asked = await askIfOwed(dependencies, after, publicUrl);
    return context.json(subscriptionView(asked, clock.now()));
  });

  api.post(`${SUBSCRIPTION}/enable`, async (context) => {
    const result = await enable(dependencies, subscriptionName(context.req.param()));
    const { after } = noted(context.env.caller, 'subscription_enabled', result);
    return context.json(subscriptionView(after, clock.now()));
  });

  api.post(`${SUBSCRIPTION}/disable`, async (context) => {
    const result = await disableByHand(dependencies, subscriptionName(context.req.param()));
    const { after } = noted(context.env.caller, 'subscription_disabled', result);
    await tellDisabledByHand(dependencies, after);
    return context.json(subscriptionView(after, clock.now()));
  });

  api.delete(SUBSCRIPTION, async (context) => {
    const queue = queueName(context.req.param('queue'));
    const subscriptionId = context.req.param('subscription');
    const before = isSubscriptionId(subscriptionId)
      ? await unsubscribe(dependencies, { queue, subscriptionId })
      : undefined;
    if (before !== undefined) {
      const change = { change: 'subscription_deleted', queue, subscriptionId } as const;
      audit(context.env.caller, { ...change, before: subscriptionDigest(before) });
    }
    return context.body(null, 204);
  });

  type Named = Extract<Change, { before: unknown; after: unknown; subscriptionId: string }>['change'];

  /** The subscription after a change, which is on the trail if it was one. @throws RefusedRequest */
  const noted = (caller: Caller, change: Named, result: ChangeResult): { after: Subscription } => {
    switch (result.kind) {
      case 'missing':
        throw notFound('such subscription');
      case 'conflict':
        throw subscriberTaken(result.subscriptionId);
      case 'left':
        return { after: result.current };
      case 'changed': {
        const { queue, id: subscriptionId } = result.after;
        const difference = subscriptionDifference(result.before, result.after);
        audit(caller, { change, queue, subscriptionId, ...difference });
        return { after: result.after };
      }
    }
  };
}

function subscriptionsPath(queue: string): string {
  return `${queuePath(queue)}/subscriptions`;
}
