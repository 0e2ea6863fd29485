import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { asEnabled, moveTo } from '../../../shared/domain/subscription/change.ts';
import { hasNewOrigin, parseDestination } from '../../../shared/domain/subscription/destination.ts';
import {
  afterFailure,
  afterSuccess,
  FAILURES_TO_DISABLE,
  type HealthChange,
  healthChangeHolds,
  healthChangeName,
  isEventUnsent,
} from '../../../shared/domain/subscription/health.ts';
import type { PendingEvent, Subscription } from '../../../shared/domain/subscription/subscription.ts';
import { aSubscription, SUBSCRIBER_URL } from '../../support/builders.ts';
import { SOME_TIME } from '../../support/delivery-builders.ts';
import { applyHealthChange } from '../../support/in-memory/health-model.ts';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const rules = { subscriptionCacheMs: 5_000, disableFailingAfterMs: 5 * DAY };
const settled = SOME_TIME + rules.subscriptionCacheMs + MINUTE;

const failing = (failures: number, more: Partial<Subscription> = {}): Subscription =>
  aSubscription({ failing: { since: SOME_TIME, failures }, ...more });

/** The subscription after the change. */
const made = (change: HealthChange | undefined, subscription: Subscription): Subscription => {
  if (change === undefined) return subscription;
  expect(healthChangeHolds(subscription, change)).toBe(true);
  return applyHealthChange(change, subscription);
};

describe('a failure', () => {
  it('of a healthy subscription begins a streak', () => {
    const subscription = aSubscription();
    const begun = made(afterFailure(subscription, SOME_TIME, rules), subscription);
    expect(begun).toEqual(failing(1));
  });

  it('is not counted while an older attempt may still succeed', () => {
    expect(afterFailure(failing(1), settled - 1, rules)).toBeUndefined();
    expect(made(afterFailure(failing(1), settled, rules), failing(1))).toEqual(failing(2));
  });

  it('notifies when it is the twentieth', () => {
    expect(afterFailure(failing(18), settled, rules)).not.toHaveProperty('unsent');
    const twentieth = made(afterFailure(failing(19), settled, rules), failing(19));
    const event = { type: 'subscription.failing', since: SOME_TIME, failures: 20 } as const;
    expect(twentieth).toEqual({
      ...failing(20, { unsent: { event, at: settled } }),
      failing: { since: SOME_TIME, failures: 20, countedAt: settled },
    });
  });

  it('from the twentieth to the thirtieth counts once per twentieth of the time', () => {
    const counted = aSubscription({ failing: { since: SOME_TIME, failures: 20, countedAt: settled } });
    const next = settled + 6 * HOUR;
    expect(afterFailure(counted, next - 1, rules)).toBeUndefined();
    const after = made(afterFailure(counted, next, rules), counted);
    expect(after.failing).toEqual({ since: SOME_TIME, failures: 21, countedAt: next });
    expect(afterFailure(after, next + 6 * HOUR - 1, rules)).toBeUndefined();
    expect(afterFailure(failing(30), SOME_TIME + 5 * DAY - 1, rules)).toBeUndefined();
  });

  it('uses the start of the streak on an older record without countedAt', () => {
    expect(afterFailure(failing(20), SOME_TIME + 6 * HOUR - 1, rules)).toBeUndefined();
    expect(afterFailure(failing(20), SOME_TIME + 6 * HOUR, rules)).toMatchObject({
      failing: { failures: 21, countedAt: SOME_TIME + 6 * HOUR },
    });
  });

  it('disables after the configured time without a success', () => {
    const now = SOME_TIME + 5 * DAY;
    const disabled = { reason: 'failing', at: now } as const;
    expect(made(afterFailure(failing(30), now, rules), failing(30))).toEqual(
      failing(30, {
        disabled,
        unsent: { event: { type: 'subscription.disabled', ...disabled }, at: now },
      }),
    );
  });

  it('does not disable before thirty counted failures, even after a long time', () => {
    for (const failures of [19, 29])
      expect(afterFailure(failing(failures), SOME_TIME + 100 * DAY, rules)).toMatchObject({ kind: 'count' });
  });

  it('does not disable before half of the time has passed since the notification', () => {
    // One failure, none for days, then one a minute.
    let subscription = failing(1);
    let now = SOME_TIME + 5 * DAY;
    let notifiedAt = Infinity;
    while (subscription.disabled === undefined) {
      subscription = made(afterFailure(subscription, now, rules), subscription);
      const { unsent } = subscription;
      if (unsent?.event.type === 'subscription.failing') notifiedAt = now;
      if (unsent !== undefined) subscription = applyHealthChange({ kind: 'sent', unsent }, subscription);
      now += MINUTE;
    }
    expect(notifiedAt).toBe(SOME_TIME + 5 * DAY + 18 * MINUTE);
    expect(subscription.disabled.at - notifiedAt).toBe(2.5 * DAY + MINUTE);
  });

  it('counts a second burst as one failure', () => {
    const burst = (from: Subscription, at: number): Subscription =>
      Array.from({ length: 500 }, (_, index) => at + index).reduce(
        (subscription, now) => made(afterFailure(subscription, now, rules), subscription),
        from,
      );
    const notified = aSubscription({ failing: { since: SOME_TIME, failures: 20, countedAt: SOME_TIME } });
    expect(burst(notified, SOME_TIME + 30 * DAY)).toMatchObject({ failing: { failures: 21 } });
  });

  it('never disables if the setting is 0, and is not counted after the twentieth', () => {
    const never = { ...rules, disableFailingAfterMs: 0 };
    for (const failures of [20, 30])
      expect(afterFailure(failing(failures), SOME_TIME + 1000 * DAY, never)).toBeUndefined();
  });

  it.each([
    ['twenty', 0, 20],
    ['thirty and the disabling', 5 * DAY, FAILURES_TO_DISABLE + 1],
  ])('costs at most %s writes per streak at any times', (_, disableFailingAfterMs, most) => {
    fc.assert(
      fc.property(fc.array(fc.nat({ max: DAY }), { maxLength: 60 }), (gaps) => {
        let subscription = aSubscription();
        let now = SOME_TIME;
        let changes = 0;
        for (const gap of gaps) {
          if (subscription.disabled !== undefined) break;
          now += gap;
          const change = afterFailure(subscription, now, { ...rules, disableFailingAfterMs });
          if (change !== undefined) changes += 1;
          subscription = made(change, subscription);
          const { unsent } = subscription;
          if (unsent !== undefined) subscription = applyHealthChange({ kind: 'sent', unsent }, subscription);
        }
        expect(changes).toBeLessThanOrEqual(most);
      }),
    );
  });
});

