import { isCircuitOpen, pressureAt } from '../../shared/domain/subscription/back-pressure.ts';
import {
  endOfPressure,
  pressureAfterAnswer,
  pressureAfterOutage,
  pressureAfterRefusal,
  pressureSignalOf,
  type PressureChange,
} from '../../shared/domain/subscription/pressure-changes.ts';
import type { DeliveryKey, NextAttempt } from '../../shared/domain/delivery/delivery.ts';
import type { RetryPolicy } from '../../shared/domain/retry/policy.ts';
import type { Pressure, Subscription } from '../../shared/domain/subscription/subscription.ts';
import type { DeliverContext } from './context.ts';
import { hintMs, type AttemptResult } from './record.ts';
import type { ResultCounts } from './recent-results.ts';

/** In a ramp without a success, the failures of so many deliveries open the circuit again. */
const FAILURES_IN_RAMP = 3;

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
  const { circuitRequests, circuitWindowMs: windowMs, retryAfterCapMs } = settings;
  const isFailure = signal === 'down';
  const result = { isFailure, startedAt, version: pressure?.at };
  const counts = recentResults.add(key, result, { windowMs, most: 2 * circuitRequests });
  switch (signal) {
    case 'throttled': {
      const retryAfterMs = hintMs(reply, startedAt + durationMs, retryAfterCapMs);
      return pressureAfterRefusal(subscription, { startedAt, now, retryAfterMs });
    }
    case 'down': {
      const isTripped = isCircuitTripped(counts, pressure, settings);
      const down = { startedAt, now, isTripped, nextAttempt: next, policy, retryAfterCapMs };
      return pressureAfterOutage(subscription, down);
    }
    case 'up':
      return pressureAfterAnswer(subscription, { startedAt, now });
  }
}

type CircuitRules = Pick<DeliverContext['settings'], 'circuitRequests' | 'circuitFailurePercent'>;

/** Whether the latest results, each of another delivery, show that the subscriber is down. */
function isCircuitTripped(
  { requests, failures }: ResultCounts,
  pressure: Pressure | undefined,
  { circuitRequests, circuitFailurePercent }: CircuitRules,
): boolean {
  const isRamp = pressure?.reason === 'circuit_open';
  if (isRamp && failures === requests && failures >= FAILURES_IN_RAMP) return true;
  return requests >= circuitRequests && 100 * failures >= circuitFailurePercent * requests;
}
