import { secretText } from '../../../shared/domain/subscription/signing-secret.ts';
import type { Subscription } from '../../../shared/domain/subscription/subscription.ts';
import { notifyManuallyDisabled } from '../../../shared/steps/attempt-events.ts';
import {
  changedSubscriptionSchema,
  subscriptionViewSchema,
} from '../../../shared/wire/views/subscription.ts';
import { RESTORABLE_UNTIL, deletionHeaders } from '../../../shared/wire/views/archive.ts';
import { deletionQuery, findRestorableUntil, withDeletionHeaders } from '../archives/deletion.ts';
import { type Caller, type Change, subscriptionDifference, subscriptionDigest } from '../audit.ts';
import type { ApiDependencies } from '../dependencies.ts';
import { findTypeWarnings } from '../event-types/warnings.ts';
import { notFound, subscriberTaken } from '../errors.ts';
import { viewOfSubscription } from './routes.ts';
import { requestsEndWithinSeconds } from '../pauses/pause.ts';
import { stoppedSubscription, stoppedView } from '../pauses/routes.ts';
import { isSubscriptionId, subscriptionKey } from '../paths.ts';
import { readJson } from '../request-json.ts';
import { type AddRoute, json, jsonAnswer, jsonBody, noBody } from '../route.ts';
import { sendOwedConfirmation } from './ask-confirmation.ts';
import { type ChangeResult, disableManually, unsubscribe, updateSubscription } from './change.ts';
import { describedSubscriptionPatch, subscriptionPatch } from './request.ts';

const SUBSCRIPTION = '/v2/queues/{queue}/subscriptions/{subscription}';

const currentSubscription = json('The current subscription.', subscriptionViewSchema);

/** The routes that change or delete a subscription. */
export function addSubscriptionChangeRoutes(addRoute: AddRoute, dependencies: ApiDependencies): void {
  const { audit } = dependencies;

  addRoute(
    {
      method: 'PATCH',
      path: SUBSCRIPTION,
      id: 'updateSubscription',
      tag: 'subscriptions',
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
    },
    async ({ params, raw, caller, publicUrl, tenant }) => {
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
  );

  addRoute(
    {
      method: 'POST',
      path: `${SUBSCRIPTION}/enable`,
      id: 'enableSubscription',
      tag: 'subscriptions',
      summary: 'Enables a subscription: it receives messages again',
      answers: { 200: currentSubscription },
    },
    async ({ params, caller }) => {
      const result = await updateSubscription(dependencies, subscriptionKey(params), { disabled: null });
      const after = auditChange(caller, 'subscription_enabled', result);
      return jsonAnswer(await viewOfSubscription(dependencies, after));
    },
  );

  addRoute(
    {
      method: 'POST',
      path: `${SUBSCRIPTION}/disable`,
      id: 'disableSubscription',
      tag: 'subscriptions',
      summary: 'Disables a subscription: it receives nothing until it is enabled',
      answers: { 200: stoppedSubscription },
    },
    async ({ params, caller }) => {
      const result = await disableManually(dependencies, subscriptionKey(params));
      const after = auditChange(caller, 'subscription_disabled', result);
      await notifyManuallyDisabled(dependencies, after);
      return jsonAnswer(await stoppedView(dependencies, after));
    },
  );

  addRoute(
    {
      method: 'DELETE',
      path: SUBSCRIPTION,
      id: 'unsubscribe',
      tag: 'subscriptions',
      summary: 'Deletes a subscription, and cancels its pending deliveries',
      description: `Until the time in the header \`${RESTORABLE_UNTIL}\` it can be restored.`,
      query: deletionQuery,
      answers: { 204: withDeletionHeaders(noBody('The subscription is deleted, or did not exist.')) },
    },
    async ({ params: { queue, subscription: subscriptionId }, query, caller }) => {
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
  );

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