describe('a success', () => {
  it('of a healthy subscription changes nothing', () => {
    expect(afterSuccess(aSubscription(), SOME_TIME)).toBeUndefined();
  });

  it('ends a streak without a notification if none was sent for it', () => {
    expect(made(afterSuccess(failing(19), settled), failing(19))).toEqual(aSubscription());
  });

  it('ends a streak and notifies if its start was notified', () => {
    const event = { type: 'subscription.recovered', since: SOME_TIME, at: settled } as const;
    expect(made(afterSuccess(failing(20), settled), failing(20))).toEqual(
      aSubscription({ unsent: { event, at: settled } }),
    );
  });

  it('ends only the streak that it saw', () => {
    const change = afterSuccess(failing(3), settled);
    const later = aSubscription({ failing: { since: SOME_TIME + 1, failures: 3 } });
    expect(change && healthChangeHolds(later, change)).toBe(false);
  });
});

describe('a health change', () => {
  const unsent: PendingEvent = {
    event: { type: 'subscription.failing', since: SOME_TIME, failures: 20 },
    at: SOME_TIME,
  };
  const changeOf = (subscription: Subscription, now: number): HealthChange => {
    const change = afterFailure(subscription, now, rules);
    if (change === undefined) throw new Error('the failure changed nothing');
    return change;
  };

  it('is refused after a concurrent change', () => {
    const begin = changeOf(aSubscription(), SOME_TIME);
    const count = changeOf(failing(5), settled);
    const disable = changeOf(failing(30), SOME_TIME + 5 * DAY);
    const disabled = { disabled: { reason: 'manual', at: 1 } } as const;
    expect(healthChangeHolds(failing(1), begin)).toBe(false);
    expect(healthChangeHolds(failing(6), count)).toBe(false);
    expect(healthChangeHolds(aSubscription(), count)).toBe(false);
    expect(healthChangeHolds(aSubscription({ failing: { since: 1, failures: 30 } }), disable)).toBe(false);
    expect(healthChangeHolds(failing(29), disable)).toBe(false);
    for (const change of [begin, count, disable])
      expect(healthChangeHolds({ ...failing(change === count ? 5 : 30), ...disabled }, change)).toBe(false);
  });

  it('with an event is refused while another event is pending', () => {
    const busy = failing(20, { unsent });
    const recover = afterSuccess(busy, settled);
    expect(recover && healthChangeHolds(busy, recover)).toBe(false);
    expect(healthChangeHolds(busy, changeOf(failing(30), SOME_TIME + 5 * DAY))).toBe(false);
  });

  it('without an event keeps a pending event', () => {
    const busy = failing(5, { unsent });
    expect(made(changeOf(busy, settled), busy)).toEqual(failing(6, { unsent }));
    expect(made(afterSuccess(busy, settled), busy)).toEqual(aSubscription({ unsent }));
  });

  it('clears only the event that was sent', () => {
    const busy = failing(20, { unsent });
    expect(made({ kind: 'sent', unsent }, busy)).toEqual(failing(20));
    expect(made({ kind: 'sent', unsent }, aSubscription({ unsent }))).toEqual(aSubscription());
    expect(healthChangeHolds(failing(20), { kind: 'sent', unsent })).toBe(false);
    expect(healthChangeHolds(busy, { kind: 'sent', unsent: { ...unsent, at: SOME_TIME + 1 } })).toBe(false);
    const other: PendingEvent = { event: { type: 'subscription.recovered', since: 1, at: 2 }, at: unsent.at };
    expect(healthChangeHolds(busy, { kind: 'sent', unsent: other })).toBe(false);
  });

  it('has an unsent event once the invocation that wrote it has ended', () => {
    expect(isEventUnsent(unsent, SOME_TIME + MINUTE - 1)).toBe(false);
    expect(isEventUnsent(unsent, SOME_TIME + MINUTE)).toBe(true);
  });
});

