import { ANY_INVOCATION_MS } from '../../shared/domain/delivery/lease.ts';
import type { Attempt } from '../../shared/domain/delivery/attempt.ts';
import { errorOf } from '../../shared/domain/errors.ts';
import {
  afterFailure,
  afterSuccess,
  type HealthChange,
  isEventUnsent,
  healthChangeName,
} from '../../shared/domain/subscription/health.ts';
import {
  absenceOf,
  type Subscription,
  type PendingEvent,
} from '../../shared/domain/subscription/subscription.ts';
import type { Clock } from '../../shared/ports/clock.ts';
import { notifyOperator } from '../../shared/steps/notify-operator.ts';
import type { DeliverContext, HealthNotes } from './context.ts';

/**
 * Notes what a recorded attempt says of its subscription, as that was read for the attempt. It comes last, so no delivery
 * waits for it. A failure is in the journal and counted as a fault, but not thrown: the message would come again to a record
 * that has the attempt, an immediate retry would be late and count as `lost`, and the next attempt notes the same.
 */
export function noteHealth(
  context: DeliverContext,
  subscription: Subscription,
  { outcome, startedAt }: Attempt,
): Promise<void> {
  return noted(context, subscription, async () => {
    const { ports, settings } = context;
    const now = ports.clock.now();
    await sendLeftOver(context, subscription, now);
    const change =
      outcome === 'delivered' ? afterSuccess(subscription, now) : afterFailure(subscription, now, settings);
    if (change === undefined) return;
    const name = `${subscription.queue}/${subscription.id} ${healthChangeName(change)}`;
    await context.healthNotes.once(name, startedAt, () => settleChange(context, subscription, change));
  });
}

/** Sends the event of a subscription without further attempts, where a crashed invocation left it unsent. */
export function recordAbsence(context: DeliverContext, subscription: Subscription): Promise<void> {
  return noted(context, subscription, () => sendLeftOver(context, subscription, context.ports.clock.now()));
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

/** Whether the change is settled: made, or refused for good. */
async function settleChange(
  context: DeliverContext,
  subscription: Subscription,
  change: HealthChange,
): Promise<boolean> {
  const isWanted = change.kind !== 'disable' || (await isStillThere(context, subscription));
  return isWanted ? makeChange(context, subscription, change) : true;
}

/** Read fresh: nobody wants to be notified that a deleted or disabled subscription failed. */
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
    await sendUnsent(context, result.subscription);
    return true;
  }
  // Another attempt was first, or an earlier event has to be sent before this change can be made.
  if (result.current?.unsent === undefined || !('unsent' in change)) return true;
  await sendUnsent(context, result.current);
  const again = await subscriptions.changeHealth(queue, id, change);
  if (again.kind === 'written') await sendUnsent(context, again.subscription);
  return again.kind === 'written';
}

async function sendLeftOver(context: DeliverContext, subscription: Subscription, now: number): Promise<void> {
  if (subscription.unsent !== undefined && isEventUnsent(subscription.unsent, now))
    await sendUnsent(context, subscription);
}

/** Sent first and taken off the record then: a crash in between sends it once more. */
async function sendUnsent(
  { ports }: DeliverContext,
  { queue, id, unsent }: { queue: string; id: string; unsent?: PendingEvent },
): Promise<void> {
  if (unsent === undefined) return;
  await notifyOperator(ports, { ...unsent.event, queue, subscriptionId: id });
  await ports.subscriptions.changeHealth(queue, id, { kind: 'sent', unsent });
}

/**
 * Attempts side by side go by the same reading of a subscription, so each would write what one of them has written, and be
 * refused at the price of a write. A settled change is remembered for as long as an attempt from before may be in flight.
 */
export function healthNotes(clock: Pick<Clock, 'now'>): HealthNotes {
  /** When each change was settled, in that order; Infinity: it is being made. */
  const settledAt = new Map<string, number>();

  const settle = (name: string, at: number): void => {
    settledAt.delete(name);
    settledAt.set(name, at);
  };

  const forgetOld = (): void => {
    const oldest = clock.now() - ANY_INVOCATION_MS;
    for (const [name, at] of settledAt) {
      if (at >= oldest) return;
      settledAt.delete(name);
    }
  };

  return {
    once: async (name, startedAt, make) => {
      if ((settledAt.get(name) ?? -Infinity) > startedAt) return;
      forgetOld();
      settle(name, Infinity);
      let isSettled = false;
      try {
        isSettled = await make();
      } finally {
        if (isSettled) settle(name, clock.now());
        else settledAt.delete(name);
      }
    },
  };
}
