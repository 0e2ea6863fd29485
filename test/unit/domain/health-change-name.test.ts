import { describe, expect, it } from 'vitest';
import {
  afterFailure,
  afterSuccess,
  healthChangeHolds,
  applyHealthChange,
  healthChangeName,
} from '../../../shared/domain/subscription/health.ts';
import type { Subscription } from '../../../shared/domain/subscription/subscription.ts';
import { aSubscription } from '../../support/builders.ts';
import { SOME_TIME } from '../../support/delivery-builders.ts';

const DAY = 24 * 60 * 60_000;

const rules = { subscriptionCacheMs: 5_000, disableFailingAfterMs: 5 * DAY };

const failing = (failures: number, since = SOME_TIME): Subscription =>
  aSubscription({ failing: { since, failures } });

describe('the name of a health change', () => {
  const changedAt = SOME_TIME - DAY;
  const readings: readonly Subscription[] = [
    aSubscription(),
    ...[1, 5, 19, 20, 30].map((failures) => failing(failures)),
    failing(5, SOME_TIME + 1),
    ...[aSubscription(), failing(5), failing(30)].map((one) => ({ ...one, changedAt })),
  ];
  const now = SOME_TIME + 6 * DAY;
  const decided = readings.flatMap((reading) =>
    [afterFailure(reading, now, rules), afterSuccess(reading, now)].flatMap((change) =>
      change === undefined ? [] : [{ reading, change }],
    ),
  );

  it('does not depend on the time of the decision', () => {
    for (const { reading, change } of decided) {
      const later =
        change.kind === 'recover' ? afterSuccess(reading, now + 9) : afterFailure(reading, now + 9, rules);
      expect(later && healthChangeName(later)).toBe(healthChangeName(change));
    }
  });

  it('differs by failure streak, count and version of the subscription', () => {
    const named = Map.groupBy(decided, ({ change }) => healthChangeName(change));
    const alike = [...named.values()].filter(({ length }) => length > 1).flat();
    // The end of a streak has one name for every failure count.
    expect(new Set(alike.map(({ change }) => change.kind))).toEqual(new Set(['recover']));
    expect(named.size).toBe(13);
    for (const all of named.values())
      expect(new Set(all.map(({ reading: one }) => `${one.failing?.since} ${one.changedAt}`)).size).toBe(1);
  });

  it('belongs to a change that cannot be applied twice', () => {
    for (const { reading, change } of decided) {
      expect(healthChangeHolds(reading, change)).toBe(true);
      expect(healthChangeHolds(applyHealthChange(change, reading), change)).toBe(false);
    }
  });
});