describe('a subscription', () => {
  const failing = { since: 1, failures: 3 };
  const disabled = { reason: 'gone', at: 1 } as const;
  const unhealthy = aSubscription({ failing, disabled });

  it('loses its failure history when it is enabled, and gets a version even if it was before', () => {
    for (const before of [unhealthy, aSubscription()])
      expect(asEnabled(before, SOME_TIME)).toEqual(aSubscription({ version: SOME_TIME }));
  });

  it('with another subscriber loses its failure history and stays disabled', () => {
    expect(moveTo(parseDestination('https://other.test/'), unhealthy, SOME_TIME)).toEqual(
      aSubscription({ subscriber: 'https://other.test/', version: SOME_TIME, disabled }),
    );
  });

  it('keeps its history with another spelling of the same subscriber', () => {
    const destination = parseDestination(SUBSCRIBER_URL.toUpperCase().replace('/HOOK', '/hook'));
    expect(moveTo(destination, unhealthy, SOME_TIME)).toEqual({ ...unhealthy, destination });
  });

  it.each([
    ['https://a.test/other?path', false],
    ['https://a.test:444/', true],
    ['http://a.test/', true],
    ['https://b.test/', true],
  ])('at https://a.test/ has another origin by %s: %s', (url, isNew) => {
    expect(hasNewOrigin(parseDestination('https://a.test/'), parseDestination(url))).toBe(isNew);
  });

  it('keeps its pull tokens under another name', () => {
    const destination = { kind: 'pull', name: 'a', tokens: [{ tokenHash: 'hash' }] } as const;
    const moved = moveTo(parseDestination('pull:b'), { ...aSubscription(), destination }, SOME_TIME);
    expect(moved.destination).toEqual({ ...destination, name: 'b' });
  });

  it('gets an increasing version, even if the clock stands still or goes back', () => {
    const once = asEnabled(unhealthy, SOME_TIME);
    const twice = moveTo(parseDestination('https://other.test/'), once, SOME_TIME);
    expect(twice.version).toBe(SOME_TIME + 1);
    expect(asEnabled(twice, SOME_TIME - 5_000).version).toBe(SOME_TIME + 2);
  });
});

describe('the health change of an attempt', () => {
  const later = SOME_TIME + 5 * DAY;

  it.each([
    ['a first failure', aSubscription(), afterFailure],
    ['a further failure', failing(5), afterFailure],
    ['the disabling failure', failing(30), afterFailure],
    ['a success', failing(5), afterSuccess],
  ])('is refused after the subscription was repaired: %s', (_, subscription, after) => {
    const change = after(subscription, later, rules);
    expect(change && healthChangeHolds(subscription, change)).toBe(true);
    expect(change && healthChangeHolds({ ...subscription, version: SOME_TIME }, change)).toBe(false);
  });

  it('applies only to the repaired version that the attempt used', () => {
    const repaired = aSubscription({ version: SOME_TIME });
    const begin = afterFailure(repaired, later, rules);
    const allowed = [-1, 0, 1].map(
      (ms) => begin && healthChangeHolds({ ...repaired, version: SOME_TIME + ms }, begin),
    );
    expect(allowed).toEqual([false, true, false]);
    expect(begin && healthChangeHolds(aSubscription(), begin)).toBe(false);
  });
});

describe('the name of a health change', () => {
  const version = SOME_TIME - DAY;
  const readings: readonly Subscription[] = [
    aSubscription(),
    ...[1, 5, 19, 20, 30].map((failures) => failing(failures)),
    aSubscription({ failing: { since: SOME_TIME + 1, failures: 5 } }),
    ...[aSubscription(), failing(5), failing(30)].map((one) => ({ ...one, version })),
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
      expect(new Set(all.map(({ reading: one }) => `${one.failing?.since} ${one.version}`)).size).toBe(1);
  });

  it('belongs to a change that cannot be applied twice', () => {
    for (const { reading, change } of decided) {
      expect(healthChangeHolds(reading, change)).toBe(true);
      expect(healthChangeHolds(applyHealthChange(change, reading), change)).toBe(false);
    }
  });
});
