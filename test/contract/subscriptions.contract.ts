import { randomUUID } from 'node:crypto';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { asEnabled } from '../../shared/domain/subscription/change.ts';
import { type HealthChange, healthChangeHolds } from '../../shared/domain/subscription/health.ts';
import type {
  FailureStreak,
  PendingEvent,
  Pressure,
  PressureState,
  Subscription,
  SubscriptionEvent,
} from '../../shared/domain/subscription/subscription.ts';
import type { Freshness, Registry, Subscriptions } from '../../shared/ports/subscriptions.ts';
import { addSubscription, addSubscriptions } from '../support/add-subscription.ts';
import { aQueue, aSubscription } from '../support/builders.ts';
import { SOME_TIME } from '../support/delivery-builders.ts';
import { listed } from '../support/in-memory/in-memory-subscriptions.ts';
import { removeSubscription } from '../support/remove-subscription.ts';
import { applyHealthChange } from '../support/in-memory/health-model.ts';

export type SubscriptionsUnderTest = {
  subscriptions: Subscriptions;
  /** Registry of the same store, to write what `subscriptions` reads. */
  registry: Registry;
  /** Sets the time of the clock. */
  setTime: (now: number) => void;
};

const bothWays: Freshness[] = ['cached', 'fresh'];
const failing = { since: SOME_TIME, failures: 1 };
const gone = { reason: 'gone', at: SOME_TIME } as const;

