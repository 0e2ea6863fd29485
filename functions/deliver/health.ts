import { MAX_INVOCATION_MS } from '../../shared/domain/retry/attempt-duration.ts';
import { certificateWarning } from '../../shared/domain/subscription/certificate-warning.ts';
import { toError } from '../../shared/domain/errors.ts';
import { computeSqsDelay } from '../../shared/domain/delivery/wake-up-plan.ts';
import {
  afterFailure,
  afterSuccess,
  type HealthChange,
  isEventUnsent,
  healthChangeName,
  waitsForEvent,
} from '../../shared/domain/subscription/health.ts';
import {
  findAbsence,
  type PendingEvent,
  type Subscription,
  type SubscriptionKey,
} from '../../shared/domain/subscription/subscription.ts';
import type { Clock } from '../../shared/ports/clock.ts';
import { notifyOperator } from '../../shared/steps/attempt-events.ts';
import type { DeliverContext, HealthWrites } from './context.ts';
import { pressureChangeAfter, type RecordedAttempt } from './pressure.ts';

/**
 * Updates a subscription's health from a recorded attempt. Runs last, so that no delivery waits for it. Errors are
 * logged, not thrown: SQS would redeliver a message whose attempt is already recorded, and the next attempt makes the
 * same change.
 */
export function recordHealth(context: DeliverContext, recorded: RecordedAttempt): Promise<void> {
  const { queue, subscription } = recorded;
  const { outcome, startedAt } = recorded.result.attempt;
  return journalFault(context, subscription, async () => {
    const { ports, settings } = context;
    const now = ports.clock.now();
    await sendEventIfLeftover(context, subscription, now);
    const changes = [
      await pressureChangeAfter(context, recorded),
      outcome === 'delivered'
        ? afterSuccess(subscription, now)
        : afterFailure(subscription, now, settings, queue),
      certificateWarning(subscription, now),
    ];
    for (const wanted of changes) {
      if (wanted === undefined) continue;
      const name = `${subscription.queue}/${subscription.id} ${healthChangeName(wanted)}`;
      await context.healthWrites.once(name, startedAt, () =>
        settleHealthChange(context, subscription, wanted),
      );
    }
  });
}

/**
 * Sends the operator event that a crashed invocation left unsent, for a subscription that receives no more attempts.
 */
export function sendLeftoverEvent(context: DeliverContext, subscription: Subscription): Promise<void> {
  return journalFault(context, subscription, () =>
    sendEventIfLeftover(context, subscription, context.ports.clock.now()),
  );
}

async function journalFault(
  { ports }: DeliverContext,
  { queue, id }: Subscription,
  update: () => Promise<void>,
): Promise<void> {
  try {
    await update();
  } catch (cause) {
    ports.journal.note({ fact: 'health_not_recorded', queue, subscriptionId: id, error: toError(cause) });
  }
}

/** Returns whether the change is settled: written or permanently refused. */
async function settleHealthChange(
  context: DeliverContext,
  subscription: Subscription,
  change: HealthChange,
): Promise<boolean> {
  const isWanted = change.kind !== 'disable' || (await isStillActive(context, subscription));
  return isWanted ? writeHealthChange(context, subscription, change) : true;
}

/** Reads without the cache: operators need no notification that a deleted or disabled subscription fails. */
async function isStillActive({ ports }: DeliverContext, { queue, id }: Subscription): Promise<boolean> {
  const { subscription } = await ports.subscriptions.find(queue, id, 'fresh');
  return findAbsence(subscription, ports.clock.now()) === undefined;
}

async function writeHealthChange(
  context: DeliverContext,
  { queue, id }: Subscription,
  change: HealthChange,
): Promise<boolean> {
  const { subscriptions } = context.ports;
  let result = await subscriptions.changeHealth(queue, id, change);
  if (result.kind === 'refused') {
    // Another attempt made the change, and sends its event.
    if (result.current === undefined || !waitsForEvent(result.current, change)) return true;
    await sendPendingEvent(context, result.current);
    result = await subscriptions.changeHealth(queue, id, change);
    if (result.kind === 'refused') return false;
  }
  await sendPendingEvent(context, result.subscription);
  if (change.kind === 'pressure' && change.moveUpAt !== undefined)
    await moveUpAt(context, { queue, subscriptionId: id }, change.moveUpAt);
  return true;
}

/** What waited for the subscriber may have to ask again much later. Once all of its rate is free, it moves up. */
async function moveUpAt({ ports }: DeliverContext, key: SubscriptionKey, at: number): Promise<void> {
  await ports.operations.send({ kind: 'moving_up', ...key }, computeSqsDelay(at, ports.clock.now()));
}

async function sendEventIfLeftover(
  context: DeliverContext,
  subscription: Subscription,
  now: number,
): Promise<void> {
  if (subscription.unsent !== undefined && isEventUnsent(subscription.unsent, now))
    await sendPendingEvent(context, subscription);
}

/** Sends the event, then removes it from the record. A crash in between sends the event twice. */
async function sendPendingEvent(
  { ports }: DeliverContext,
  { queue, id, unsent }: { queue: string; id: string; unsent?: PendingEvent },
): Promise<void> {
  if (unsent === undefined) return;
  await notifyOperator(ports, { ...unsent.event, queue, subscriptionId: id });
  await ports.subscriptions.changeHealth(queue, id, { kind: 'sent', unsent });
}

/**
 * Concurrent attempts use the same cached subscription and would all write the same change; each refused write costs
 * money. A settled change is remembered for as long as an attempt that began before it may be in flight.
 */
export function healthWrites(clock: Pick<Clock, 'now'>): HealthWrites {
  /** When each change was settled, oldest first. Infinity: in progress. */
  const settledAt = new Map<string, number>();

  const settle = (name: string, at: number): void => {
    settledAt.delete(name);
    settledAt.set(name, at);
  };

  const forgetOld = (): void => {
    const oldest = clock.now() - MAX_INVOCATION_MS;
    for (const [name, at] of settledAt) {
      if (at >= oldest) return;
      settledAt.delete(name);
    }
  };

  return {
    once: async (name, startedAt, write) => {
      if ((settledAt.get(name) ?? -Infinity) > startedAt) return;
      forgetOld();
      settle(name, Infinity);
      let isSettled = false;
      try {
        isSettled = await write();
      } finally {
        if (isSettled) settle(name, clock.now());
        else settledAt.delete(name);
      }
    },
  };
}
