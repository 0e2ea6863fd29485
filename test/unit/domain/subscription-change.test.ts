import { describe, expect, expectTypeOf, it } from 'vitest';
import type * as z from 'zod';
import type { authOption } from '../../../functions/api/subscriptions/auth-option.ts';
import type { givenOptions } from '../../../functions/api/subscriptions/options.ts';
import type {
  queueItemSchema,
  subscriptionItemSchema,
} from '../../../shared/adapters/dynamodb/subscription-item.ts';
import type { Recovery } from '../../../shared/domain/recovery/recovery.ts';
import type { Auth } from '../../../shared/domain/subscription/auth.ts';
import { asEnabled, moveTo } from '../../../shared/domain/subscription/change.ts';
import { parseDestination } from '../../../shared/domain/subscription/destination.ts';
import {
  afterFailure,
  afterSuccess,
  healthChangeHolds,
  mayDisable,
} from '../../../shared/domain/subscription/health.ts';
import type {
  Queue,
  Subscription,
  SubscriptionOptions,
} from '../../../shared/domain/subscription/subscription.ts';
import type { RecoveryView } from '../../../shared/wire/views/recovery.ts';
import type { SubscriptionView } from '../../../shared/wire/views/subscription.ts';
import { aSubscription, SUBSCRIBER_URL } from '../../support/builders.ts';
import { SOME_TIME } from '../../support/delivery-builders.ts';

const failing = { since: 1, failures: 3 };
const disabled = { reason: 'gone', at: 1 } as const;
const unhealthy = aSubscription({ failing, disabled });

describe('a subscription', () => {
  it('loses its failure history when it is enabled', () => {
    expect(asEnabled(unhealthy, SOME_TIME)).toEqual(aSubscription({ version: SOME_TIME }));
  });

  it('gets a new version even if it was enabled before', () => {
    expect(asEnabled(aSubscription(), SOME_TIME)).toEqual(aSubscription({ version: SOME_TIME }));
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

  it('gets an increasing version, even if the clock stands still or goes back', () => {
    const once = asEnabled(unhealthy, SOME_TIME);
    const twice = moveTo(parseDestination('https://other.test/'), once, SOME_TIME);
    expect(twice.version).toBe(SOME_TIME + 1);
    expect(asEnabled(twice, SOME_TIME - 5_000).version).toBe(SOME_TIME + 2);
  });
});

describe('the health change of an attempt', () => {
  const DAY = 24 * 60 * 60_000;

  const rules = { subscriptionCacheMs: 5_000, disableFailingAfterMs: 5 * DAY };

  const later = SOME_TIME + 5 * DAY;

  const failing = (failures: number): Subscription =>
    aSubscription({ failing: { since: SOME_TIME, failures } });

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

  it('disables after a 410 only an enabled, unchanged subscription', () => {
    const repaired = aSubscription({ version: SOME_TIME });
    expect(mayDisable(aSubscription(), undefined)).toBe(true);
    expect(mayDisable(repaired, SOME_TIME)).toBe(true);
    expect(mayDisable(repaired, undefined)).toBe(false);
    expect(mayDisable(repaired, SOME_TIME + 1)).toBe(false);
    expect(mayDisable(aSubscription(), SOME_TIME)).toBe(false);
    expect(mayDisable({ ...repaired, disabled: { reason: 'manual', at: 1 } }, SOME_TIME)).toBe(false);
  });
});

/** The names of `Value`, without those that an index signature allows. */
type Names<Value> = Value extends unknown
  ? keyof { [Name in keyof Value as string extends Name ? never : Name]: Value[Name] }
  : never;

type StoredSubscription = z.output<typeof subscriptionItemSchema>;

describe('a new field does not compile until each form has it, or a reason why it has not', () => {
  it('of the options: what callers send, what is stored, and what is shown', () => {
    expectTypeOf<Names<z.output<typeof givenOptions>>>().toEqualTypeOf<Names<SubscriptionOptions> | 'auth'>();
    expectTypeOf<Names<StoredSubscription['options']>>().toEqualTypeOf<Names<SubscriptionOptions>>();
    expectTypeOf<Names<SubscriptionView['options']>>().toEqualTypeOf<Names<SubscriptionOptions> | 'auth'>();
  });

  it('of the credentials', () => {
    expectTypeOf<z.output<typeof authOption>>().toEqualTypeOf<Auth>();
  });

  it('of a subscription', () => {
    /**
     * `lifetime`: as DynamoDB has another `ttl`. `unsentEvent`: which version 0.1.0 could not read. The second line:
     * under the names of earlier versions.
     */
    expectTypeOf<Exclude<Names<StoredSubscription>, Names<Subscription>>>().toEqualTypeOf<
      | ('subscriber' | 'auth' | 'pullTokens' | 'lifetime' | 'unsentEvent')
      | ('changedAt' | 'limitedAt' | 'formerly')
    >();
    expectTypeOf<Exclude<Names<Subscription>, Names<StoredSubscription>>>().toEqualTypeOf<
      ('destination' | 'ttl') | ('version' | 'rateChangedAt' | 'previousSelection')
    >();
    /** Under another name: the first line. What only its deliveries need: the others. */
    expectTypeOf<Exclude<Names<Subscription>, Names<SubscriptionView>>>().toEqualTypeOf<
      | ('queue' | 'destination' | 'createdAt' | 'unconfirmed' | 'pressure')
      | ('version' | 'rateChangedAt' | 'expiresAt' | 'confirmedAt')
      | ('unsent' | 'secrets' | 'previousSelection' | 'deletedAt')
    >();
  });

  it('of a queue', () => {
    expectTypeOf<z.output<typeof queueItemSchema>>().toEqualTypeOf<Queue>();
  });

  it('of a recovery', () => {
    /** How far operate is, and the selection, whose fields are shown. */
    expectTypeOf<Exclude<Names<Recovery>, Names<RecoveryView>>>().toEqualTypeOf<
      'selection' | 'batch' | 'deferred' | 'looks' | 'cursor' | 'listed' | 'pages' | 'version' | 'expiresAt'
    >();
    expectTypeOf<
      Exclude<Names<Recovery['selection']>, Names<RecoveryView>>
    >().toEqualTypeOf<'subscriptionId'>();
  });
});