/** Contract of the subscriptions that dispatch and deliver read, with any caching. */
export const describeSubscriptionsContract = (name: string, make: () => SubscriptionsUnderTest): void => {
  describe(`subscriptions ${name}`, () => {
    const kept = async (count: number) => {
      const { subscriptions, registry, setTime } = make();
      const queue = aQueue({ name: randomUUID(), metadata: { colour: 'grün' }, retryPolicy: {} });
      const all = Array.from({ length: count }, (_, index) =>
        aSubscription({
          queue: queue.name,
          id: String(index).padStart(4, '0'),
          subscriber: `https://s.test/${index}`,
        }),
      );
      await registry.ensureQueue(queue);
      await addSubscriptions(registry, all);
      setTime(SOME_TIME);
      return { subscriptions, registry, setTime, queue, all };
    };

    it.each(bothWays)('list a queue, its subscriptions and the time of the read (%s)', async (freshness) => {
      const { subscriptions, queue, all } = await kept(3);
      const page = { queueCreatedAt: queue.createdAt, subscriptions: all.map(listed), readAt: SOME_TIME };
      expect(await subscriptions.page(queue.name, freshness)).toEqual(page);
    });

    it.each([
      [{ _retain_messages: 'all' }, { retainMessages: 'all' }],
      [{ _retain_messages: 'failed' }, { retainMessages: 'failed' }],
      [{ _retain_messages: 'some' }, {}],
      [{ _event_validation: 'reject' }, { eventValidation: 'reject' }],
      [{ _event_validation: true }, {}],
      [{ _retention_days: 15 }, { retentionDays: 15 }],
      [{ _retention_days: 14 }, {}],
      [{ colour: 'grün' }, {}],
    ])(
      'list which bodies a queue keeps, for how many days, and how it checks messages: %j gives %j',
      async (metadata, expected) => {
        const { subscriptions, registry, queue } = await kept(0);
        await registry.putQueue({ ...queue, metadata });
        const page = { queueCreatedAt: queue.createdAt, subscriptions: [], readAt: SOME_TIME };
        expect(await subscriptions.page(queue.name, 'fresh')).toEqual({ ...page, ...expected });
      },
    );

    it.each(bothWays)('list expired and disabled subscriptions too (%s)', async (freshness) => {
      const { subscriptions, registry, queue, all } = await kept(1);
      const expiry = { ttl: 60, expiresAt: 60_000 };
      const expired = aSubscription({
        queue: queue.name,
        id: 'expired',
        subscriber: 'https://e.test',
        ...expiry,
      });
      await addSubscription(registry, expired);
      await subscriptions.disable(queue.name, '0000', gone);
      const page = await subscriptions.page(queue.name, freshness);
      expect(page?.subscriptions).toEqual([...all, expired].map(listed));
    });

    it.each(bothWays)(
      'list the fields that decide whether a message goes to a subscription (%s)',
      async (freshness) => {
        const { subscriptions, registry, queue } = await kept(0);
        const interests = { event_types: ['a', 'b'], filter: { total: [{ numeric: ['>', 5] }] } };
        const deciding = {
          createdAt: 1,
          expiresAt: SOME_TIME * 2,
          unconfirmed: { tokenHash: 'abc', at: 3 },
          confirmedAt: 4,
          failing: { since: 5, failures: 6 },
          previousSelection: { event_types: ['c'], until: 7 },
        };
        const subscription = aSubscription({
          queue: queue.name,
          options: { ...interests, post_data: 'x', post_headers: { a: 'b' }, raw_delivery: true },
          ...deciding,
          version: 2,
          ttl: 60,
          secrets: [{ sealed: 'sealed' }],
        });
        await addSubscription(registry, subscription);
        await subscriptions.disable(queue.name, subscription.id, gone);
        expect((await subscriptions.page(queue.name, freshness))?.subscriptions).toEqual([
          { id: subscription.id, options: interests, ...deciding },
        ]);
      },
    );

    it.each(bothWays)('are listed page by page, each once (%s)', async (freshness) => {
      const { subscriptions, registry, queue } = await kept(0);
      // 24 times 50 KB: a DynamoDB response has up to 1 MB.
      const large = Array.from({ length: 24 }, (_, index) =>
        aSubscription({
          queue: queue.name,
          id: `large-${index + 10}`,
          subscriber: `https://l.test/${index}`,
          options: { post_data: 'x'.repeat(50_000) },
        }),
      );
      for (const subscription of large) await addSubscription(registry, subscription);
      const found: unknown[] = [];
      let pages = 0;
      for (let after: string | undefined; pages === 0 || after !== undefined; pages += 1) {
        const page = await subscriptions.page(queue.name, freshness, after);
        if (page === undefined) throw new Error('The queue exists.');
        expect(page).toMatchObject({ queueCreatedAt: queue.createdAt, readAt: SOME_TIME });
        found.push(...page.subscriptions);
        after = page.lastSubscriptionId;
        if (after !== undefined) expect(page.subscriptions.at(-1)).toMatchObject({ id: after });
      }
      expect(found).toEqual(large.map(listed));
      expect(pages).toBeGreaterThan(1);
    });

    it.each(bothWays)('have no page for a deleted queue (%s)', async (freshness) => {
      const { subscriptions, registry, queue } = await kept(2);
      expect(await subscriptions.page(queue.name, freshness, '0000')).toMatchObject({
        subscriptions: [{ id: '0001' }],
      });
      for (const id of ['0000', '0001']) await removeSubscription(registry, queue.name, id);
      await registry.deleteQueue(queue.name, SOME_TIME);
      expect(await subscriptions.page(queue.name, 'fresh', '0000')).toBeUndefined();
    });

    it.each(bothWays)('are found with their queue (%s)', async (freshness) => {
      const { subscriptions, queue, all } = await kept(2);
      const found = await subscriptions.find(queue.name, '0001', freshness);
      expect(found).toEqual({ queue, subscription: all[1] });
    });

    it.each(bothWays)('distinguish a missing subscription from a missing queue (%s)', async (freshness) => {
      const { subscriptions, queue } = await kept(1);
      expect(await subscriptions.find(queue.name, 'none', freshness)).toEqual({ queue });
      expect(await subscriptions.find('none', '0000', freshness)).toEqual({});
      expect(await subscriptions.page('none', freshness)).toBeUndefined();
    });

    it.each(bothWays)('never cache that something is missing (%s)', async (freshness) => {
      const { subscriptions, registry } = make();
      const queue = aQueue({ name: randomUUID() });
      const subscription = aSubscription({ queue: queue.name });
      const page = () => subscriptions.page(queue.name, freshness);
      const found = () => subscriptions.find(queue.name, subscription.id, freshness);
      expect(await page()).toBeUndefined();
      expect(await found()).toEqual({});
      await registry.putQueue(queue);
      expect(await page()).toMatchObject({ queueCreatedAt: queue.createdAt, subscriptions: [] });
      expect(await found()).toEqual({ queue });
      await addSubscription(registry, subscription);
      expect(await page()).toMatchObject({ subscriptions: [listed(subscription)] });
      expect(await found()).toEqual({ queue, subscription });
    });

    it('show every change of a subscription at once when read fresh', async () => {
      const { subscriptions, registry, queue, all } = await kept(2);
      for (const freshness of bothWays) await subscriptions.find(queue.name, '0000', freshness);
      await subscriptions.page(queue.name, 'cached');
      await removeSubscription(registry, queue.name, '0000');
      expect((await subscriptions.find(queue.name, '0000', 'fresh')).subscription).toBeUndefined();
      const page = await subscriptions.page(queue.name, 'fresh');
      expect(page?.subscriptions).toEqual(all.slice(1).map(listed));
    });

    it('show the first reason after disabling', async () => {
      const { subscriptions, queue, all } = await kept(1);
      for (const freshness of bothWays) await subscriptions.find(queue.name, '0000', freshness);
      await subscriptions.disable(queue.name, '0000', gone);
      await subscriptions.disable(queue.name, '0000', { ...gone, at: SOME_TIME + 1 });
      const [subscription] = all.map((one): Subscription => ({ ...one, disabled: gone }));
      expect((await subscriptions.find(queue.name, '0000', 'cached')).subscription).toEqual(subscription);
    });

    it('show a health change in cached pages', async () => {
      const { subscriptions, queue } = await kept(2);
      const cached = (after?: string) => subscriptions.page(queue.name, 'cached', after);
      for (const after of [undefined, '0000']) await cached(after);
      await subscriptions.changeHealth(queue.name, '0001', { kind: 'begin', failing });
      expect((await cached())?.subscriptions[1]).toMatchObject({ failing });
      expect((await cached('0000'))?.subscriptions[0]).toMatchObject({ failing });
    });

    it('do not recreate a removed subscription by disabling it', async () => {
      const { subscriptions, registry, queue } = await kept(1);
      await removeSubscription(registry, queue.name, '0000');
      await subscriptions.disable(queue.name, '0000', gone);
      expect((await subscriptions.find(queue.name, '0000', 'fresh')).subscription).toBeUndefined();
    });
  });
};

