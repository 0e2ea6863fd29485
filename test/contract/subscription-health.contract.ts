import { randomUUID } from 'node:crypto';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { asEnabled } from '../../shared/domain/subscription/change.ts';
import {
  type HealthChange,
  healthChangeHolds,
  applyHealthChange,
} from '../../shared/domain/subscription/health.ts';
import type {
  FailureStreak,
  Subscription,
  SubscriptionEvent,
  PendingEvent,
  Pressure,
  PressureState,
} from '../../shared/domain/subscription/subscription.ts';
import { aQueue, aSubscription } from '../support/builders.ts';
import { SOME_TIME } from '../support/delivery-builders.ts';
import type { SubscriptionsUnderTest } from './subscriptions.contract.ts';

/** Few values, so that conditions hold about half of the time. */
const time = fc.constantFrom(SOME_TIME, SOME_TIME + 1);
const failing: fc.Arbitrary<FailureStreak> = fc.record(
  { since: time, failures: fc.constantFrom(1, 2, 29, 30) },
  { noNullPrototype: true },
);
const counted: fc.Arbitrary<FailureStreak> = fc
  .tuple(failing, fc.option(time))
  .map(([value, countedAt]) => (countedAt === null ? value : { ...value, countedAt }));
const reason = 'circuit_open' as const;
const event: fc.Arbitrary<SubscriptionEvent> = fc.oneof(
  time.map((since) => ({ type: 'subscription.failing' as const, since, failures: 20 })),
  time.map((since) => ({ type: 'subscription.recovered' as const, since, at: SOME_TIME })),
  time.map((at) => ({ type: 'subscription.disabled' as const, reason: 'failing' as const, at })),
  time.map((since) => ({ type: 'subscription.slowed' as const, reason, since, until: SOME_TIME })),
  time.map((since) => ({ type: 'subscription.resumed' as const, reason, since, at: SOME_TIME })),
);
const unsent: fc.Arbitrary<PendingEvent> = fc.record({ event, at: time }, { noNullPrototype: true });
const days = fc.constantFrom(30, 7);
const auth = fc.tuple(time, fc.option(days)).map(([at, warnedDays]) => ({
  shown: { type: 'header' as const, name: 'x-key', value: '***' },
  sealed: 'sealed',
  at,
  ...(warnedDays !== null && { warnedDays }),
}));
const pressure: fc.Arbitrary<Pressure> = fc
  .tuple(
    time,
    fc.constantFrom<PressureState>(
      { state: 'watched' },
      { state: 'slowed', perSecond: 0.85, line: SOME_TIME, askAgainMs: 10_000 },
      { state: 'held' },
      { state: 'ramping', line: SOME_TIME },
      { state: 'ending', reason },
      { state: 'ended' },
    ),
  )
  .map(([at, state]) => ({ ...state, since: SOME_TIME, at }));
const disabled = time.map((at) => ({ reason: 'failing' as const, at }));

const maybe = <Name extends string, T>(name: Name, arbitrary: fc.Arbitrary<T>) =>
  fc.option(arbitrary).map((value) => (value === null ? {} : { [name]: value })) as fc.Arbitrary<
    Partial<Record<Name, T>>
  >;

const health: fc.Arbitrary<Partial<Subscription>> = fc
  .tuple(
    maybe('failing', counted),
    maybe('unsent', unsent),
    maybe('disabled', disabled),
    maybe('pressure', pressure),
    maybe('version', time),
    maybe('auth', auth),
  )
  .map((parts) => Object.assign({}, ...parts) as Partial<Subscription>);

type Noted = Exclude<HealthChange, { kind: 'sent' }>;

const noted: fc.Arbitrary<Noted> = fc.oneof(
  counted.map((value) => ({ kind: 'begin' as const, failing: value })),
  fc
    .tuple(counted, maybe('unsent', unsent))
    .map(([value, more]) => ({ kind: 'count' as const, failing: value, ...more })),
  fc
    .tuple(time, maybe('unsent', unsent))
    .map(([since, more]) => ({ kind: 'recover' as const, since, ...more })),
  fc.tuple(fc.option(time), pressure, maybe('unsent', unsent)).map(([from, value, more]) => ({
    kind: 'pressure' as const,
    from: from ?? undefined,
    pressure: value,
    ...more,
  })),
  fc.tuple(time, disabled, unsent).map(([since, value, unsentEvent]) => ({
    kind: 'disable' as const,
    since,
    disabled: value,
    unsent: unsentEvent,
  })),
  fc.tuple(time, days, unsent).map(([at, left, unsentEvent]) => ({
    kind: 'warn_of_certificate' as const,
    at,
    days: left,
    unsent: unsentEvent,
  })),
);
const sent = unsent.map((value) => ({ kind: 'sent' as const, unsent: value }));

/** A subscription and a health change by an attempt, usually computed from that same state. */
const situation: fc.Arbitrary<{ before: Partial<Subscription>; wanted: HealthChange }> = fc
  .tuple(health, fc.oneof(noted, noted, noted, sent), fc.option(maybe('version', time), { freq: 2 }))
  .map(([before, value, other]) => {
    if (value.kind === 'sent') return { before, wanted: value };
    const { version } = other ?? before;
    return { before, wanted: version === undefined ? value : { ...value, version } };
  });

/**
 * Contract of health changes: a store behaves like domain `allows` and `changedBy`, in `runs` random situations.
 */
