import { withOptions } from '../../../shared/domain/message/matching.ts';
import { unredacted, withoutCredentials } from '../../../shared/domain/subscription/credential-headers.ts';
import { isRaised, withLimitDated } from '../../../shared/domain/subscription/rate-limit.ts';
import { type Destination, hasNewOrigin, withAuth } from '../../../shared/domain/subscription/destination.ts';
import type { TENANT_OPTIONS } from '../../../shared/domain/portal/limits.ts';
import { asEnabled, endsPressure, hasMoved, moveTo } from '../../../shared/domain/subscription/change.ts';
import { makeSecret, type SigningSecret } from '../../../shared/domain/subscription/signing-secret.ts';
import {
  type Disabled,
  type Subscription,
  type SubscriptionKey,
  type SubscriptionOptions,
  isPresent,
} from '../../../shared/domain/subscription/subscription.ts';
import type { RegistryChange, SubscriberConflict } from '../../../shared/ports/subscriptions.ts';
import { countBytes } from '../../../shared/domain/subscription/room.ts';
import type { ChangeContext } from '../dependencies.ts';
import { invalidFields } from '../errors.ts';
import { takeRoom, type SubscriptionRequest } from './subscribe.ts';
import { canConfirm, requiresConfirmation, newConfirmation } from './ask-confirmation.ts';
import { type AuthChange, authChange, withAuthChange } from './seal-auth.ts';

/**
 * Absent members stay unchanged. `name: null` removes it. `ttl`: seconds from now, or `null` for no expiry.
 * `disabled: null` enables, ends back-pressure, and is written even if it is enabled, because deliver may be about to
 * disable it for an earlier 410. `auth` belongs to `options`, which remove it if they come without. `secret`: a subscriber
 * at another origin keeps the signing secret. `isByTenant`: options that only operators set stay as they are.
 */
export type SubscriptionChange = Partial<Pick<SubscriptionRequest, 'destination' | 'options' | 'auth'>> & {
  [Field in 'name' | 'ttl' | 'disabled']?: Subscription[Field] | null;
} & { secret?: 'keep'; isByTenant?: boolean };

/** `secret`: the new one, if the change created one. It is not shown again. */
export type UpdateResult = ChangeResult & { secret?: SigningSecret };

export type ChangeResult = RegistryChange<Subscription> | SubscriberConflict;

/**
 * Changes a subscription. A redacted header keeps its value. A new subscriber must confirm where confirmation is
 * required or still pending. A subscriber at another origin gets neither the stored credentials nor, by default, the
 * signing secret.
 * @throws UnknownCredentialsError, ContendedError, RefusedRequest where the queue is full
 */
export async function updateSubscription(
  context: ChangeContext,
  key: SubscriptionKey,
  change: SubscriptionChange,
): Promise<UpdateResult> {
  const prepared = await prepareUpdate(context, key, change);
  const { destination } = prepared;
  return destination === undefined
    ? changePresent(context, key, createEdit(prepared, context.clock.now()))
    : changeDestination(context, key, { ...prepared, destination });
}

async function changeDestination(
  context: ChangeContext,
  key: SubscriptionKey,
  change: PreparedChange & { destination: Destination },
): Promise<UpdateResult> {
  const { destination } = change;
  const { unconfirmed } = newConfirmation(context);
  const mustConfirmNew = await requiresConfirmation(context, key.queue);
  const secret = makeSecret('v1', context.randomBytes);
  const sealed = await context.secretSealer.seal(key, secret);
  const edit = createEdit(change, context.clock.now());
  const result = await changePresent(context, key, (current) => {
    // Deliveries that wait to be received would have no job and no wake-up that sends them.
    if (current.destination.kind !== destination.kind) {
      const message = 'cannot change between pull: and a URL; create another subscription';
      throw invalidFields([{ field: 'subscriber', message }]);
    }
    const isRotated = change.secret !== 'keep' && hasNewOrigin(current.destination, destination);
    const after = { ...edit(current), ...(isRotated && { secrets: [{ sealed }] }) };
    if (!mustConfirm(current, after, mustConfirmNew)) return after;
    // Keeps the time of the first request for confirmation.
    return { ...after, unconfirmed: { ...unconfirmed, at: current.unconfirmed?.at ?? unconfirmed.at } };
  });
  const isRotated = result.kind === 'changed' && result.after.secrets?.[0]?.sealed === sealed;
  return isRotated ? { ...result, secret } : result;
}

/** How long operate waits for the change to be written. Its second pass covers slower writes. */
export const CHANGED_WITHIN_SECONDS = 2;

/** `auth`: undefined where it stays. */
type PreparedChange = Omit<SubscriptionChange, 'auth'> & { auth: AuthChange | undefined };

/**
 * Seals new credentials. Reserves room in the queue if the change makes the subscription larger. If it raises the rate
 * limit or ends back-pressure, sends an operation by which waiting deliveries move up.
 */
