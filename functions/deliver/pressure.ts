import { isCircuitOpen, pressureAt } from '../../shared/domain/subscription/back-pressure.ts';
import {
  endOfPressure,
  pressureAfter,
  type PressureChange,
} from '../../shared/domain/subscription/pressure-changes.ts';
import {
  pressureSignalOf,
  type RecentResults,
  withResult,
} from '../../shared/domain/subscription/recent-results.ts';
import type { DeliveryKey, NextAttempt } from '../../shared/domain/delivery/delivery.ts';
import type { RetryPolicy } from '../../shared/domain/retry/policy.ts';
import type { Subscription } from '../../shared/domain/subscription/subscription.ts';
import type { DeliverContext, ResultMemory } from './context.ts';
import { hintMs, type AttemptResult } from './record.ts';

/** A recorded attempt. `next`: the delivery's next one, if its policy makes one. */
export type RecordedAttempt = {
  key: DeliveryKey;
  subscription: Subscription;
  policy: RetryPolicy;
  result: AttemptResult;
  next: NextAttempt | undefined;
};

/** How an attempt changes the pace of its subscription (docs/retry-policy.md#back-pressure). Undefined: not at all. */
export function pressureChangeOf(
  { ports, settings, recentResults }: DeliverContext,
  { key, subscription, policy, result: { attempt, reply }, next }: RecordedAttempt,
): PressureChange | undefined {
  const now = ports.clock.now();
  // Switched off during an episode, which nothing else would end.
  if (!settings.backPressure) return endOfPressure(subscription, now);
  const { startedAt, durationMs } = attempt;
  const pressure = pressureAt(subscription, startedAt);
  const isProbe = pressure !== undefined && isCircuitOpen(pressure);
  // A probe that finds no name or no TLS, for example, has failed as well.
  const signal = pressureSignalOf(reply) ?? (isProbe ? 'down' : undefined);
  if (signal === undefined) return undefined;
  const { queue, subscriptionId, messageId } = key;
  const results = recentResults.update(`${queue}/${subscriptionId}`, (known) =>
    withResult(known, { messageId, signal, startedAt, now, version: pressure?.at }, settings),
  );
  const retryAfterMs = hintMs(reply, startedAt + durationMs, settings.retryAfterCapMs);
  const seen = { signal, startedAt, now, results, retryAfterMs, nextAttempt: next, policy, rules: settings };
  return pressureAfter(subscription, seen);
}

/** Subscriptions whose results an instance remembers. Those with the oldest results are forgotten first. */
const MOST_SUBSCRIPTIONS = 10_000;

/** The latest results of subscriptions, in the memory of a function instance. */
export function resultMemory(): ResultMemory {
  const bySubscription = new Map<string, RecentResults>();
  return {
    update: (subscription, change) => {
      const results = change(bySubscription.get(subscription));
      // A Map keeps the order of insertion.
      bySubscription.delete(subscription);
      bySubscription.set(subscription, results);
      const [first] = bySubscription.size > MOST_SUBSCRIPTIONS ? bySubscription.keys() : [];
      if (first !== undefined) bySubscription.delete(first);
      return results;
    },
  };
}
