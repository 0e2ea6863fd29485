import { describe, expectTypeOf, it } from 'vitest';
import type * as z from 'zod';
import type {
  queueItemSchema,
  subscriptionItemSchema,
} from '../../../shared/adapters/dynamodb/subscription-item.ts';
import type { Auth } from '../../../shared/domain/subscription/auth.ts';
import type { Recovery } from '../../../shared/domain/recovery/recovery.ts';
import type {
  Queue,
  Subscription,
  SubscriptionOptions,
} from '../../../shared/domain/subscription/subscription.ts';
import type { RecoveryView } from '../../../shared/wire/views/recovery.ts';
import type { SubscriptionView } from '../../../shared/wire/views/subscription.ts';
import type { authOption } from '../../../functions/api/subscriptions/auth-option.ts';
import type { givenOptions } from '../../../functions/api/subscriptions/options.ts';

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
    /** `lifetime`: as DynamoDB has another `ttl`. `unsentEvent`: which version 0.1.0 could not read. */
    expectTypeOf<Exclude<Names<StoredSubscription>, Names<Subscription>>>().toEqualTypeOf<
      'subscriber' | 'auth' | 'pullTokens' | 'lifetime' | 'unsentEvent'
    >();
    expectTypeOf<Exclude<Names<Subscription>, Names<StoredSubscription>>>().toEqualTypeOf<
      'destination' | 'ttl'
    >();
    /** Under another name: the first line. What only its deliveries need: the others. */
    expectTypeOf<Exclude<Names<Subscription>, Names<SubscriptionView>>>().toEqualTypeOf<
      | ('queue' | 'destination' | 'createdAt' | 'unconfirmed' | 'pressure')
      | ('changedAt' | 'limitedAt' | 'expiresAt' | 'confirmedAt')
      | ('unsent' | 'secrets' | 'formerly' | 'deletedAt')
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