/** Few values, so that conditions hold about half of the time. */
const time = fc.constantFrom(SOME_TIME, SOME_TIME + 1);
const plain = { noNullPrototype: true } as const;
const streak: fc.Arbitrary<FailureStreak> = fc.record(
  { since: time, failures: fc.constantFrom(1, 2, 29, 30) },
  plain,
);
const counted: fc.Arbitrary<FailureStreak> = fc
  .tuple(streak, fc.option(time))
  .map(([value, countedAt]) => (countedAt === null ? value : { ...value, countedAt }));
const reason = 'circuit_open' as const;
const event: fc.Arbitrary<SubscriptionEvent> = fc.oneof(
  time.map((since) => ({ type: 'subscription.failing' as const, since, failures: 20 })),
  time.map((since) => ({ type: 'subscription.recovered' as const, since, at: SOME_TIME })),
  time.map((at) => ({ type: 'subscription.disabled' as const, reason: 'failing' as const, at })),
  time.map((since) => ({ type: 'subscription.slowed' as const, reason, since, until: SOME_TIME })),
  time.map((since) => ({ type: 'subscription.resumed' as const, reason, since, at: SOME_TIME })),
);
const unsent: fc.Arbitrary<PendingEvent> = fc.record({ event, at: time }, plain);
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
  fc.record({ kind: fc.constant('disable' as const), since: time, disabled, unsent }, plain),
  fc.record({ kind: fc.constant('warn_of_certificate' as const), at: time, days, unsent }, plain),
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
      await addSubscription(registry, subscription);
      const found = async () =>
        (await subscriptions.find(queue.name, subscription.id, 'cached')).subscription;
      await found();
      const change = (wanted: HealthChange) =>
        subscriptions.changeHealth(queue.name, subscription.id, wanted);
      const disable = (disabled: Disabled, version?: number) =>
        subscriptions.disable(queue.name, subscription.id, disabled, version);
      return { subscriptions, registry, subscription, found, change, disable };
    };
    type Disabled = Parameters<Subscriptions['disable']>[2];
    const begin = { kind: 'begin', failing } as const;

    it('changes if the condition holds, and returns the current subscription in either case', async () => {
      await fc.assert(
        fc.asyncProperty(situation, async ({ before, wanted }) => {
          const { subscription, found, change } = await kept(before);
          const holds = healthChangeHolds(subscription, wanted);
          const after = holds ? applyHealthChange(wanted, subscription) : subscription;
          expect(await change(wanted)).toEqual(
            holds ? { kind: 'written', subscription: after } : { kind: 'refused', current: after },
          );
          expect(await found()).toEqual(after);
        }),
        { numRuns: runs },
      );
    });

    it('is not changed for a missing subscription, which is not created', async () => {
      const { subscriptions, subscription } = await kept();
      const refused = { kind: 'refused', current: undefined };
      expect(await subscriptions.changeHealth(subscription.queue, 'none', begin)).toEqual(refused);
      expect((await subscriptions.find(subscription.queue, 'none', 'fresh')).subscription).toBeUndefined();
    });

    it('is counted once by several concurrent callers', async () => {
      const { found, change } = await kept({ failing: { since: SOME_TIME, failures: 4 } });
      const count = { kind: 'count', failing: { since: SOME_TIME, failures: 5 } } as const;
      const results = await Promise.all(Array.from({ length: 8 }, () => change(count)));
      expect(results.filter(({ kind }) => kind === 'written')).toHaveLength(1);
      expect(await found()).toMatchObject({ failing: count.failing });
    });

    it('takes the first of two pressures that follow from the same version', async () => {
      const { found, change } = await kept();
      const changes = [SOME_TIME, SOME_TIME + 1].map((at) =>
        change({ kind: 'pressure', from: undefined, pressure: { state: 'watched', since: at, at } }),
      );
      expect((await Promise.all(changes)).map(({ kind }) => kind).sort()).toEqual(['refused', 'written']);
      expect((await found())?.pressure).toBeDefined();
    });

    it('disabling returns the reason in force: the first one, or nothing if the subscription is gone', async () => {
      const { subscriptions, subscription, found, disable } = await kept();
      expect(await disable(gone)).toEqual(gone);
      expect(await disable({ reason: 'failing', at: SOME_TIME + 1 })).toEqual(gone);
      expect(await subscriptions.disable(subscription.queue, 'none', gone)).toBeUndefined();
      expect(await found()).toMatchObject({ disabled: gone });
    });

    it.each([
      ['no change, but it has changed', SOME_TIME, undefined],
      ['an older change', SOME_TIME + 1, SOME_TIME],
      ['a change by a fast clock', SOME_TIME, SOME_TIME + 1],
      ['a change, but it has none', undefined, SOME_TIME],
    ])('disabling has no effect if the caller knows %s', async (_, version, knownChange) => {
      const { subscription, found, disable } = await kept(version === undefined ? {} : { version });
      expect(await disable(gone, knownChange)).toBeUndefined();
      expect(await found()).toEqual(subscription);
      expect(await disable(gone, version)).toEqual(gone);
      expect(await found()).toEqual({ ...subscription, disabled: gone });
    });

    it('disabling with an outdated state returns the reason for which it has been disabled since', async () => {
      const manual = { reason: 'manual', at: SOME_TIME } as const;
      const { disable } = await kept({ version: SOME_TIME, disabled: manual });
      expect(await disable(gone)).toEqual(manual);
    });

    it('is not changed by an outdated caller after the subscription was enabled', async () => {
      const { registry, subscription, found, change, disable } = await kept();
      const { queue, id: subscriptionId } = subscription;
      const target = { queue, subscriptionId, now: SOME_TIME };
      await registry.changeSubscription(target, (current) => asEnabled(current, SOME_TIME));
      const enabledOne = { ...subscription, version: SOME_TIME };
      expect(await disable(gone)).toBeUndefined();
      expect(await change(begin)).toEqual({ kind: 'refused', current: enabledOne });
      expect(await found()).toEqual(enabledOne);
    });
  });
};
