import { describe, expect, it } from 'vitest';
import {
  afterFailure,
  afterSuccess,
  mayDisable,
  healthChangeHolds,
} from '../../../shared/domain/subscription/health.ts';
import type { Subscription } from '../../../shared/domain/subscription/subscription.ts';
import { aSubscription } from '../../support/builders.ts';
import { SOME_TIME } from '../../support/delivery-builders.ts';

const DAY = 24 * 60 * 60_000;
const rules = { subscriptionCacheMs: 5_000, disableFailingAfterMs: 5 * DAY };
const later = SOME_TIME + 5 * DAY;

const failing = (failures: number): Subscription =>
  aSubscription({ failing: { since: SOME_TIME, failures } });

describe('the health change of an attempt', () => {
  it.each([
    ['a first failure', aSubscription(), afterFailure],
    ['a further failure', failing(5), afterFailure],
    ['the disabling failure', failing(30), afterFailure],
    ['a success', failing(5), afterSuccess],
  ])('is refused after the subscription was repaired: %s', (_, subscription, after) => {
    const change = after(subscription, later, rules);
    expect(change && healthChangeHolds(subscription, change)).toBe(true);
    expect(change && healthChangeHolds({ ...subscription, changedAt: SOME_TIME }, change)).toBe(false);
  });

  it('applies only to the repaired version that the attempt used', () => {
    const repaired = aSubscription({ changedAt: SOME_TIME });
    const begin = afterFailure(repaired, later, rules);
    const allowed = [-1, 0, 1].map(
      (ms) => begin && healthChangeHolds({ ...repaired, changedAt: SOME_TIME + ms }, begin),
    );
    expect(allowed).toEqual([false, true, false]);
    expect(begin && healthChangeHolds(aSubscription(), begin)).toBe(false);
  });

  it('disables after a 410 only an enabled, unchanged subscription', () => {
    const repaired = aSubscription({ changedAt: SOME_TIME });
    expect(mayDisable(aSubscription(), undefined)).toBe(true);
    expect(mayDisable(repaired, SOME_TIME)).toBe(true);
    expect(mayDisable(repaired, undefined)).toBe(false);
    expect(mayDisable(repaired, SOME_TIME + 1)).toBe(false);
    expect(mayDisable(aSubscription(), SOME_TIME)).toBe(false);
    expect(mayDisable({ ...repaired, disabled: { reason: 'manual', at: 1 } }, SOME_TIME)).toBe(false);
  });
});
