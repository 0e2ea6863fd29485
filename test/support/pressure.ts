import { expect } from 'vitest';
import { applyHealthChange, healthChangeHolds } from '../../shared/domain/subscription/health.ts';
import {
  pressureAfterAnswer,
  pressureAfterOutage,
  pressureAfterRefusal,
  type PressureChange,
} from '../../shared/domain/subscription/pressure-changes.ts';
import type { Pressure, Subscription } from '../../shared/domain/subscription/subscription.ts';
import { aBarePolicy, aSubscription } from './builders.ts';
import { SOME_TIME } from './delivery-builders.ts';

/** A subscription under pressure since SOME_TIME. */
export const under = (pressure: Partial<Pressure>, more: Partial<Subscription> = {}): Subscription =>
  aSubscription({
    pressure: {
      reason: 'receiver_throttled',
      since: SOME_TIME,
      at: SOME_TIME,
      opensAt: SOME_TIME,
      ...pressure,
    },
    ...more,
  });

export const refuse = (subscription: Subscription, now: number, retryAfterMs = 0): PressureChange =>
  pressureAfterRefusal(subscription, { startedAt: now, now, retryAfterMs });

type Down = Partial<Parameters<typeof pressureAfterOutage>[1]>;

/** Its delivery is due again after 20 s; the last delay of its policy is 40 s. */
export const findDown = (subscription: Subscription, now: number, more: Down = {}) =>
  pressureAfterOutage(subscription, {
    startedAt: now,
    now,
    isTripped: false,
    nextAttempt: { dueAt: now + 20_000 },
    policy: aBarePolicy({ maximum_delay_retries: 2, maximum_delay: 40 }),
    retryAfterCapMs: 3_600_000,
    ...more,
  });

export const answer = (subscription: Subscription, now: number) =>
  pressureAfterAnswer(subscription, { startedAt: now, now });

/** The subscription after the change, whose event has been sent. */
export const made = (change: PressureChange | undefined, subscription: Subscription): Subscription => {
  if (change === undefined) return subscription;
  expect(healthChangeHolds(subscription, change)).toBe(true);
  const { unsent: _, ...rest } = applyHealthChange(change, subscription);
  return rest;
};
