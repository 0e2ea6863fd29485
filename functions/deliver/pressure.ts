import { isCircuitOpen, pressureAt } from '../../shared/domain/subscription/back-pressure.ts';
import {
  endOfPressure,
  pressureAfter,
  type PressureChange,
} from '../../shared/domain/subscription/pressure-changes.ts';
import { epochTime } from '../../shared/domain/subscription/rate-limit.ts';
import {
  answeredPerSecond,
  isCircuitTripped,
  type PressureSignal,
  pressureSignalOf,
  type RecentResults,
  withResult,
} from '../../shared/domain/subscription/recent-results.ts';
import type { DeliveryKey, NextAttempt } from '../../shared/domain/delivery/delivery.ts';
import type { RetryPolicy } from '../../shared/domain/retry/policy.ts';
import { type Reply, TOO_MANY_REQUESTS } from '../../shared/domain/delivery/outcome.ts';
import type { Queue, Subscription } from '../../shared/domain/subscription/subscription.ts';
import {
  isSwitchedOn,
  type PaceSwitches,
  paceSwitchesOf,
} from '../../shared/domain/subscription/switches.ts';
import type { DeliverContext, ResultMemory } from './context.ts';
import { hintMs, type AttemptResult } from './record.ts';

/** A recorded attempt. `next`: the delivery's next one, if its policy makes one. */
export type RecordedAttempt = {
  key: DeliveryKey;
  queue: Queue | undefined;
  subscription: Subscription;
  policy: RetryPolicy;
  result: AttemptResult;
  next: NextAttempt | undefined;
};

/** How an attempt changes the pace of its subscription (docs/retry-policy.md#back-pressure). Undefined: not at all. */
export function pressureChangeOf(
  context: DeliverContext,
  { key, queue, subscription, policy, result: { attempt, reply }, next }: RecordedAttempt,
): PressureChange | undefined {
  const { ports, settings, recentResults } = context;
  const now = ports.clock.now();
  const switches = paceSwitchesOf({ queue, subscription }, settings);
  const ended = endIfSwitchedOff(subscription, switches, now);
  if (ended !== undefined) return ended;
  const { startedAt, durationMs } = attempt;
  const pressure = pressureAt(subscription, startedAt);
  const isProbe = pressure !== undefined && isCircuitOpen(pressure);
  // A probe that finds no name or no TLS, for example, has failed as well.
  const signal = signalFor(switches, reply) ?? (isProbe ? 'down' : undefined);
  if (signal === undefined) return undefined;
  const version = epochTime(subscription);
  const result = { messageId: key.messageId, signal, now, version };
  const results = recentResults.update(key, (known) => withResult(known, result, settings));
  return pressureAfter(subscription, {
    signal,
    startedAt,
    now,
    answeredPerSecond: answeredPerSecond(results, now),
    isTripped: signal === 'down' && !isProbe && isCircuitTripped(results.latest, pressure, settings),
    retryAfterMs: hintMs(reply, startedAt + durationMs, settings.retryAfterCapMs),
    nextAttempt: next,
    policy,
    rules: settings,
  });
}

/** Nothing else would end an episode whose switch is off. What waits in its line moves up. */
function endIfSwitchedOff(
  subscription: Subscription,
  switches: PaceSwitches,
  now: number,
): PressureChange | undefined {
  const { pressure } = subscription;
  if (pressure === undefined || isSwitchedOn(pressure.reason, switches)) return undefined;
  const end = endOfPressure(subscription, now);
  return end && { ...end, moveUpAt: now };
}

/**
 * What a reply says, as far as a switch asks for it. Undefined: nothing, so that without switches nothing is counted. A
 * refusal is an answer where the subscription does not adapt to it.
 */
function signalFor(
  { adaptToThrottling, holdWhileDown }: PaceSwitches,
  reply: Reply,
): PressureSignal | undefined {
  if (!adaptToThrottling && !holdWhileDown) return undefined;
  const signal = pressureSignalOf(reply);
  switch (signal) {
    case 'throttled': {
      const isRefusal = reply.kind === 'answered' && reply.statusCode === TOO_MANY_REQUESTS;
      if (adaptToThrottling) return signal;
      return isRefusal ? 'up' : 'down';
    }
    case 'down':
      return holdWhileDown ? signal : undefined;
    case 'up':
    case undefined:
      return signal;
  }
}

/** Subscriptions whose results an instance remembers. Those with the oldest results are forgotten first. */
const MOST_SUBSCRIPTIONS = 10_000;

/** The latest results of subscriptions, in the memory of a function instance. */
export function resultMemory(): ResultMemory {
  const bySubscription = new Map<string, RecentResults>();
  return {
    update: ({ queue, subscriptionId }, change) => {
      const name = `${queue}/${subscriptionId}`;
      const results = change(bySubscription.get(name));
      // A Map keeps the order of insertion.
      bySubscription.delete(name);
      bySubscription.set(name, results);
      const [first] = bySubscription.size > MOST_SUBSCRIPTIONS ? bySubscription.keys() : [];
      if (first !== undefined) bySubscription.delete(first);
      return results;
    },
  };
}
