import * as z from 'zod';
import { secretText } from '../../../shared/domain/subscription/signing-secret.ts';
import { MAX_SUBSCRIBER_URL_LENGTH } from '../../../shared/domain/subscription/subscriber-url.ts';
import { isPresent, type Subscription } from '../../../shared/domain/subscription/subscription.ts';
import { notifyManuallyDisabled } from '../../../shared/steps/attempt-events.ts';
import { RESTORABLE_UNTIL, deletionHeaders } from '../../../shared/wire/views/archive.ts';
import {
  changedSubscriptionSchema,
  subscribedSchema,
  subscriptionView,
  subscriptionViewSchema,
  confirmationView,
} from '../../../shared/wire/views/subscription.ts';
import { deletionQuery, findRestorableUntil, withDeletionHeaders } from '../archives/deletion.ts';
import { type Caller, type Change, subscriptionDifference, subscriptionDigest } from '../audit.ts';
import type { ApiDependencies } from '../dependencies.ts';
import { findTypeWarnings } from '../event-types/warnings.ts';
import { type AddRoute, json, jsonAnswer, jsonBody, noBody, withLinks, withLocation } from '../route.ts';
import { notFound, subscriberTaken } from '../errors.ts';
import { presentQueue, presentSubscription } from '../existing.ts';
import { pageWithinAnswerSize, listing, zaqarPageQuery } from '../paging.ts';
import { isSubscriptionId, queuePath, subscriptionKey } from '../paths.ts';
import { requestsEndWithinSeconds } from '../pauses/pause.ts';
import { stoppedSubscription, stoppedView, viewOfSubscription } from '../pauses/routes.ts';
import { readJson } from '../request-json.ts';
import { sendOwedConfirmation } from './ask-confirmation.ts';
import { type ChangeResult, disableManually, unsubscribe, updateSubscription } from './change.ts';
import {
  describedSubscription,
  describedSubscriptionPatch,
  subscriptionFields,
  subscriptionPatch,
} from './request.ts';
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
const subscriptionListQuery = zaqarPageQuery.extend({
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

const subscriptionList = listing('subscriptions', subscriptionViewSchema);

const currentSubscription = json('The current subscription.', subscriptionViewSchema);

/** The routes that make, show, change and delete subscriptions. */
export function addSubscriptionRoutes(addRoute: AddRoute, dependencies: ApiDependencies): void {
  const { registry, clock, audit } = dependencies;

  addRoute({
    key: `POST ${SUBSCRIPTIONS}`,
    id: 'subscribe',
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
    handle: async ({ params: { queue }, raw, caller, publicUrl, tenant }) => {
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
  });

  addRoute({
    key: `GET ${SUBSCRIPTIONS}`,
    id: 'listSubscriptions',
    summary: 'Lists the subscriptions of a queue',
    query: subscriptionListQuery,
    answers: {
      200: withLinks(
        SUBSCRIPTION_OPERATIONS,
        { subscription: '$response.body#/subscriptions/0/id' },
        json('A page of subscriptions.', subscriptionList.schema),
      ),
    },
    handle: async ({ path, params, query: { match, ...request } }) => {
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
      return subscriptionList.answer(path, page, { limit: request.limit, match });
    },
  });

  addRoute({
    key: `GET ${SUBSCRIPTION}`,
    id: 'getSubscription',
    summary: 'Shows a subscription',
    answers: { 200: currentSubscription },
    handle: async ({ params }) => {
      const found = await presentSubscription(dependencies, subscriptionKey(params));
      return jsonAnswer(await viewOfSubscription(dependencies, found));
    },
  });

  addRoute({
    key: `PATCH ${SUBSCRIPTION}`,
    id: 'updateSubscription',
    summary: 'Changes the given fields of a subscription; `options` are replaced as a whole',
    description:
      'If the new `subscriber` has another origin (scheme, host or port), stored headers with credentials are dropped: send ' +
      'them in `options` of the same request. The subscription also gets a new signing secret, which only this response ' +
      'contains, unless `secret` is `keep`.',
    body: jsonBody(describedSubscriptionPatch),
    answers: {
      200: json(
        'The current subscription, and its signing secret if that is new.',
        changedSubscriptionSchema,
      ),
    },
    handle: async ({ params, raw, caller, publicUrl, tenant }) => {
      const patch = subscriptionPatch(readJson(raw.body).value, dependencies);
      const key = subscriptionKey(params);
      // Read first: if this fails, nothing is changed, and no new secret is lost.
      const warned = await findTypeWarnings(dependencies, key.queue, patch.options);
      const result = await updateSubscription(dependencies, key, {
        ...patch,
        isByTenant: tenant !== undefined,
      });
      const after = auditChange(caller, 'subscription_changed', result);
      const { secret } = result;
      if (secret !== undefined) audit(caller, { change: 'secret_rotated', ...key, scheme: secret.scheme });
      const asked = await sendOwedConfirmation(dependencies, after, publicUrl);
      const view = await viewOfSubscription(dependencies, asked);
      return jsonAnswer({ ...view, ...(secret && { secret: secretText(secret) }), ...warned });
    },
  });

  addRoute({
    key: `POST ${SUBSCRIPTION}/enable`,
    id: 'enableSubscription',
    summary: 'Enables a subscription: it receives messages again',
    answers: { 200: currentSubscription },
    handle: async ({ params, caller }) => {
      const result = await updateSubscription(dependencies, subscriptionKey(params), { disabled: null });
      const after = auditChange(caller, 'subscription_enabled', result);
      return jsonAnswer(await viewOfSubscription(dependencies, after));
    },
  });

  addRoute({
    key: `POST ${SUBSCRIPTION}/disable`,
    id: 'disableSubscription',
    summary: 'Disables a subscription: it receives nothing until it is enabled',
    answers: { 200: stoppedSubscription },
    handle: async ({ params, caller }) => {
      const result = await disableManually(dependencies, subscriptionKey(params));
      const after = auditChange(caller, 'subscription_disabled', result);
      await notifyManuallyDisabled(dependencies, after);
      return jsonAnswer(await stoppedView(dependencies, after));
    },
  });

  addRoute({
    key: `DELETE ${SUBSCRIPTION}`,
    id: 'unsubscribe',
    summary: 'Deletes a subscription, and cancels its pending deliveries',
    description: `Until the time in the header \`${RESTORABLE_UNTIL}\` it can be restored.`,
    query: deletionQuery,
    answers: { 204: withDeletionHeaders(noBody('The subscription is deleted, or did not exist.')) },
    handle: async ({ params: { queue, subscription: subscriptionId }, query, caller }) => {
      const restorableUntil = findRestorableUntil(dependencies, query);
      const before = isSubscriptionId(subscriptionId)
        ? await unsubscribe(dependencies, { queue, subscriptionId }, restorableUntil)
        : undefined;
      if (before === undefined) return { status: 204 };
      const change = { change: 'subscription_deleted', queue, subscriptionId } as const;
      audit(caller, { ...change, before: subscriptionDigest(before) });
      const requestsEnd = requestsEndWithinSeconds(dependencies.settings, { subscription: before });
      return { status: 204, headers: deletionHeaders(requestsEnd, before.restorableUntil) };
    },
  });

  type AuditedChange = Extract<Change, { before: unknown; after: unknown; subscriptionId: string }>['change'];

  /** Writes a change, if any, to the audit trail and returns the current subscription. @throws RefusedRequest */
  const auditChange = (caller: Caller, change: AuditedChange, result: ChangeResult): Subscription => {
    switch (result.kind) {
      case 'missing':
        throw notFound('such subscription');
      case 'conflict':
        throw subscriberTaken(result.subscriptionId);
      case 'left':
        return result.current;
      case 'changed': {
        const { queue, id: subscriptionId } = result.after;
        const difference = subscriptionDifference(result.before, result.after);
        audit(caller, { change, queue, subscriptionId, ...difference });
        return result.after;
      }
    }
  };
}
