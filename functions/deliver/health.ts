import type { Attempt } from '../../shared/domain/delivery/attempt.ts';
import { errorOf } from '../../shared/domain/errors.ts';
import {
  afterFailure,
  afterSuccess,
  isLeftOver,
  nameOfChange,
  type HealthChange,
} from '../../shared/domain/subscription/health.ts';
import { absenceOf, type Subscription, type Unsent } from '../../shared/domain/subscription/subscription.ts';
import type { DeliverContext } from './context.ts';
import { tell } from '../../shared/steps/notify-operator.ts';

/**
 * Notes what an attempt on record says of its subscription, as that was read for the attempt. Called when the next wake-up
 * is set and what is owed was done, so a delivery never waits for it. What fails here is in the journal and counted as a
 * fault, but not thrown: the message would only come again to a record that has the attempt, an immediate retry would
 * come late and be taken for `lost`, and the next attempt notes as well as this one.
 */
export function noteHealth(
  context: DeliverContext,
  subscription: Subscription,
  { outcome, startedAt }: Attempt,
): Promise<void> {
  return noted(context, subscription, async () => {
    const { ports, settings } = context;
    const now = ports.clock.now();
    await tellLeftOver(context, subscription, now);
    const change =
      outcome === 'delivered' ? afterSuccess(subscription, now) : afterFailure(subscription, now, settings);
    if (change === undefined) return;
    const name = `${subscription.queue}/${subscription.id} ${nameOfChange(change)}`;
    await context.healthNotes.once(name, startedAt, () => settleChange(context, subscription, change));
  });
}

/** Tells what somebody who died had to tell of a subscription that gets no more attempts. */
export function noteAbsence(context: DeliverContext, subscription: Subscription): Promise<void> {
  return noted(context, subscription, () => tellLeftOver(context, subscription, context.ports.clock.now()));
}

async function noted(
  { ports }: DeliverContext,
  { queue, id }: Subscription,
  note: () => Promise<void>,
): Promise<void> {
  try {
    await note();
  } catch (cause) {
    ports.journal.note({ fact: 'health_unnoted', queue, subscriptionId: id, error: errorOf(cause) });
  }
}

/** Whether that was the end of it: the change is made, or cannot be made any more. */
async function settleChange(
  context: DeliverContext,
  subscription: Subscription,
  change: HealthChange,
): Promise<boolean> {
  const isWanted = change.kind !== 'disable' || (await isStillThere(context, subscription));
  return isWanted ? makeChange(context, subscription, change) : true;
}

/** Read fresh: whoever deleted it, or disabled it, does not want to hear that it failed. */
async function isStillThere({ ports }: DeliverContext, { queue, id }: Subscription): Promise<boolean> {
  const { subscription } = await ports.subscriptions.find(queue, id, 'fresh');
  return absenceOf(subscription, ports.clock.now()) === undefined;
}

async function makeChange(
  context: DeliverContext,
  { queue, id }: Subscription,
  change: HealthChange,
): Promise<boolean> {
  const { subscriptions } = context.ports;
  const result = await subscriptions.changeHealth(queue, id, change);
  if (result.kind === 'written') {
    await tellUnsent(context, result.subscription);
    return true;
  }
  // Somebody else was first, or something has to be told before this can be.
  if (result.current?.unsent === undefined || !('unsent' in change)) return true;
  await tellUnsent(context, result.current);
  const again = await subscriptions.changeHealth(queue, id, change);
  if (again.kind === 'written') await tellUnsent(context, again.subscription);
  return again.kind === 'written';
}

async function tellLeftOver(context: DeliverContext, subscription: Subscription, now: number): Promise<void> {
  if (subscription.unsent !== undefined && isLeftOver(subscription.unsent, now))
    await tellUnsent(context, subscription);
}

/** Sent first and taken off then: a crash in between tells it once more. */
async function tellUnsent(
  { ports }: DeliverContext,
  { queue, id, unsent }: { queue: string; id: string; unsent?: Unsent },
): Promise<void> {
  if (unsent === undefined) return;
  await tell(ports, { ...unsent.event, queue, subscriptionId: id });
  await ports.subscriptions.changeHealth(queue, id, { kind: 'sent', unsent });
}