export const describeSubscriptionHealthContract = (
  name: string,
  make: () => SubscriptionsUnderTest,
  runs = 200,
): void => {
  describe(`the health of subscriptions ${name}`, () => {
    const kept = async (more: Partial<Subscription> = {}) => {
      const { subscriptions, registry } = make();
      const queue = aQueue({ name: randomUUID() });
      const subscription = aSubscription({ queue: queue.name, ...more });
      await registry.ensureQueue(queue);
      await registry.addSubscription(subscription);
      const found = async () =>
        (await subscriptions.find(queue.name, subscription.id, 'cached')).subscription;
      await found();
      return { subscriptions, registry, subscription, found };
    };

    it('changes if the condition holds, and returns the current subscription in either case', async () => {
      await fc.assert(
        fc.asyncProperty(situation, async ({ before, wanted }) => {
          const { subscriptions, subscription, found } = await kept(before);
          const result = await subscriptions.changeHealth(subscription.queue, subscription.id, wanted);
          if (healthChangeHolds(subscription, wanted)) {
            const after = applyHealthChange(wanted, subscription);
            expect(result).toEqual({ kind: 'written', subscription: after });
            expect(await found()).toEqual(after);
          } else {
            expect(result).toEqual({ kind: 'refused', current: subscription });
            expect(await found()).toEqual(subscription);
          }
        }),
        { numRuns: runs },
      );
    });

    it('is not changed for a missing subscription, which is not created', async () => {
      const { subscriptions, subscription } = await kept();
      const begin = { kind: 'begin', failing: { since: SOME_TIME, failures: 1 } } as const;
      expect(await subscriptions.changeHealth(subscription.queue, 'none', begin)).toEqual({
        kind: 'refused',
        current: undefined,
      });
      expect((await subscriptions.find(subscription.queue, 'none', 'fresh')).subscription).toBeUndefined();
    });

    it('is counted once by several concurrent callers', async () => {
      const { subscriptions, subscription, found } = await kept({
        failing: { since: SOME_TIME, failures: 4 },
      });
      const count = { kind: 'count', failing: { since: SOME_TIME, failures: 5 } } as const;
      const results = await Promise.all(
        Array.from({ length: 8 }, () =>
          subscriptions.changeHealth(subscription.queue, subscription.id, count),
        ),
      );
      expect(results.filter(({ kind }) => kind === 'written')).toHaveLength(1);
      expect(await found()).toMatchObject({ failing: count.failing });
    });

    it('takes the first of two pressures that follow from the same version', async () => {
      const { subscriptions, subscription, found } = await kept();
      const change = (at: number): HealthChange => ({
        kind: 'pressure',
        from: undefined,
        pressure: { state: 'watched', since: at, at },
      });
      const changes = [SOME_TIME, SOME_TIME + 1].map((at) =>
        subscriptions.changeHealth(subscription.queue, subscription.id, change(at)),
      );
      expect((await Promise.all(changes)).map(({ kind }) => kind).sort()).toEqual(['refused', 'written']);
      expect((await found())?.pressure).toBeDefined();
    });

    it('disabling returns the reason in force: the first one, or nothing if the subscription is gone', async () => {
      const { subscriptions, subscription, found } = await kept();
      const { queue, id } = subscription;
      const first = { reason: 'gone', at: SOME_TIME } as const;
      const other = { reason: 'failing', at: SOME_TIME + 1 } as const;
      expect(await subscriptions.disable(queue, id, first)).toEqual(first);
      expect(await subscriptions.disable(queue, id, other)).toEqual(first);
      expect(await subscriptions.disable(queue, 'none', first)).toBeUndefined();
      expect(await found()).toMatchObject({ disabled: first });
    });

    it.each([
      ['no change, but it has changed', SOME_TIME, undefined],
      ['an older change', SOME_TIME + 1, SOME_TIME],
      ['a change by a fast clock', SOME_TIME, SOME_TIME + 1],
      ['a change, but it has none', undefined, SOME_TIME],
    ])('disabling has no effect if the caller knows %s', async (_, version, knownChange) => {
      const { subscriptions, subscription, found } = await kept(version === undefined ? {} : { version });
      const { queue, id } = subscription;
      const gone = { reason: 'gone', at: SOME_TIME } as const;
      expect(await subscriptions.disable(queue, id, gone, knownChange)).toBeUndefined();
      expect(await found()).toEqual(subscription);
      expect(await subscriptions.disable(queue, id, gone, version)).toEqual(gone);
      expect(await found()).toEqual({ ...subscription, disabled: gone });
    });

    it('disabling with an outdated state returns the reason for which it has been disabled since', async () => {
      const manual = { reason: 'manual', at: SOME_TIME } as const;
      const { subscriptions, subscription } = await kept({ version: SOME_TIME, disabled: manual });
      const gone = { reason: 'gone', at: SOME_TIME } as const;
      expect(await subscriptions.disable(subscription.queue, subscription.id, gone)).toEqual(manual);
    });

    it('is not changed by an outdated caller after the subscription was enabled', async () => {
      const { subscriptions, registry, subscription, found } = await kept();
      const { queue, id } = subscription;
      await registry.changeSubscription({ queue, subscriptionId: id, now: SOME_TIME }, (current) =>
        asEnabled(current, SOME_TIME),
      );
      const gone = { reason: 'gone', at: SOME_TIME } as const;
      const begin = { kind: 'begin', failing: { since: SOME_TIME, failures: 1 } } as const;
      const enabledOne = { ...subscription, version: SOME_TIME };
      expect(await subscriptions.disable(queue, id, gone)).toBeUndefined();
      expect(await subscriptions.changeHealth(queue, id, begin)).toEqual({
        kind: 'refused',
        current: enabledOne,
      });
      expect(await found()).toEqual(enabledOne);
    });
  });
};