async function prepareUpdate(
  context: ChangeContext,
  { queue, subscriptionId }: SubscriptionKey,
  change: SubscriptionChange,
): Promise<PreparedChange> {
  const current = await context.registry.findSubscription(queue, subscriptionId);
  if (current === undefined) return { ...change, auth: undefined };
  const auth = change.isByTenant === true ? undefined : await authChange(context, current, change);
  const prepared = { ...change, auth };
  const after = createEdit(prepared, context.clock.now())(current);
  const growth = countBytes(after) - countBytes(current);
  if (growth > 0) await takeRoom(context, queue, { subscriptions: 0, bytes: growth });
  // Sent before the change: a crash between the two must not leave deliveries waiting for the old pace.
  if (isRaised(current.options, after.options) || endsPressure(current, after))
    await context.operations.send({ kind: 'moving_up', queue, subscriptionId }, CHANGED_WITHIN_SECONDS);
  return prepared;
}

function mustConfirm(before: Subscription, after: Subscription, mustConfirmNew: boolean): boolean {
  return (
    canConfirm(after.destination) &&
    (before.unconfirmed !== undefined || (mustConfirmNew && hasMoved(before, after)))
  );
}

/** Disables a subscription. One that is already disabled keeps its reason. */
export function disableManually(context: ChangeContext, key: SubscriptionKey): Promise<ChangeResult> {
  const disabled: Disabled = { reason: 'manual', at: context.clock.now() };
  return changePresent(context, key, (current) =>
    current.disabled === undefined ? { ...current, disabled } : current,
  );
}

/**
 * Deletes a subscription at once; operate then cancels its pending deliveries. Undefined: it did not exist.
 * `restorableUntil`: leaves an archive until then.
 * @throws when the operation could not be sent; a repeat sends it
 */
export async function unsubscribe(
  { registry, clock, operations }: ChangeContext,
  key: SubscriptionKey,
  restorableUntil?: number,
): Promise<Subscription | undefined> {
  const marked = await registry.markDeleted({ ...key, now: clock.now() }, restorableUntil);
  if (marked?.deletedAt !== undefined)
    await operations.send({ kind: 'cancellation', ...key, deletedAt: marked.deletedAt });
  return marked;
}

/** Treats a deleted or expired subscription as missing. */
export async function changePresent(
  { registry, clock }: ChangeContext,
  key: SubscriptionKey,
  change: (current: Subscription) => Subscription | undefined,
): Promise<ChangeResult> {
  const now = clock.now();
  const result = await registry.changeSubscription({ ...key, now }, (current) =>
    isPresent(current, now) ? change(current) : undefined,
  );
  return result.kind === 'left' && !isPresent(result.current, now) ? { kind: 'missing' } : result;
}

function createEdit(change: PreparedChange, now: number) {
  return (current: Subscription): Subscription => {
    const { name, destination, ttl, disabled } = change;
    const named = withName(name, current);
    const moved = destination === undefined ? named : moveTo(destination, named, now);
    const timed = ttl === undefined ? moved : withTtl(ttl, moved, now);
    const kept =
      destination !== undefined && hasNewOrigin(current.destination, destination)
        ? withoutStoredCredentials(timed)
        : timed;
    const edited = withAuthChange(change.auth, withNewOptions(change, kept, now), current);
    if (disabled === undefined) return edited;
    return disabled === null ? asEnabled(edited, now) : { ...edited, disabled };
  };
}

/** As they are stored now: an operator may change them at the same time. */
function operatorOptions({ options }: Subscription): SubscriptionOptions {
  const { event_types: _types, filter: _filter, max_per_second: _rate, ...others } = options;
  // Fails where a tenant may set one more.
  return others satisfies SubscriptionOptions & Partial<Record<(typeof TENANT_OPTIONS)[number], never>>;
}

function withName(name: SubscriptionChange['name'], current: Subscription): Subscription {
  if (typeof name === 'string') return { ...current, name };
  const { name: _, ...unnamed } = current;
  return name === null ? unnamed : { ...current };
}

function withNewOptions(change: PreparedChange, current: Subscription, now: number): Subscription {
  if (change.options === undefined) return current;
  const kept = change.isByTenant === true ? operatorOptions(current) : {};
  const options = { ...kept, ...change.options };
  return withLimitDated(current, withOptions(current, unredacted(options, current.options), now), now);
}

function withoutStoredCredentials(subscription: Subscription): Subscription {
  const { destination, options } = subscription;
  return {
    ...subscription,
    destination: withAuth(destination, undefined),
    options: withoutCredentials(options),
  };
}

function withTtl(ttl: number | null, current: Subscription, now: number): Subscription {
  if (ttl !== null) return { ...current, ttl, expiresAt: now + ttl * 1000 };
  const { ttl: _ttl, expiresAt: _end, ...endless } = current;
  return endless;
}
