import fc from 'fast-check';
import { describe, expect, expectTypeOf, it } from 'vitest';
import type * as z from 'zod';
import type { authOption } from '../../../functions/api/subscriptions/auth-option.ts';
import type { givenOptions } from '../../../functions/api/subscriptions/options.ts';
import type {
  queueItemSchema,
  subscriptionItemSchema,
} from '../../../shared/adapters/dynamodb/subscriptions/subscription-item.ts';
import { toMessageId } from '../../../shared/domain/message/message.ts';
import type { Recovery } from '../../../shared/domain/recovery/recovery.ts';
import type { Auth } from '../../../shared/domain/subscription/auth.ts';
import {
  buildConfirmationId,
  hashToken,
  isTokenOf,
} from '../../../shared/domain/subscription/confirmation.ts';
import {
  findAbsence,
  type Queue,
  type Subscription,
  type SubscriptionOptions,
} from '../../../shared/domain/subscription/subscription.ts';
import type { RecoveryView } from '../../../shared/wire/views/recovery.ts';
import type { SubscriptionView } from '../../../shared/wire/views/subscription.ts';
import { aMessage, aSubscription, requestFor } from '../../support/builders.ts';

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
      | ('restorableUntil' | 'restored' | 'pauses')
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
    expectTypeOf<Exclude<Names<Recovery['selection']>, Names<RecoveryView>>>().toEqualTypeOf<
      'subscriptionId' | 'acceptedSince'
    >();
  });
});

const unconfirmed = { tokenHash: hashToken('token'), at: 1 };
const asked = buildConfirmationId(unconfirmed);

describe('a confirmation token', () => {
  it('matches its hash, and no other text does', () => {
    expect(isTokenOf(unconfirmed, 'token')).toBe(true);
    fc.assert(
      fc.property(fc.string(), (text) => {
        expect(isTokenOf(unconfirmed, text)).toBe(text === 'token');
      }),
    );
  });

  it('does not match a malformed hash', () => {
    expect(isTokenOf({ tokenHash: '' }, '')).toBe(false);
    expect(isTokenOf({ tokenHash: hashToken('token').slice(1) }, 'token')).toBe(false);
    expect(isTokenOf({ tokenHash: `${hashToken('token')}A` }, 'token')).toBe(false);
  });
});

describe('an unconfirmed subscription', () => {
  it('receives only its confirmation request', () => {
    const subscription = aSubscription({ unconfirmed });
    expect(findAbsence(subscription, 5, asked)).toBeUndefined();
    expect(findAbsence(subscription, 5, 'message-1')).toBe('subscription_unconfirmed');
    expect(findAbsence(subscription, 5)).toBe('subscription_unconfirmed');
  });

  it('does not receive an outdated confirmation request', () => {
    const subscription = aSubscription({ unconfirmed: { ...unconfirmed, tokenHash: hashToken('newer') } });
    expect(findAbsence(subscription, 5, asked)).toBe('subscription_unconfirmed');
  });

  it('does not receive its confirmation request if it is disabled, expired or deleted', () => {
    const disabled = { reason: 'manual', at: 1 } as const;
    expect(findAbsence(aSubscription({ unconfirmed, disabled }), 5, asked)).toBe('disabled');
    expect(findAbsence(aSubscription({ unconfirmed, expiresAt: 5 }), 5, asked)).toBe('subscription_expired');
    expect(findAbsence(aSubscription({ unconfirmed, deletedAt: 5 }), 5, asked)).toBe('subscription_deleted');
    expect(findAbsence(undefined, 5, asked)).toBe('subscription_deleted');
  });

  it('gets a confirmation request with a valid message id', () => {
    expect(toMessageId({ id: asked })).toEqual({ id: asked });
  });

  it.each([{ raw_delivery: true }, { post_data: 'no placeholder' }])(
    'gets the confirmation request as a standard body despite %j',
    async (options) => {
      const attempt = { startedAt: 0, userAgent: 'test', secrets: [] };
      const bodyFor = async (id: string) => {
        const request = await requestFor(
          aMessage({ id, data: '{"a":1}' }),
          aSubscription({ unconfirmed, options }),
          attempt,
        );
        return request.body.toString();
      };
      expect(JSON.parse(await bodyFor(asked))).toMatchObject({ id: asked, queue: 'orders', data: { a: 1 } });
      expect(await bodyFor('message-1')).not.toContain('orders');
    },
  );
});
