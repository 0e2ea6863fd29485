import { type RefusedRequest, subscriberTaken, toRefusal } from '../errors.ts';
import { toError } from '../../../shared/domain/errors.ts';
import { canonicalJson } from '../../../shared/domain/json.ts';
import { type Auth, redactedAuth } from '../../../shared/domain/subscription/auth.ts';
import { findAuth } from '../../../shared/domain/subscription/destination.ts';
import { redacted } from '../../../shared/domain/subscription/credential-headers.ts';
import { type Subscription, isPresent } from '../../../shared/domain/subscription/subscription.ts';
import type { SigningSecret } from '../../../shared/domain/subscription/signing-secret.ts';
import { requiresConfirmation } from './ask-confirmation.ts';
import { addToQueue, newSubscription, type SubscriptionRequest } from './subscribe.ts';
import type { ChangeContext } from '../dependencies.ts';
import { updateSubscription, type SubscriptionChange } from './change.ts';

export type ImportResult =
  /** `secret`: made for it, unless the request has secrets; it is not shown again. */
  | { kind: 'imported'; subscription: Subscription; secret?: SigningSecret }
  | { kind: 'replaced'; before: Subscription; subscription: Subscription }
  | { kind: 'unchanged'; subscription: Subscription }
  | { kind: 'refused'; refusal: RefusedRequest }
  /** An internal error. Usually nothing was imported. Otherwise a repeat reports it as unchanged, without a secret. */
  | { kind: 'failed'; fault: Error };

/**
 * The results, in order, of importing subscriptions with different subscribers, up to
 * `MAX_SUBSCRIPTIONS_PER_TRANSACTION`. Idempotent: an equal subscription stays unchanged. One with other content is refused, or with `replace` keeps its
 * secret and its age.
 * @throws an internal error before anything is written
 */
export async function importSubscriptions(
  context: ChangeContext,
  queue: string,
  { requests, replace }: { requests: readonly SubscriptionRequest[]; replace: boolean },
): Promise<readonly ImportResult[]> {
  const destinations = requests.map(({ destination }) => destination);
  const holders = await context.registry.findByDestinations(queue, destinations);
  const mustConfirm = await requiresConfirmation(context, queue);
  const now = context.clock.now();
  const settled = await Promise.allSettled(
    requests.map(async (request, index): Promise<ImportResult> => {
      const holder = holders[index];
      return isPresent(holder, now)
        ? importExisting(context, holder, request, replace)
        : { kind: 'imported', ...(await newSubscription(context, request, mustConfirm)) };
    }),
  );
  return addImported(
    context,
    settled.map((one) => (one.status === 'fulfilled' ? one.value : importFailure(one.reason))),
  );
}

/** The result of an import that threw. */
export function importFailure(error: unknown): ImportResult {
  const refusal = toRefusal(error);
  if (refusal !== undefined) return { kind: 'refused', refusal };
  return { kind: 'failed', fault: toError(error) };
}

/** Adds the new subscriptions, except those that another request has added since. */
async function addImported(
  context: ChangeContext,
  results: readonly ImportResult[],
): Promise<readonly ImportResult[]> {
  const imported = results.filter((result) => result.kind === 'imported');
  const added = await addToQueue(
    context,
    imported.map(({ subscription }) => subscription),
  ).catch(importFailure);
  return results.map((result) => {
    if (result.kind !== 'imported') return result;
    if ('kind' in added) return added;
    const own = added[imported.indexOf(result)];
    return own?.kind === 'conflict' ? importFailure(subscriberTaken(own.subscriptionId)) : result;
  });
}

/**
 * Compares what every caller sees. A result that told whether given credentials are the stored ones would let callers
 * guess them.
 * @throws RefusedRequest, UnknownCredentialsError, ContendedError
 */
async function importExisting(
  context: ChangeContext,
  current: Subscription,
  request: SubscriptionRequest,
  replace: boolean,
): Promise<ImportResult> {
  const { queue, id: subscriptionId } = current;
  const shown = shownKey(request, request.auth && redactedAuth(request.auth));
  const isEqual = shown === shownKey(current, findAuth(current.destination)?.shown);
  const hasCredentials = shown !== contentKey(request, request.auth);
  if (isEqual && !(replace && hasCredentials)) return { kind: 'unchanged', subscription: current };
  if (!replace) throw subscriberTaken(subscriptionId);
  const change = contentChange(current, request);
  const result = await updateSubscription(context, { queue, subscriptionId }, change);
  switch (result.kind) {
    case 'changed':
      return { kind: 'replaced', before: result.before, subscription: result.after };
    case 'left':
      return { kind: 'unchanged', subscription: result.current };
    case 'conflict':
    case 'missing':
      throw subscriberTaken(subscriptionId);
  }
}

type Content = Pick<SubscriptionRequest, 'name' | 'options' | 'ttl' | 'disabled'>;

/** `auth`: as shown. */
function shownKey(content: Content, auth: Auth | undefined): string {
  return contentKey({ ...content, options: redacted(content.options) }, auth);
}

/** Equal for equal content. Ignores the time of disabling and the spelling of the URL. */
function contentKey({ name, options, ttl, disabled }: Content, auth: Auth | undefined): string {
  return canonicalJson({
    name: name ?? null,
    options,
    auth: auth ?? null,
    ttl: ttl ?? null,
    disabled: disabled?.reason ?? null,
  });
}

/**
 * Replaces the whole content, including absent members. The subscriber stays, so it need not confirm again. Enabling one
 * that is enabled would clear its failures, and end its back-pressure.
 */
function contentChange(
  current: Subscription,
  { name, options, auth, ttl, disabled }: SubscriptionRequest,
): SubscriptionChange {
  const staysEnabled = current.disabled === undefined && disabled === undefined;
  return {
    name: name ?? null,
    options,
    ...(auth && { auth }),
    ttl: ttl ?? null,
    ...(!staysEnabled && { disabled: disabled ?? null }),
  };
}
