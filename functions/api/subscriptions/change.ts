import { withOptions } from '../../../shared/domain/message/addressees.ts';
import { isTokenOf } from '../../../shared/domain/subscription/confirmation.ts';
import { unredacted } from '../../../shared/domain/subscription/credential-headers.ts';
import { withLimitDated } from '../../../shared/domain/subscription/rate-limit.ts';
import { enabled, isOther, movedTo } from '../../../shared/domain/subscription/change.ts';
import {
  isThere,
  type Disabled,
  type Subscription,
  type SubscriptionOptions,
} from '../../../shared/domain/subscription/subscription.ts';
import type { Clock } from '../../../shared/ports/clock.ts';
import type { Operations } from '../../../shared/ports/queues.ts';
import type { Changed, Registry } from '../../../shared/ports/subscriptions.ts';
import { requiresConfirmation, newConfirmation, type ConfirmationContext } from './ask-confirmation.ts';

export type ChangeContext = {
  registry: Pick<Registry, 'changeSubscription'>;
  clock: Pick<Clock, 'now'>;
};

export type SubscriptionName = { queue: string; subscriptionId: string };

/** What is left out stays. `ttl` in seconds from now, `null` for ever; a `disabled` of `null` enables. */
export type SubscriptionChange = {
  subscriber?: string;
  ttl?: number | null;
  options?: SubscriptionOptions;
  disabled?: Disabled | null;
};

export type ChangeResult = Changed<Subscription> | { kind: 'conflict'; subscriptionId: string };

/**
 * Changes a subscription as its operator wants it. A redacted header keeps its value. Another subscriber is owed the
 * question where confirmation is asked for, and one that has not answered yet is owed it anew (`askIfOwed` sends it);
 * until it answers it gets nothing else.
 * @throws UnknownCredentialsError, ContendedError
 */
export async function updateSubscription(
  context: ChangeContext & ConfirmationContext,
  name: SubscriptionName,
  change: SubscriptionChange,
): Promise<ChangeResult> {
  if (change.subscriber === undefined)
    return changePresent(context, name, editOf(change, context.clock.now()));
  const { unconfirmed } = newConfirmation(context);
  const asksNew = await requiresConfirmation(context, name.queue);
  const edit = editOf(change, context.clock.now());
  return changePresent(context, name, (current) => {
    const after = edit(current);
    if (!mustConfirm(current, after, asksNew)) return after;
    // Asked anew, it is unconfirmed since it was asked first.
    return { ...after, unconfirmed: { ...unconfirmed, at: current.unconfirmed?.at ?? unconfirmed.at } };
  });
}

function mustConfirm(before: Subscription, after: Subscription, asksNew: boolean): boolean {
  return before.unconfirmed !== undefined || (asksNew && isOther(before, after));
}

/** Already disabled: it stays so for the reason it was. */
export function disableManually(context: ChangeContext, name: SubscriptionName): Promise<ChangeResult> {
  const disabled: Disabled = { reason: 'manual', at: context.clock.now() };
  return changePresent(context, name, (current) =>
    current.disabled === undefined ? { ...current, disabled } : current,
  );
}

/** A change where it is enabled as well: a 410 that came before may be about to disable it. */
export function enable(context: ChangeContext, name: SubscriptionName): Promise<ChangeResult> {
  const now = context.clock.now();
  return changePresent(context, name, (current) => enabled(current, now));
}

/** Whether this token was the one that was asked for; each confirms once. */
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
 * It is gone for everybody at once; what is pending for it is cancelled by `operate`. Undefined: there was none.
 * @throws when the order could not be sent: repeated, it is
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

/**
 * The queue with all its subscriptions; what is pending in it is cancelled by `operate`. Also where there is none: a
 * deletion that was cut short is completed by a second one.
 * @throws QueueBusyError, and when the order could not be sent: repeated, it is
 */
export async function deleteQueue(
  {
    registry,
    clock,
    operations,
  }: {
    registry: Pick<Registry, 'deleteQueue'>;
    clock: Pick<Clock, 'now'>;
    operations: Operations;
  },
  queue: string,
): Promise<void> {
  await registry.deleteQueue(queue);
  await operations.send({ kind: 'cancellation', queue, deletedAt: clock.now() });
}

/** Where the subscription is there, for all who may see it. */
async function changePresent(
  { registry, clock }: ChangeContext,
  name: SubscriptionName,
  change: (current: Subscription) => Subscription | undefined,
): Promise<ChangeResult> {
  const now = clock.now();
  const result = await registry.changeSubscription({ ...name, now }, (current) =>
    isThere(current, now) ? change(current) : undefined,
  );
  return result.kind === 'left' && !isThere(result.current, now) ? { kind: 'missing' } : result;
}

function editOf(change: SubscriptionChange, now: number) {
  return (current: Subscription): Subscription => {
    const { subscriber, ttl, options, disabled } = change;
    const moved = subscriber === undefined ? current : movedTo(subscriber, current, now);
    const timed = ttl === undefined ? moved : withTtl(ttl, moved, now);
    const told = options === undefined ? timed : withNewOptions(options, timed, now);
    if (disabled === undefined) return told;
    return disabled === null ? enabled(told, now) : { ...told, disabled };
  };
}

function withNewOptions(options: SubscriptionOptions, current: Subscription, now: number): Subscription {
  return withLimitDated(current, withOptions(current, unredacted(options, current.options), now), now);
}

function withTtl(ttl: number | null, current: Subscription, now: number): Subscription {
  if (ttl !== null) return { ...current, ttl, expiresAt: now + ttl * 1000 };
  const endless = { ...current };
  delete endless.ttl;
  delete endless.expiresAt;
  return endless;
}
