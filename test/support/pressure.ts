import { expect } from 'vitest';
import { applyHealthChange, healthChangeHolds } from '../../shared/domain/subscription/health.ts';
import {
  pressureAfter,
  type PressureChange,
  type SeenRequest,
} from '../../shared/domain/subscription/pressure-changes.ts';
import type { PressureSignal } from '../../shared/domain/subscription/recent-results.ts';
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

type More = Partial<Omit<SeenRequest, 'signal' | 'now'>>;

/** Its delivery is due again after 20 s; the last delay of its policy is 40 s. */
const afterRequest = (
  signal: PressureSignal,
  subscription: Subscription,
  now: number,
  more: More = {},
): PressureChange | undefined =>
  pressureAfter(subscription, {
    signal,
    startedAt: now,
    now,
    answeredPerSecond: 0,
    isTripped: false,
    retryAfterMs: 0,
    nextAttempt: { dueAt: now + 20_000 },
    policy: aBarePolicy({ maximum_delay_retries: 2, maximum_delay: 40 }),
    rules: { retryAfterCapMs: 3_600_000 },
    ...more,
  });

export const refuse = (subscription: Subscription, now: number, more: More = {}): PressureChange =>
  afterRequest('throttled', subscription, now, more) ?? expect.fail();

export const findDown = (subscription: Subscription, now: number, more: More = {}) =>
  afterRequest('down', subscription, now, more);

export const answer = (subscription: Subscription, now: number, more: More = {}) =>
  afterRequest('up', subscription, now, more);

/** Results that open a circuit. */
export const TRIPPED = { isTripped: true };

/** The subscription after the change, whose event has been sent. */
export const made = (change: PressureChange | undefined, subscription: Subscription): Subscription => {
  if (change === undefined) return subscription;
  expect(healthChangeHolds(subscription, change)).toBe(true);
  const { unsent: _, ...rest } = applyHealthChange(change, subscription);
  return rest;
};
