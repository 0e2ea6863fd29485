import { withOptions } from '../../../shared/domain/message/addressees.ts';
import { isTokenOf } from '../../../shared/domain/subscription/confirmation.ts';
import { unredacted, withoutCredentials } from '../../../shared/domain/subscription/credential-headers.ts';
import { isRaised, withLimitDated } from '../../../shared/domain/subscription/rate-limit.ts';
import { asEnabled, hasMoved, hasNewOrigin, moveTo } from '../../../shared/domain/subscription/change.ts';
import { makeSecret, type SigningSecret } from '../../../shared/domain/subscription/signing-secret.ts';
import {
  type Disabled,
  type Subscription,
  type SubscriptionOptions,
  isPresent,
} from '../../../shared/domain/subscription/subscription.ts';
import type { Clock } from '../../../shared/ports/clock.ts';
import type { Operations } from '../../../shared/ports/queues.ts';
import type { Registry, RegistryChange, SecretSealer } from '../../../shared/ports/subscriptions.ts';
import { bytesOf } from '../../../shared/domain/subscription/room.ts';
import { type RoomContext, takeRoom } from './room.ts';
import { requiresConfirmation, newConfirmation, type ConfirmationContext } from './ask-confirmation.ts';

export type ChangeContext = {
  registry: Pick<Registry, 'changeSubscription'>;
  clock: Pick<Clock, 'now'>;
};

export type SubscriptionName = { queue: string; subscriptionId: string };

/**
 * Absent members stay unchanged. `ttl`: seconds from now, `null` for no end. `disabled: null` enables. `secret`: the one that
 * is there goes on signing for a subscriber at another origin.
 */
export type SubscriptionChange = {
  subscriber?: string;
  secret?: 'keep';
  ttl?: number | null;
  options?: SubscriptionOptions;
  disabled?: Disabled | null;
};

export type UpdateContext = ChangeContext &
  ConfirmationContext &
  RoomContext & {
    registry: Pick<Registry, 'findSubscription'>;
    secretSealer: SecretSealer;
    operations: Operations;
  };

/** `secret`: the new one, where the change made one. It is not shown again. */
export type UpdateResult = ChangeResult & { secret?: SigningSecret };

export type ChangeResult = RegistryChange<Subscription> | { kind: 'conflict'; subscriptionId: string };

/**
 * Changes a subscription. A redacted header keeps its value. A new subscriber has to confirm where confirmation is
 * required, and an unconfirmed one has to confirm again; `sendOwedConfirmation` sends the link. One at another origin gets
 * neither the credentials that were given for the one before nor requests signed with its secret. What waits for a limit that
 * rises moves up.
 * @throws UnknownCredentialsError, ContendedError, RefusedRequest where the queue has no room for it
 */
export async function updateSubscription(
  context: UpdateContext,
  name: SubscriptionName,
  change: SubscriptionChange,
): Promise<UpdateResult> {
  const { subscriber, options } = change;
  if (subscriber !== undefined || options !== undefined) await prepare(context, name, change);
  return subscriber === undefined
    ? changePresent(context, name, editOf(change, context.clock.now()))
    : move(context, name, { ...change, subscriber });
}

async function move(
  context: UpdateContext,
  name: SubscriptionName,
  change: SubscriptionChange & { subscriber: string },
): Promise<UpdateResult> {
  const { subscriber } = change;
  const { unconfirmed } = newConfirmation(context);
  const mustConfirmNew = await requiresConfirmation(context, name.queue);
  const secret = makeSecret('v1', context.randomBytes);
  const sealed = await context.secretSealer.seal(name, secret);
  const edit = editOf(change, context.clock.now());
  const result = await changePresent(context, name, (current) => {
    const isRotated = change.secret !== 'keep' && hasNewOrigin(current, subscriber);
    const after = { ...edit(current), ...(isRotated && { secrets: [{ sealed }] }) };
    if (!mustConfirm(current, after, mustConfirmNew)) return after;
    // It stays unconfirmed since the first link.
    return { ...after, unconfirmed: { ...unconfirmed, at: current.unconfirmed?.at ?? unconfirmed.at } };
  });
  const isRotated = result.kind === 'changed' && result.after.secrets?.[0]?.sealed === sealed;
  return isRotated ? { ...result, secret } : result;
}

/** For as long operate waits for the change to be made; its second pass finds one that took longer. */
const CHANGED_WITHIN_SECONDS = 2;

/**
 * What has to be done before a subscription is changed, by what it is then: room for what grows, and where the limit of its rate
 * rises an order for operate, so that what waits for it moves up.
 */
