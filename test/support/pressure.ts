import { expect } from 'vitest';
import { healthChangeHolds } from '../../shared/domain/subscription/health.ts';
import type { PressureChange } from '../../shared/domain/subscription/pressure-changes.ts';
import type { Pressure, PressureState, Subscription } from '../../shared/domain/subscription/subscription.ts';
import { aSubscription } from './builders.ts';
import { SOME_TIME } from './delivery-builders.ts';
import { applyHealthChange } from './in-memory/health-model.ts';

type Pressed = Subscription & { pressure: Pressure };

/** A subscription in a state of pressure since SOME_TIME. */
export const under = (state: PressureState, more: Partial<Subscription> = {}): Pressed => ({
  ...aSubscription(more),
  pressure: { ...state, at: SOME_TIME, since: SOME_TIME },
});

export const aSlowed = (more: Partial<Extract<PressureState, { state: 'slowed' }>> = {}): PressureState => ({
  state: 'slowed',
  perSecond: 4,
  line: SOME_TIME,
  askAgainMs: 10_000,
  ...more,
});

/** The subscription after the change, whose event has been sent. */
export const made = (change: PressureChange, subscription: Subscription): Pressed => {
  expect(healthChangeHolds(subscription, change)).toBe(true);
  const { unsent: _, ...rest } = applyHealthChange(change, subscription);
  return { ...rest, pressure: change.pressure };
};