async function prepare(
  context: UpdateContext,
  { queue, subscriptionId }: SubscriptionName,
  change: SubscriptionChange,
): Promise<void> {
  const current = await context.registry.findSubscription(queue, subscriptionId);
  if (current === undefined) return;
  const growth = bytesOf(editOf(change, context.clock.now())(current)) - bytesOf(current);
  if (growth > 0) await takeRoom(context, queue, { subscriptions: 0, bytes: growth });
  // Before the change, so that no crash leaves it without its order.
  if (change.options !== undefined && isRaised(current.options, change.options))
    await context.operations.send({ kind: 'moving_up', queue, subscriptionId }, CHANGED_WITHIN_SECONDS);
}

function mustConfirm(before: Subscription, after: Subscription, mustConfirmNew: boolean): boolean {
  return before.unconfirmed !== undefined || (mustConfirmNew && hasMoved(before, after));
}

/** A subscription that is disabled already keeps its reason. */
export function disableManually(context: ChangeContext, name: SubscriptionName): Promise<ChangeResult> {
  const disabled: Disabled = { reason: 'manual', at: context.clock.now() };
  return changePresent(context, name, (current) =>
    current.disabled === undefined ? { ...current, disabled } : current,
  );
}

/** Writes even if it is enabled: deliver may be about to disable it because of an earlier 410. */
export function enable(context: ChangeContext, name: SubscriptionName): Promise<ChangeResult> {
  const now = context.clock.now();
  return changePresent(context, name, (current) => asEnabled(current, now));
}

/** Whether the token is that of the link; each confirms once. */
export async function confirm(
  context: ChangeContext,
  name: SubscriptionName,
  token: string,
): Promise<boolean> {
  const confirmedAt = context.clock.now();
  const result = await changePresent(context, name, ({ unconfirmed, ...subscription }) =>
    unconfirmed !== undefined && isTokenOf(unconfirmed, token) ? { ...subscription, confirmedAt } : undefined,
  );
  return result.kind === 'changed';
}

/**
 * Confirms by hand, or takes a confirmation back: then nothing is sent until somebody confirms it. One that is as was asked
 * stays as it is.
 */
export function setConfirmed(
  context: ChangeContext & ConfirmationContext,
  name: SubscriptionName,
  confirmed: boolean,
): Promise<ChangeResult> {
  const now = context.clock.now();
  const { tokenHash, at } = newConfirmation(context).unconfirmed;
  return changePresent(context, name, ({ unconfirmed, ...subscription }) => {
    if (confirmed) return unconfirmed && { ...subscription, confirmedAt: now };
    return unconfirmed === undefined ? { ...subscription, unconfirmed: { tokenHash, at } } : undefined;
  });
}

/**
 * Deletes a subscription at once; operate then cancels its pending deliveries. Undefined: there was none.
 * @throws when the order for operate could not be sent; a repeat sends it
 */
export async function unsubscribe(
  {
    registry,
    clock,
    operations,
  }: {
    registry: Pick<Registry, 'markDeleted'>;
    clock: Pick<Clock, 'now'>;
    operations: Operations;
  },
  name: SubscriptionName,
): Promise<Subscription | undefined> {
  const marked = await registry.markDeleted({ ...name, now: clock.now() });
  if (marked?.deletedAt !== undefined)
    await operations.send({ kind: 'cancellation', ...name, deletedAt: marked.deletedAt });
  return marked;
}

/** Treats a deleted or expired subscription as missing. */
async function changePresent(
  { registry, clock }: ChangeContext,
  name: SubscriptionName,
  change: (current: Subscription) => Subscription | undefined,
): Promise<ChangeResult> {
  const now = clock.now();
  const result = await registry.changeSubscription({ ...name, now }, (current) =>
    isPresent(current, now) ? change(current) : undefined,
  );
  return result.kind === 'left' && !isPresent(result.current, now) ? { kind: 'missing' } : result;
}

function editOf(change: SubscriptionChange, now: number) {
  return (current: Subscription): Subscription => {
    const { subscriber, ttl, options, disabled } = change;
    const moved = subscriber === undefined ? current : moveTo(subscriber, current, now);
    const timed = ttl === undefined ? moved : withTtl(ttl, moved, now);
    const kept = subscriber !== undefined && hasNewOrigin(current, subscriber) ? forAnother(timed) : timed;
    const edited = options === undefined ? kept : withNewOptions(options, kept, now);
    if (disabled === undefined) return edited;
    return disabled === null ? asEnabled(edited, now) : { ...edited, disabled };
  };
}

function withNewOptions(options: SubscriptionOptions, current: Subscription, now: number): Subscription {
  return withLimitDated(current, withOptions(current, unredacted(options, current.options), now), now);
}

function forAnother(subscription: Subscription): Subscription {
  return { ...subscription, options: withoutCredentials(subscription.options) };
}

function withTtl(ttl: number | null, current: Subscription, now: number): Subscription {
  if (ttl !== null) return { ...current, ttl, expiresAt: now + ttl * 1000 };
  const endless = { ...current };
  delete endless.ttl;
  delete endless.expiresAt;
  return endless;
}
